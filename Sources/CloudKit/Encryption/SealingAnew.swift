#if canImport(NacreEncryption)
    import NacreCloudWire
    import NacreEncryption
    import NacreEncryptionForms
    import NacreLocks

    // The pass after which older versions of a zone's key open nothing any more: values under them are sealed anew, and
    // then the oldest version rises.

    extension ZoneKeys {
        /// Whether a record has values or a manifest under an older version of this scope's key, or files: their chunks
        /// may be under any, and a manifest of the newest takes over the files of the one before.
        func isOld(_ record: Record) -> Bool {
            guard let bytes = record.manifest, let form = try? RecordManifest(bytes), form.parts.keyID.scope == newest.id.scope else { return false }
            let isOlder = form.parts.keyID != newest.id || !form.parts.files.isEmpty
            return isOlder || record.fields.sealed.contains { $0.value.keyID != newest.id.text }
        }

        /// Makes the save that seals a record's values anew under the newest key, and leaves the rest of it.
        /// - Parameters:
        ///   - kept: the newest version that this device has seen.
        ///   - now: milliseconds since 1970.
        /// - Throws: the fault of a record that does not verify, and `cannotBeSealed` for one with files.
        func sealingAnew(
            _ record: Record, kept: RecordManifest.Version?, now: UInt64, using random: inout some RandomBytes
        ) throws(SecretFault) -> RecordOperation {
            let opened = try open(record, asked: nil, kept: kept)
            guard let bytes = record.manifest, let form = try? RecordManifest(bytes), form.parts.files.isEmpty else { throw .cannotBeSealed }
            let secrets = SecretChange(values: opened.values, cleared: [], manifest: bytes, parent: record.parent?.recordName ?? "")
            var change = RecordChange(
                recordName: record.recordName, recordType: record.recordType, recordChangeTag: record.recordChangeTag)
            change.put(try seal(secrets, of: change, now: now, using: &random), for: secrets)
            return RecordOperation(.update, change)
        }
    }

    extension OwnKeys {
        /// Makes the request for a manifest after which readers take the newest version of the key alone.
        func raisingOldest(after keys: ZoneKeys, stamp: UInt64, using random: KeyRandom) throws(CKError) -> KeysScopesModifyRequest {
            try CKError.checking {
                var (parts, random) = (keys.manifest.parts, random)
                guard parts.number < .max else { throw CKError.keysRefused("The zone has as many manifests as it may have") }
                (parts.number, parts.before, parts.stamp) = (parts.number + 1, keys.manifest.hash, max(stamp, parts.stamp + 1))
                (parts.oldest, parts.keyProofs) = (parts.version, [keys.newest.proof])
                return try request(for: keys.newest, parts, after: keys.manifest, older: nil, logs: keys.logs, using: &random)
            }
        }
    }

    /// The outcome of a pass over a zone.
    package struct SealedAnew: Encodable, Equatable, Sendable {
        package let zone: String
        /// The records that were sealed anew.
        package internal(set) var records = 0
        /// The records that could not be: they do not verify, or have files. The older versions stay as long as there
        /// are some.
        package internal(set) var left = 0
    }

    extension KeyExchange {
        /// The most records of a request that seals anew.
        static let recordsAnewMax = 50

        /// Seals the values of a zone anew that older versions of its key open, some records at a time, and raises the
        /// oldest version when none is left. A pass that was interrupted is begun anew, and skips what is done.
        func sealAnew(_ place: Place) async throws(CKError) -> SealedAnew {
            var outcome = SealedAnew(zone: place.zone)
            for _ in 0..<Self.triesMax {
                let keys = try await zoneKeysForSaving(at: place)
                guard keys.manifest.parts.oldest < keys.newest.id.version else { return outcome }
                let round = try await round(with: keys)
                outcome.records += round.sealed
                outcome.left = round.left
                if round.isLate {
                    // Another device has saved some of the records, or made another key, meanwhile.
                    line.openedKeys.withLock { $0.forget(place.zone) }
                    continue
                }
                guard round.left == 0, let own = line.openedKeys.withLock({ $0.own(of: account) }) else { return outcome }
                try await send(
                    try own.raisingOldest(after: keys, stamp: line.timekeeper.stamp, using: line.timekeeper.keyRandom), at: place)
                line.openedKeys.withLock { $0.forget(place.zone) }
            }
            throw .keysAreBusy
        }

        private struct Round {
            var sealed = 0
            var left = 0
            var isLate = false
        }

        /// Reads all records of a zone, and seals the old ones anew.
        private func round(with keys: ZoneKeys) async throws(CKError) -> Round {
            var round = Round()
            var item = ChangesZoneRequest.Item(zoneID: ZoneID(zoneName: keys.place.zone))
            while true {
                let answer = try await conversation.changes(ChangesZoneRequest(zones: [item]))
                let page = try answer.page()
                var operations: [RecordOperation] = []
                for case .record(let record) in page.records where keys.isOld(record) {
                    let kept = line.seenRecords.withLock { $0.version(of: keys.recordID(record.recordName), before: answer.moment) }
                    var random = line.timekeeper.keyRandom
                    do throws(SecretFault) {
                        operations.append(try keys.sealingAnew(record, kept: kept, now: line.timekeeper.stamp, using: &random))
                    } catch {
                        round.left += 1
                    }
                }
                for start in stride(from: 0, to: operations.count, by: Self.recordsAnewMax) {
                    try await save(operations[start..<min(start + Self.recordsAnewMax, operations.count)], with: keys, &round)
                }
                guard page.moreComing else { return round }
                item.syncToken = page.syncToken
            }
        }

        /// Sends saves, in halves where they are too large for a request.
        private func save(_ operations: ArraySlice<RecordOperation>, with keys: ZoneKeys, _ round: inout Round) async throws(CKError) {
            let request = RecordsModifyRequest(
                operations: Array(operations), zoneID: ZoneID(zoneName: keys.place.zone), atomic: false)
            let answers: [RecordResult]
            do throws(CKError) {
                answers = try await conversation.modify(request).records
            } catch {
                guard error.code == .limitExceeded, operations.count > 1 else { throw error }
                let half = operations.startIndex + operations.count / 2
                try await save(operations[..<half], with: keys, &round)
                return try await save(operations[half...], with: keys, &round)
            }
            guard answers.count == operations.count else { throw .unexpectedAnswer }
            for (operation, answer) in zip(operations, answers) {
                switch answer {
                case .record(let record):
                    round.sealed += 1
                    guard let sent = operation.change.manifest, let form = try? RecordManifest(sent.bytes) else { continue }
                    line.seenRecords.withLock { $0.note(form, of: record, keys.recordID(record.recordName)) }
                case .failure(_, let error):
                    let isLate =
                        error.reason == ServerError.keyIsNotNewestReason
                        || [NativeErrorCode.serverRecordChanged.rawValue, NativeErrorCode.unknownItem.rawValue].contains(error.nativeCode)
                    if isLate { round.isLate = true } else { round.left += 1 }
                case .deleted: throw .unexpectedAnswer
                }
            }
        }
    }

    extension ZoneKeys {
        fileprivate func recordID(_ name: String) -> CKRecord.ID {
            CKRecord.ID(recordName: name, zoneID: CKRecordZone.ID(zoneName: place.zone))
        }
    }

    extension UserKeys {
        /// Seals the values of the user's own zones anew that older versions of their keys open, so that a removed
        /// participant or device opens none of them.
        /// - Parameter zone: the name of the only zone to look through; nil: all.
        /// - Returns: the zones that had such values, or older keys.
        package func sealAnew(zone: String? = nil) async throws(CKError) -> [SealedAnew] {
            _ = try await own()
            var outcomes: [SealedAnew] = []
            let names: [String] = if let zone { [zone] } else { try await exchange.ownZones() }
            for name in names.sorted() {
                // The default zone has no feed in which to find the records.
                guard name != ZoneID.defaultZoneName, let place = Place(owner: exchange.account.name, zone: name),
                    let keys = try await exchange.zoneKeys(at: place), keys.manifest.parts.oldest < keys.newest.id.version
                else { continue }
                outcomes.append(try await exchange.sealAnew(place))
            }
            return outcomes
        }
    }
#endif
