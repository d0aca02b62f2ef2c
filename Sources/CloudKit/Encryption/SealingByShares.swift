#if canImport(NacreEncryption)
    import NacreCloudWire
    import NacreEncryption
    import NacreEncryptionForms
    import NacreLocks

    // The pass that seals records anew for the scope of their place: after a share of records began or ended, and after
    // a record moved that others hang on.

    /// The records of a zone as the pass has seen them, by name.
    struct RecordTree: Sendable {
        /// A record on the way to the root of a share.
        struct Node: Sendable {
            /// The name of the parent; nil: the record has none.
            let parent: String?
            /// The name of the share of which the record is the root.
            let share: String?
            /// The scope for which the record is sealed; nil: it has no manifest, and nobody has signed its parent.
            let scope: ScopeID?
            /// Whether the record is the root of the share that its scope is of. No manifest has its parent.
            var isRootOfScope = false
        }

        /// The most records of a zone. A zone with more is left as it is.
        static let recordsMax = 50_000

        var nodes: [String: Node] = [:]

        /// Returns the share whose root is above a record, or is the record.
        /// - Parameter roots: the roots of shares with keys, by the names of the shares.
        /// - Returns: nil if no such share is above it; `.failure` if a plain record is between the record and the end.
        func share(above name: String, roots: [String: String]) -> Result<String?, SecretFault> {
            var (next, steps) = (name, 0)
            while let node = nodes[next], steps <= nodes.count {
                if let share = node.share, roots[share]?.utf8.elementsEqual(next.utf8) == true { return .success(share) }
                guard !node.isRootOfScope, let parent = node.parent else { return .success(nil) }
                guard node.scope != nil else { return .failure(.cannotBeSealed) }
                (next, steps) = (parent, steps + 1)
            }
            return .success(nil)
        }
    }

    extension KeyExchange {
        /// Seals the records of a zone of the user's own anew that are sealed for another scope than that of their
        /// place. A pass that was interrupted is begun anew, and skips what is done.
        func sealByShares(at place: Place) async throws(CKError) -> SealedAnew {
            var outcome = SealedAnew(zone: place.zone)
            guard let tree = try await tree(at: place, &outcome) else { return outcome }
            var (roots, scopes): ([String: String], [String: ScopeID]) = ([:], [:])
            for share in Set(tree.nodes.values.compactMap(\.share)).sorted() {
                guard let keys = try await keys(ofShare: share, at: place) else { continue }
                (roots[share], scopes[share]) = (keys.manifest.parts.root, keys.newest.id.scope)
            }
            let zone = try await zoneKeys(at: place)?.newest.id.scope
            var moving: [WhichScope: [String]] = [:]
            for (name, node) in tree.nodes {
                guard let scope = node.scope else { continue }
                switch tree.share(above: name, roots: roots) {
                case .failure: if scope != zone { outcome.left += 1 }
                case .success(let share?): if scope != scopes[share] { moving[.share(share), default: []].append(name) }
                case .success(nil): if scope != zone { moving[.zone, default: []].append(name) }
                }
            }
            for (which, names) in moving {
                let keys = try await keysForSaving(which, at: place)
                let names = names.sorted()
                for start in stride(from: 0, to: names.count, by: Self.recordsAnewMax) {
                    try await move(Array(names[start..<min(start + Self.recordsAnewMax, names.count)]), to: keys, &outcome)
                }
            }
            return outcome
        }

        /// Reads the records of a zone, page by page, and verifies those that have manifests.
        /// - Returns: nil if there are too many.
        private func tree(at place: Place, _ outcome: inout SealedAnew) async throws(CKError) -> RecordTree? {
            var (tree, asked) = (RecordTree(), Set<String>())
            var item = ChangesZoneRequest.Item(zoneID: ZoneID(zoneName: place.zone))
            while true {
                let page = try await conversation.changes(ChangesZoneRequest(zones: [item])).page()
                for case .record(let record) in page.records where record.sharing == nil {
                    let form = record.manifest.flatMap { try? RecordManifest($0) }
                    var isRoot = false
                    if let form {
                        guard var keys = try await zoneKeys(at: place, holding: form.parts.keyID.scope) else {
                            outcome.left += 1
                            continue
                        }
                        keys = await withWriter(of: record, keys, asked: &asked)
                        guard (try? keys.open(record, asked: nil)) != nil else {
                            outcome.left += 1
                            continue
                        }
                        isRoot = keys.manifest.parts.isRoot(record.recordName)
                    }
                    tree.nodes[record.recordName] = RecordTree.Node(
                        parent: record.parent?.recordName, share: record.share?.recordName, scope: form?.parts.keyID.scope, isRootOfScope: isRoot)
                }
                guard tree.nodes.count <= RecordTree.recordsMax else {
                    line.log("CloudKit: the zone '\(place.zone)' has too many records to be sealed anew for its shares")
                    return nil
                }
                guard page.moreComing else { return tree }
                item.syncToken = page.syncToken
            }
        }

        /// Seals some records for another scope.
        private func move(_ names: [String], to keys: ZoneKeys, _ outcome: inout SealedAnew) async throws(CKError) {
            let moment = conversation.seenMoment
            let request = RecordsLookupRequest(records: names.map { .init(recordName: $0) }, zoneID: ZoneID(zoneName: keys.place.zone))
            var operations: [RecordOperation] = []
            for case .record(let record) in try await conversation.lookup(request).records {
                let id = record.manifest.flatMap { try? RecordManifest($0) }?.parts.keyID.scope
                let kept = line.seenRecords.withLock { $0.version(of: keys.recordID(record.recordName), before: moment) }
                var random = line.timekeeper.keyRandom
                guard let before = try await zoneKeys(at: keys.place, holding: id) else { continue }
                do throws(SecretFault) {
                    operations.append(
                        try keys.sealingAnew(record, openedWith: before, kept: kept, now: line.timekeeper.stamp, using: &random))
                } catch {
                    outcome.left += 1
                }
            }
            guard !operations.isEmpty else { return }
            var round = Round(key: nil)
            try await save(operations[...], with: keys, &round)
            outcome.records += round.sealed
            outcome.left += round.left
        }
    }
#endif
