#if canImport(NacreEncryption)
    import NacreCloudWire
    import NacreEncryption
    import NacreEncryptionForms
    import NacreLocks

    // The scope that a record is sealed for: that of the share of records whose root is above it, and otherwise its
    // zone's. The way to the root goes by parents that the app has set, or that manifests bind.

    extension ModifyPlan.Batch {
        /// The names of the shares of records that the batch makes, by the names of their roots.
        fileprivate var newShares: [String: String] {
            Dictionary(saves.compactMap(\.newShareOfRecords).map { ($0.root, $0.name) }, uniquingKeysWith: { first, _ in first })
        }
    }

    extension Conversation {
        /// Returns the scopes that saves of a batch are sealed for.
        /// - Parameters:
        ///   - indices: those of the saves.
        ///   - isFresh: whether each way is followed to its end: the server has refused a scope that was seen before.
        func scopes(of batch: ModifyPlan.Batch, for indices: [Int], isFresh: Bool) async throws(CKError) -> [Int: WhichScope] {
            guard scope != .public, !batch.zoneID.wire.isDefault, let (exchange, place) = try await keyExchange(for: batch.zoneID) else { return [:] }
            let (made, places) = (batch.newShares, Dictionary(batch.saves.map { ($0.record.recordID.recordName, $0) }, uniquingKeysWith: { $1 }))
            let isFresh = isFresh || line.openedKeys.withLock { $0.doubtsScopes(inZoneNamed: place.zone) }
            var found: [Int: WhichScope] = [:]
            for index in indices {
                var name = batch.saves[index].record.recordID.recordName
                var steps = 0
                while found[index] == nil {
                    steps += 1
                    if let share = made[name] {
                        try await exchange.makeScope(ofShare: (share, name), at: place, beginning: true)
                        found[index] = .share(share)
                        continue
                    }
                    let step: Step
                    if let save = places[name] {
                        step = try await self.step(from: save, exchange, place)
                    } else {
                        step = try await self.step(from: name, in: batch.zoneID, exchange, place, isFresh: isFresh)
                    }
                    switch step {
                    case .end(let which): found[index] = which
                    case .parent(let parent): if steps < Self.parentsMax { name = parent } else { found[index] = .zone }
                    }
                }
            }
            return found
        }

        /// The most records on the way to the root of a share. On this server: as many levels as it follows.
        private static let parentsMax = 100

        private enum Step {
            case end(WhichScope)
            case parent(String)

            /// - Parameter parent: its name; nil or empty: there is none.
            init(_ parent: String?) { self = parent.flatMap { $0.isEmpty ? nil : .parent($0) } ?? .end(.zone) }
        }

        /// Takes the step from a record that the batch saves. On a device of the owner the parent counts if the app or
        /// a manifest has said it: the server alone could lead into any share.
        private func step(from save: ModifyPlan.Save, _ exchange: KeyExchange, _ place: Place) async throws(CKError) -> Step {
            let name = save.record.recordID.recordName
            if let share = save.share, try await exchange.isRoot(name, ofShare: share, at: place) { return .end(.share(share)) }
            if exchange.account.name != place.owner || save.isPlacedByApp { return Step(save.parent) }
            guard !save.held.isUnopened, let id = save.secrets.manifest.flatMap({ try? RecordManifest($0) })?.parts.keyID.scope,
                let keys = try await exchange.zoneKeys(at: place, holding: id), keys.newest.id.scope == id
            else { return .end(.zone) }
            return keys.manifest.parts.isRoot(name) ? .end(.id(id)) : Step(save.secrets.parent)
        }

        /// Takes a step on the way to the root of a share.
        private func step(
            from name: String, in zone: CKRecordZone.ID, _ exchange: KeyExchange, _ place: Place, isFresh: Bool
        ) async throws(CKError) -> Step {
            let recordID = CKRecord.ID(recordName: name, zoneID: zone)
            let moment = seenMoment
            if !isFresh, let seen = line.seenRecords.withLock({ $0.version(of: recordID, before: .max) }) { return .end(.id(seen.scope)) }
            let request = RecordsLookupRequest(records: [.init(recordName: name)], zoneID: zone.wire, desiredKeys: [])
            let unjournaled = Conversation(line: line, scope: scope, patience: patience, group: group)
            guard case .record(let record)? = try await unjournaled.lookup(request).records.first else { return .end(.zone) }
            let shown = ShownRecord(record: record, id: recordID)
            guard let opened = await unjournaled.opened([shown], asked: [], since: moment).results.first ?? nil else { return .end(.zone) }
            let fields: EncryptedFields
            switch opened {
            case .success(let found): fields = found
            case .failure(let error): throw error
            }
            if let share = record.share?.recordName, try await exchange.isRoot(name, ofShare: share, at: place) { return .end(.share(share)) }
            let isOwn = exchange.account.name == place.owner
            guard let bytes = record.manifest, let form = try? RecordManifest(bytes), !isOwn || !fields.isUnopened else {
                // The parent of a plain record is unsigned: by it the server could lead the owner into any share.
                return isOwn ? .end(.zone) : Step(record.parent?.recordName)
            }
            let id = form.parts.keyID.scope
            // No manifest has the parent of the root of its scope.
            if !isFresh { return .end(.id(id)) }
            if isOwn, try await exchange.zoneKeys(at: place, holding: id)?.manifest.parts.isRoot(name) ?? true { return .end(.id(id)) }
            return Step(record.parent?.recordName)
        }
    }

    extension KeyExchange {
        /// Returns whether a share of records has keys, and this record at its root.
        fileprivate func isRoot(_ name: String, ofShare share: String, at place: Place) async throws(CKError) -> Bool {
            guard let keys = try await keys(ofShare: share, at: place) else { return false }
            return keys.manifest.parts.isRoot(name)
        }
    }
#endif
