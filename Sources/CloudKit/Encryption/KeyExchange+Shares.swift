#if canImport(NacreEncryption)
    import NacreCloudWire
    import NacreEncryption
    import NacreEncryptionForms
    import NacreLocks

    // The keys of shares of records. A zone has a scope for itself, and one for each share of its records that a device
    // with keys has made.

    extension KeyExchange {
        /// Returns the keys of the scope that a record is sealed for.
        /// - Parameter id: the ID in the record's manifest; nil: the zone's own keys are asked for.
        /// - Returns: the zone's own keys if the server shows no such scope; nil if it shows none of the zone either.
        func zoneKeys(at place: Place, holding id: ScopeID?) async throws(CKError) -> ZoneKeys? {
            guard let id else { return try await zoneKeys(at: place) }
            if let known = line.openedKeys.withLock({ $0.scope(id, at: place, of: account) }) { return known }
            let zone = try await zoneKeys(at: place)
            if zone?.newest.id.scope == id { return zone }
            return try await currentScope(of: place, .id(id))?.keys ?? zone
        }

        /// Returns the keys of a share of records; nil if it has no scope.
        func keys(ofShare share: String, at place: Place) async throws(CKError) -> ZoneKeys? {
            if let known = line.openedKeys.withLock({ $0.zone(place, share: share, of: account) }) { return known }
            return try await currentScope(of: place, .share(share))?.keys
        }

        /// Returns the keys of a scope for sealing values. In a zone of the user's own its newest manifest says who
        /// takes part now, and its key is newer than the removal of any device.
        /// - Returns: the zone's keys in the place of those of a share that has ended, in a zone of the user's own.
        /// - Throws: `noKeysOfZone` if there is no such scope.
        func keysForSaving(_ which: WhichScope, at place: Place) async throws(CKError) -> ZoneKeys {
            guard which != .zone else { return try await zoneKeysForSaving(at: place) }
            try await renewAccount()
            guard place.owner == account.name else {
                let found: ZoneKeys?
                if let share = which.share {
                    found = try await keys(ofShare: share, at: place)
                } else {
                    found = try await zoneKeys(at: place, holding: which.id)
                }
                guard let found else { throw .noKeysOfZone }
                guard found.mayWrite else { throw .signedForReading }
                return found
            }
            var name = which.share
            if let id = which.id, let keys = try await zoneKeys(at: place, holding: id), keys.newest.id.scope == id, !keys.manifest.parts.root.isEmpty
            {
                name = keys.share
                if name == nil { name = try await self.share(of: keys) }
            }
            guard let share = name else { return try await zoneKeysForSaving(at: place) }
            if let (own, keys) = opened(place, share: share), !own.mustRenew(keys) { return keys }
            guard let keys = try await settled(at: place, .share(share)) else { throw .noKeysOfZone }
            return keys
        }

        /// Whether the server's list has the user as a participant who was invited to a share of records.
        /// - Parameter shown: the scope of the share.
        func isInvited(to place: Place, _ shown: ShownScope) async throws(CKError) -> Bool {
            guard shown.which.id != nil, let newest = shown.manifests.first else { return try await isInvited(to: place, share: shown.which.share) }
            let root = try CKError.checking { try ScopeManifest(newest).parts.root }
            let zone = ZoneID(zoneName: place.zone, ownerRecordName: place.owner.user)
            let request = RecordsLookupRequest(records: [.init(recordName: root)], zoneID: zone, desiredKeys: [])
            guard case .record(let record)? = try await shared.lookup(request).records.first, let share = record.share?.recordName else {
                return false
            }
            return try await isInvited(to: place, share: share)
        }

        /// Returns the name of the share of records whose keys these are; nil: the share has ended. The record at the
        /// root names it, and the signed ID of the scope says whether that is true.
        private func share(of keys: ZoneKeys) async throws(CKError) -> String? {
            let request = RecordsLookupRequest(
                records: [.init(recordName: keys.manifest.parts.root)], zoneID: ZoneID(zoneName: keys.place.zone), desiredKeys: [])
            guard case .record(let root)? = try await conversation.lookup(request).records.first, let share = root.share?.recordName,
                keys.manifest.parts.isScope(ofShare: share)
            else { return nil }
            return share
        }

        /// Makes the scope of a share of records that this device's app is about to save. One of an earlier share of
        /// the name is taken from those who took part in that.
        /// - Parameters:
        ///   - share: the names of the share's record and of the record at its root, as the app has them: the server
        ///     could name another root.
        ///   - beginning: whether an account without keys gets them. Without them nothing is made otherwise.
        /// - Throws: `invalidArguments` if an earlier share of the name had another root: a scope has one for ever.
        func makeScope(ofShare share: (name: String, root: String), at place: Place, beginning: Bool) async throws(CKError) {
            guard place.owner == account.name else { return }
            // A folder that cannot be read stops no share of an app that encrypts nothing.
            if !beginning, (try? await line.keyStore.keys(of: account))?.device == nil { return }
            for _ in 0..<Self.triesMax {
                if let keys = try await keys(ofShare: share.name, at: place) {
                    guard keys.manifest.parts.isRoot(share.root) else { throw .otherRoot(of: share.name) }
                    guard keys.manifest.parts.isShared else { return }
                    // The server refuses a share of a name that another has. That one keeps its participants.
                    let zone = ZoneID(zoneName: place.zone)
                    if try await self.share(of: zone, named: share.name, in: conversation) == nil { try await end(share: share.name, at: place) }
                    return
                }
                let own: OwnKeys
                if beginning {
                    own = try await ownKeysForSaving()
                } else {
                    guard case .open(let found) = try await accountState() else { return }
                    own = found
                }
                let first = try own.firstKey(at: place, share: share, stamp: line.timekeeper.stamp, using: line.timekeeper.keyRandom)
                try await send(first, at: place)
            }
            throw .keysAreBusy
        }

        /// Takes the keys of a share of records that this device's app has ended from all who took part: the next
        /// version of its key is the owner's alone. The server's list of participants is not asked for.
        func end(share: String, at place: Place) async throws(CKError) {
            let name = KeptKeys.name(ofShare: share, inZone: place.zone)
            try await line.keyStore.update(account) { kept throws(CKError) in kept.setWishes([], ofZone: name) }
            for _ in 0..<Self.triesMax {
                guard let (keys, own) = try await currentScope(of: place, .share(share)) else { return }
                let next = try own.nextManifest(
                    after: keys, participants: [own.owner], logs: keys.logs, stamp: line.timekeeper.stamp, using: line.timekeeper.keyRandom)
                guard let next else { return }
                try await send(next, at: place)
            }
            throw .keysAreBusy
        }
    }
#endif
