#if canImport(NacreEncryption)
    import NacreCloudWire
    import NacreEncryption
    import NacreEncryptionForms
    import NacreLocks

    // The server's lists of participants: they say who is to have no keys, and whose files stay plain.

    extension KeyExchange {
        /// Does what `Conversation.zoneKeysForFiles` does.
        ///
        /// A zone of the user's own gets its first scope for a file only if this device has seen one of the account's:
        /// other devices and apps of a user who takes part in zones of others alone go on without keys. A zone with a
        /// share gets none for a file: only participants whom this device's app adds from now on would have its keys.
        func zoneKeysForFiles(at place: Place, makingKeys: Bool) async throws(CKError) -> ZoneKeys? {
            if !makingKeys, try await isAccountEmpty() { return nil }
            guard place.owner == account.name else { return try await zoneKeysForFiles(ofOther: place) }
            if !makingKeys, try await zoneKeys(at: place) == nil {
                if try await line.keyStore.keys(of: account).scopes.isEmpty { return nil }
                if try await share(of: ZoneID(zoneName: place.zone), in: conversation) != nil { return nil }
            }
            return try await zoneKeysForSaving(at: place)
        }

        /// Files of people who came by a share's link stay plain, since they get no keys. A device that has had the
        /// zone's keys seals, or fails.
        private func zoneKeysForFiles(ofOther place: Place) async throws(CKError) -> ZoneKeys? {
            do throws(CKError) {
                guard try await zoneKeys(at: place) != nil else { return nil }
                return try await zoneKeysForSaving(at: place)
            } catch {
                guard error.code == .accountTemporarilyUnavailable,
                    try await line.keyStore.keys(of: account).sharedScopes["\(place.owner.user) \(place.zone)"] == nil,
                    try await !isInvited(to: place)
                else { throw error }
                return nil
            }
        }

        /// Whether the server's list has the user as a participant who was invited to another user's zone as a whole.
        /// - Parameter share: the name of a share of records of the zone instead.
        func isInvited(to place: Place, share: String? = nil) async throws(CKError) -> Bool {
            let zone = ZoneID(zoneName: place.zone, ownerRecordName: place.owner.user)
            return try await self.share(of: zone, named: share, in: shared)?.currentUserParticipant?.isInvited ?? false
        }

        /// Returns the share of a zone as a whole, or of records of it, as the server has it; nil if there is none.
        /// - Parameter name: the name of the record of a share of records.
        func share(of zone: ZoneID, named name: String? = nil, in conversation: Conversation) async throws(CKError) -> ShareDetails? {
            let request = RecordsLookupRequest(records: [.init(recordName: name ?? CKRecordNameZoneWideShare)], zoneID: zone)
            switch try await conversation.lookup(request).records.first {
            case .record(let record)?: return record.sharing?.value
            case .failure(_, let error)?:
                guard error.nativeCode == NativeErrorCode.unknownItem.rawValue else { throw CKError(error) }
                return nil
            case .deleted?, nil: throw .unexpectedAnswer
            }
        }

        /// Has the log say once how many participants of the share of a zone of the user's own have no keys.
        func tellWithoutKeys(_ list: [ShareParticipant], _ keys: ZoneKeys) {
            let count = list.count { $0.role != .owner && $0.acceptance != .removed && !keys.manifest.parts.hasParticipant($0) }
            guard count > 0, line.openedKeys.withLock({ $0.isNewsOfWithoutKeys(in: keys.place) }) else { return }
            line.log(
                "CloudKit: \(count) of the share of the zone '\(keys.place.zone)' have no keys of its encrypted values and files. "
                    + "Invited ones get them when they have used the zone and this device fetches the share, if an app has added them here")
        }

        /// Has the log tell the accounts that get the keys of a zone because the server has named them for an address.
        func tellNamed(_ wishes: [ShareWish], in request: KeysScopesModifyRequest, after last: ScopeManifest) {
            guard let manifest = try? ScopeManifest(request.manifest) else { return }
            for one in manifest.parts.namedByServer(wishes, after: last.parts) {
                line.log(
                    "CloudKit: the keys of the zone '\(manifest.parts.place.zone)' go to the user \(one.user), whom the server names for an "
                        + "invited address. Compare 'nacre keys fingerprint' with theirs: \(one.fingerprint)")
            }
        }
    }

    extension ScopeManifest.Parts {
        fileprivate func hasParticipant(_ listed: ShareParticipant) -> Bool {
            listed.user.map { participant(named: $0) != nil } ?? false
        }

        /// Returns the participants whom an earlier manifest does not have, and whom the server has named for an
        /// address.
        func namedByServer(_ wishes: [ShareWish], after last: ScopeManifest.Parts) -> [ScopeManifest.Participant] {
            wishes.filter { $0.isNamedByServer == true }.compactMap { wish in
                wish.user.flatMap { last.participant(named: $0) == nil ? participant(named: $0) : nil }
            }
        }
    }
#endif
