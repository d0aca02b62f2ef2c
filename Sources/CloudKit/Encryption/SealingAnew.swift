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
        ///   - before: the keys of the scope that the record leaves; nil: it stays.
        ///   - kept: the newest version that this device has seen.
        ///   - now: milliseconds since 1970.
        /// - Throws: the fault of a record that does not verify, and `cannotBeSealed` for one with files, which are
        ///   sealed anew with it.
        func sealingAnew(
            _ record: Record, openedWith before: ZoneKeys? = nil, kept: RecordManifest.Version?, now: UInt64,
            using random: inout some RandomBytes
        ) throws(SecretFault) -> RecordOperation {
            let opened = try (before ?? self).open(record, asked: nil, kept: kept)
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
        /// The records that could not be: they, or their files, do not verify, or they are `elsewhere`. The older
        /// versions stay as long as there are some.
        package internal(set) var left = 0
        /// The records of these that verify, and that the server has in another place than the one they are sealed for.
        package internal(set) var elsewhere = 0
    }

    /// The pace of a pass over a zone, and how much it does before it leaves the rest to another call.
    struct PassPace: Sendable {
        /// The most records of a page; nil: as many as the server gives.
        var pageRecords: Int?
        /// Seconds between two pages.
        var seconds = 0.0
        var pagesMax = Int.max
        /// The bytes of files after which no further record's files are fetched.
        var fileBytesMax = Int64.max
        /// The most records of a zone whose files are sealed anew.
        var filesMax = Int.max
        /// Whether the device keeps how far the pass is, so that a later process goes on there.
        var isKept = false
        /// Whether the pass goes on. It is asked before each page.
        var goesOn: @Sendable () -> Bool = { true }
    }

    extension KeyExchange {
        /// The most records of a request that seals anew.
        static let recordsAnewMax = 50

        /// Seals the values and files of a zone anew that older versions of a key open, some records at a time, and
        /// raises the oldest version when none is left. A pass that was interrupted is begun anew, and skips what is
        /// done. Records that the server has in another place are sealed for it first, once, and the pages are read
        /// again.
        /// - Parameter which: the zone's own scope, or that of a share of its records.
        func sealAnew(_ place: Place, _ which: WhichScope = .zone, at pace: PassPace = PassPace()) async throws(CKError) -> SealedAnew {
            var (outcome, round, hasMoved) = (SealedAnew(zone: place.zone), Round(key: nil), false)
            for _ in 0..<Self.triesMax {
                let keys = try await keysForSaving(which, at: place)
                guard keys.manifest.parts.oldest < keys.newest.id.version else { return outcome }
                if round.key != keys.newest.id { round = try await begin(with: keys, pace, pages: round.pages) }
                round.isLate = false
                let before = round.sealed
                try await go(on: &round, with: keys, pace)
                outcome.records += round.sealed - before
                (outcome.left, outcome.elsewhere) = (round.left, round.elsewhere)
                if round.isLate {
                    // Another device has made another key meanwhile.
                    line.openedKeys.withLock { $0.forget(place.zone) }
                    continue
                }
                if round.elsewhere > 0, !hasMoved, pace.goesOn() {
                    hasMoved = true
                    outcome.records += try await sealByShares(at: place).records
                    (round.token, round.left, round.elsewhere) = (nil, 0, 0)
                    if pace.isKept { try await keep(round, of: keys, isOver: false) }
                    continue
                }
                guard !round.isCut, round.left == 0, let own = line.openedKeys.withLock({ $0.own(of: account) }) else { return outcome }
                try await send(
                    try own.raisingOldest(after: keys, stamp: line.timekeeper.stamp, using: line.timekeeper.keyRandom), at: place)
                line.openedKeys.withLock { $0.forget(place.zone) }
            }
            throw .keysAreBusy
        }

        /// The pages of a zone that are to be sealed under one version of a key.
        struct Round {
            /// The version; nil: no pages are read.
            let key: KeyID?
            var sealed = 0
            var left = 0
            /// The records that were left, that this process has met, and that the server has in another place.
            var elsewhere = 0
            /// The token of the last page that is done.
            var token: String?
            var pages = 0
            var fileBytes: Int64 = 0
            /// The change tags of records whose files were sealed anew: the zone's feed shows them again.
            var tags: Set<String> = []
            /// Whether the pace leaves the rest to another call.
            var isCut = false
            /// Whether the version is not the newest any more.
            var isLate = false
        }

        private func begin(with keys: ZoneKeys, _ pace: PassPace, pages: Int) async throws(CKError) -> Round {
            var round = Round(key: keys.newest.id)
            round.pages = pages
            guard pace.isKept, let kept = try await line.keyStore.keys(of: account).passes[keys.place.zone], kept.key == keys.newest.id.text else {
                return round
            }
            (round.token, round.left, round.tags) = (kept.token, kept.left, kept.tags)
            return round
        }

        /// Reads the pages of a zone that are left, and seals the old records anew. A record that another device saves
        /// meanwhile comes again on a later page.
        private func go(on round: inout Round, with keys: ZoneKeys, _ pace: PassPace) async throws(CKError) {
            let zoneID = ZoneID(zoneName: keys.place.zone)
            while true {
                round.isCut = round.pages >= pace.pagesMax || !pace.goesOn()
                if round.isCut { return }
                round.pages += 1
                let item = ChangesZoneRequest.Item(zoneID: zoneID, syncToken: round.token, resultsLimit: pace.pageRecords)
                let answer = try await conversation.changes(ChangesZoneRequest(zones: [item]))
                let page = try answer.page()
                try await seal(page, since: answer.moment, with: keys, &round, pace)
                if round.isLate { return }
                if !round.isCut { round.token = page.syncToken }
                if pace.isKept { try await keep(round, of: keys, isOver: !round.isCut && !page.moreComing) }
                guard page.moreComing, !round.isCut else { return }
                if pace.seconds > 0 { try await line.timekeeper.wait(pace.seconds) }
            }
        }

        private func keep(_ round: Round, of keys: ZoneKeys, isOver: Bool) async throws(CKError) {
            let pass = KeptKeys.Pass(
                key: keys.newest.id.text, token: round.token, left: round.left, isOver: isOver, tags: round.tags)
            try await line.keyStore.update(account) { [zone = keys.place.zone] kept throws(CKError) in kept.keep(pass, ofZone: zone) }
        }

        private func seal(
            _ page: ChangesZoneResponse.Page, since moment: Int, with keys: ZoneKeys, _ round: inout Round, _ pace: PassPace
        ) async throws(CKError) {
            var operations: [RecordOperation] = []
            var (keys, asked) = (keys, Set<String>())
            for case .record(let record) in page.records where keys.isOld(record) {
                if record.hasSealedFiles {
                    try await sealFiles(of: record, with: keys, &round, pace)
                    guard !round.isCut, !round.isLate else { return }
                    continue
                }
                keys = await withWriter(of: record, keys, asked: &asked)
                let recordID = keys.recordID(record.recordName)
                let kept = line.seenRecords.withLock { $0.version(of: recordID, before: moment) }
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
        }

        /// Sends saves, in halves where they are too large for a request.
        func save(_ operations: ArraySlice<RecordOperation>, with keys: ZoneKeys, _ round: inout Round) async throws(CKError) {
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
                    if error.reason == ServerError.keyIsNotNewestReason {
                        round.isLate = true
                    } else if !Self.isNoOldRecord(NativeErrorCode(rawValue: error.nativeCode)) {
                        round.left += 1
                        if error.reason == ServerError.otherScopeReason { round.elsewhere += 1 }
                    }
                case .deleted: throw .unexpectedAnswer
                }
            }
        }

        /// Whether a save failed because the record is another one since, which a later page shows, or is gone.
        private static func isNoOldRecord(_ code: NativeErrorCode?) -> Bool { code == .serverRecordChanged || code == .unknownItem }

        // MARK: Files

        /// Seals the values and files of a record anew, as an app would that fetches it and saves all of them.
        private func sealFiles(of record: Record, with keys: ZoneKeys, _ round: inout Round, _ pace: PassPace) async throws(CKError) {
            if round.tags.contains(record.recordChangeTag) { return }
            let size = record.sealedFileBytes
            round.isCut = round.tags.count >= pace.filesMax || round.fileBytes > 0 && size > pace.fileBytesMax - round.fileBytes
            if round.isCut { return }
            round.fileBytes += size
            let (database, recordID) = (CKContainer(line: line).privateCloudDatabase, keys.recordID(record.recordName))
            do {
                let fetched = try await database.record(for: recordID)
                // The files last as long as their assets.
                guard let assets = fetched.sealAllAnew() else {
                    round.left += 1
                    return
                }
                let saved = try await database.modifyRecords(saving: [fetched], deleting: [], savePolicy: .ifServerRecordUnchanged)
                withExtendedLifetime(assets) {}
                guard let tag = try saved.saveResults[recordID]?.get().recordChangeTag else { throw CKError.unexpectedAnswer }
                round.tags.insert(tag)
                round.sealed += 1
            } catch {
                let error = error as? CKError
                switch error?.code {
                case .serverRecordChanged, .unknownItem: break
                case .zoneBusy: round.isLate = true
                default: if let error, error.endsSealing { throw error } else { round.left += 1 }
                }
            }
        }
    }

    extension Record {
        private var sealedFiles: [RecordManifest.Files] {
            manifest.flatMap { try? RecordManifest($0) }?.parts.files ?? []
        }

        fileprivate var hasSealedFiles: Bool { !sealedFiles.isEmpty }

        /// The bytes of the sealed files.
        fileprivate var sealedFileBytes: Int64 {
            sealedFiles.reduce(0) { sum, listed in (fields[listed.name]?.assets ?? []).reduce(sum) { $0 + $1.size } }
        }
    }

    extension CKRecord {
        /// Has the next save seal all encrypted values and sealed files anew.
        /// - Returns: the assets that were fetched; nil if some value or file is not there.
        fileprivate func sealAllAnew() -> [CKAsset]? {
            let encrypted = snapshot.encrypted
            guard !encrypted.isUnopened, encrypted.listed.allSatisfy({ encryptedValues.object(forKey: $0) != nil }),
                let manifest = encrypted.manifest.flatMap({ try? RecordManifest($0) })
            else { return nil }
            var fetched: [CKAsset] = []
            for files in manifest.parts.files {
                let value = object(forKey: files.name)
                let assets = (value as? CKAsset).map { [$0] } ?? value as? [CKAsset] ?? []
                let urls = assets.compactMap(\.fileURL)
                guard !assets.isEmpty, urls.count == assets.count else { return nil }
                fetched += assets
                let again = urls.map { CKAsset(fileURL: $0) }
                if value is CKAsset { self[files.name] = again[0] } else { self[files.name] = again }
            }
            for key in encrypted.listed { encryptedValues.setObject(encryptedValues.object(forKey: key), forKey: key) }
            return fetched
        }
    }

    extension Timekeeper {
        /// Waits for a number of seconds.
        func wait(_ seconds: Double) async throws(CKError) {
            do {
                try await pause(seconds)
            } catch {
                throw .cancelled
            }
        }
    }

    extension ZoneKeys {
        func recordID(_ name: String) -> CKRecord.ID {
            CKRecord.ID(recordName: name, zoneID: CKRecordZone.ID(zoneName: place.zone))
        }
    }

    extension UserKeys {
        /// Seals the values of the user's own zones anew that older versions of their keys open, so that a removed
        /// participant or device opens none of them.
        /// - Parameter zone: the name of the only zone to look through; nil: all.
        /// - Returns: the zones that had such values, or older keys.
        package func sealAnew(zone: String? = nil) async throws(CKError) -> [SealedAnew] {
            line.passes.withLock { $0.end() }
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
            let shares = try await line.keyStore.keys(of: exchange.account).ownShares
            for name in names.sorted() where shares.contains(where: { $0.zone == name }) {
                guard let place = Place(owner: exchange.account.name, zone: name) else { continue }
                var outcome = try await exchange.sealByShares(at: place)
                for share in shares where share.zone == name {
                    // The scope of a share that has ended has nothing any more.
                    guard (try? await exchange.keysForSaving(.id(share.scope), at: place))?.newest.id.scope == share.scope else { continue }
                    let more = try await exchange.sealAnew(place, .id(share.scope))
                    (outcome.records, outcome.left) = (outcome.records + more.records, outcome.left + more.left)
                }
                if outcome.records + outcome.left > 0 { outcomes.append(outcome) }
            }
            return outcomes
        }
    }
#endif
