import Foundation
import NacreCloudWire
import NacreLocks

/// The tries that the sealed saves of a batch still have.
struct SealingTries: Sendable {
    /// Tries over a version that another device saved meanwhile. `.changedKeys` and `.allKeys` never conflict.
    private(set) var left = 3
    /// Whether the keys may be fetched anew.
    private(set) var mayFetchKeys = true

    var number: Int { 3 - left }

    /// The tries after the next one.
    func next(fetchingKeys: Bool) -> SealingTries {
        var next = self
        next.left -= 1
        if fetchingKeys { next.mayFetchKeys = false }
        return next
    }
}

/// The saves of an answered batch that are to be sealed and sent again.
struct RepeatedSaves: Sendable {
    var batch: ModifyPlan.Batch
    /// The indices of the batch's saves in the batch that was answered.
    var indices: [Int]
    var tries: SealingTries
}

extension Conversation {
    /// Seals the encrypted values of a batch's saves, so that the batch can be cut and sent.
    ///
    /// - Returns: the batch, and the errors of saves that cannot be sealed.
    /// - Throws: an error that ends the batch as a whole.
    func sealed(
        _ batch: ModifyPlan.Batch, _ tries: SealingTries = SealingTries()
    ) async throws(CKError) -> (batch: ModifyPlan.Batch, failures: [Int: CKError]) {
        #if canImport(NacreEncryption)
            var batch = batch
            let indices = savesToSeal(batch)
            guard let first = indices.first else { return (batch, [:]) }
            // A process that takes the operation over must send the same bytes.
            let recordID = batch.saves[first].record.recordID
            let step = "seal \(tries.number) \(batch.zoneID.ownerName)/\(batch.zoneID.zoneName)/\(recordID.recordName)"
            if let journal, case .success(let kept)? = await FileWork.run({ journal.outcome(step, as: [Int: SealedChange].self) }) {
                for (index, sealed) in kept where batch.saves.indices.contains(index) { batch.saves[index].put(sealed) }
                return (batch, [:])
            }
            var (sealed, failures) = try await sealedChanges(of: batch, indices, isFresh: !tries.mayFetchKeys)
            failures = failures.filter { !batch.saves[$0.key].mayStayPlain }
            for (index, sealed) in sealed { batch.saves[index].put(sealed) }
            if let journal, failures.isEmpty {
                await FileWork.run { [sealed] in journal.note(step, Result<[Int: SealedChange], CKError>.success(sealed)) }
            }
            return (batch, failures)
        #else
            return (batch, [:])
        #endif
    }

    /// Returns the keys that seal the files of a batch. Costs a request a minute, also for an account without keys, and
    /// up to three for each batch in a zone without them.
    ///
    /// - Returns: nothing for a save whose files stay plain: in zones that `zoneKeysForFiles` leaves without keys,
    ///   where the batch makes none.
    func filesForSaving(_ batch: ModifyPlan.Batch) async throws(CKError) -> [Int: ZoneFiles] {
        #if canImport(NacreEncryption)
            let makesKeys = batch.saves.contains { $0.needsSealing }
            let saves = batch.savesWithFiles
            let own = try await zoneKeysForFiles(in: batch.zoneID, makingKeys: makesKeys)
            // A user without keys takes part in no share of records that has some.
            if own == nil, try await keyExchange(for: batch.zoneID)?.0.isAccountEmpty() ?? true { return [:] }
            let scopes = try await scopes(of: batch, for: saves, isFresh: false)
            var files: [Int: ZoneFiles] = [:]
            for save in saves {
                let which = scopes[save] ?? .zone
                let keys = which == .zone ? own : try await zoneKeysForFiles(in: batch.zoneID, which, makingKeys: makesKeys)
                files[save] = keys.map(ZoneFiles.init)
            }
            return files
        #else
            return [:]
        #endif
    }

    /// Returns the keys that open the files of a record.
    /// - Parameter manifest: the record's.
    func filesForOpening(in zone: CKRecordZone.ID, _ manifest: [UInt8]?) async throws(CKError) -> ZoneFiles? {
        #if canImport(NacreEncryption)
            let scope = manifest.flatMap { try? RecordManifest($0) }?.parts.keyID.scope
            return try await zoneKeys(of: zone, holding: scope).map(ZoneFiles.init)
        #else
            return nil
        #endif
    }

    /// Returns the saves of a batch that are to be sealed and sent again: the server has another version of their
    /// records than the one that they were made from, a manifest that the app's object has not seen, or a newer key.
    ///
    /// - Parameters:
    ///   - answers: those to the batch, which has them for its saves first.
    ///   - opened: the encrypted values of the records in the answers.
    ///   - isAtomic: whether all of the batch failed with these saves, and is sent again.
    /// - Returns: nil if nothing is sent again.
    func repeated(
        _ batch: ModifyPlan.Batch, after answers: [RecordResult], opened: [Result<EncryptedFields, CKError>?], policy: SavePolicy,
        isAtomic: Bool, _ tries: SealingTries
    ) async -> RepeatedSaves? {
        #if canImport(NacreEncryption)
            guard tries.left > 0 else { return nil }
            var saves = batch.saves
            var (again, fetchingKeys, isOver) = (Set<Int>(), false, false)
            for (index, answer) in answers.enumerated() {
                guard case .failure(_, let error) = answer, error.nativeCode != NativeErrorCode.batchRequestFailed.rawValue else { continue }
                let lacksManifest = error.reason == ServerError.manifestMissingReason
                if index < saves.count, saves[index].change.manifest != nil || lacksManifest {
                    let isOtherKey = [ServerError.keyIsNotNewestReason, ServerError.otherScopeReason].contains(error.reason)
                    if error.reason == ServerError.otherScopeReason {
                        line.openedKeys.withLock { $0.doubtScopes(inZoneNamed: batch.zoneID.zoneName) }
                    }
                    if isOtherKey, tries.mayFetchKeys {
                        fetchingKeys = true
                        again.insert(index)
                        continue
                    }
                    if policy != .ifServerRecordUnchanged, let base = await base(of: saves[index], after: error, opened[index]) {
                        saves[index].secrets.manifest = base.manifest
                        saves[index].secrets.parent = base.parent
                        if base.manifest != nil { saves[index].hasUnseenManifest = true }
                        again.insert(index)
                        continue
                    }
                }
                isOver = true
            }
            guard !again.isEmpty, !(isAtomic && isOver) else { return nil }
            if fetchingKeys { forgetZoneKeys(named: batch.zoneID.zoneName) }
            let indices = isAtomic ? Array(saves.indices) : again.sorted()
            for index in indices { saves[index].unseal() }
            let repeated = ModifyPlan.Batch(zoneID: batch.zoneID, saves: indices.map { saves[$0] }, deletions: isAtomic ? batch.deletions : [])
            return RepeatedSaves(batch: repeated, indices: indices, tries: tries.next(fetchingKeys: fetchingKeys))
        #else
            return nil
        #endif
    }
}

#if canImport(NacreEncryption)
    import NacreEncryption
    import NacreEncryptionForms

    extension Conversation {
        /// Returns the indices of the saves that are to be sealed. Beside those that change what a manifest binds,
        /// these are the roots of new shares with a manifest, and plain records with a parent where this process has
        /// keys of a share: a manifest binds the parent.
        private func savesToSeal(_ batch: ModifyPlan.Batch) -> [Int] {
            let roots = Set(batch.saves.compactMap { $0.newShareOfRecords?.root })
            let (zone, owner) = (batch.zoneID.zoneName, batch.zoneID.wire.ownerRecordName)
            let hasShares = scope != .public && line.openedKeys.withLock { $0.hasShares(inZoneNamed: zone, of: owner) }
            return batch.saves.indices.filter { index in
                let save = batch.saves[index]
                if save.needsSealing { return true }
                if save.secrets.manifest != nil { return save.parent == nil && roots.contains(save.record.recordID.recordName) }
                return hasShares && save.parent != nil && save.change.recordChangeTag == nil && save.isPlacedByApp
            }
        }

        /// Seals the values of saves, each for the scope of its place.
        /// - Parameter isFresh: whether each way to the root of a share is followed to its end. A place that this
        ///   process only remembers is looked for anew before a save fails whose files would stay behind.
        /// - Throws: an error that ends the batch as a whole.
        private func sealedChanges(
            of batch: ModifyPlan.Batch, _ indices: [Int], isFresh: Bool
        ) async throws(CKError) -> (sealed: [Int: SealedChange], failures: [Int: CKError]) {
            let groups: [WhichScope: [Int]]
            do throws(CKError) {
                let scopes = try await scopes(of: batch, for: indices, isFresh: isFresh)
                groups = Dictionary(grouping: indices) { scopes[$0] ?? .zone }
            } catch {
                guard !error.endsSealing else { throw error }
                return ([:], Dictionary(uniqueKeysWithValues: indices.map { ($0, error) }))
            }
            var (sealed, failures): ([Int: SealedChange], [Int: CKError]) = ([:], [:])
            var doubtful: [Int] = []
            for (which, some) in groups.sorted(by: { $0.value[0] < $1.value[0] }) {
                do throws(CKError) {
                    let keys = try await zoneKeysForSaving(in: batch.zoneID, which)
                    let leaving = isFresh ? [] : some.filter { batch.saves[$0].fieldLeftBehind(for: keys) != nil }
                    doubtful += leaving
                    var moving: [(index: Int, secrets: SecretChange)] = []
                    for index in some where !leaving.contains(index) { moving.append((index, try await moved(batch.saves[index], with: keys))) }
                    let done = seal(moving.map { ($0.index, $0.secrets, batch.saves[$0.index]) }, with: keys)
                    sealed.merge(done.sealed) { $1 }
                    failures.merge(done.failures) { $1 }
                } catch {
                    guard !error.endsSealing else { throw error }
                    for index in some where !doubtful.contains(index) { failures[index] = error }
                }
            }
            guard !doubtful.isEmpty else { return (sealed, failures) }
            let again = try await sealedChanges(of: batch, doubtful, isFresh: true)
            return (sealed.merging(again.sealed) { $1 }, failures.merging(again.failures) { $1 })
        }

        /// Returns the secrets of a save with all values of a record that moves into another scope: they are sealed
        /// anew together. The save itself keeps those that the app has set: another try may meet newer values.
        /// - Throws: `filesStayBehind` if the save leaves sealed files where they are.
        private func moved(_ save: ModifyPlan.Save, with keys: ZoneKeys) async throws(CKError) -> SecretChange {
            var secrets = save.secrets
            guard let bytes = secrets.manifest, let form = try? RecordManifest(bytes), form.parts.keyID.scope != keys.newest.id.scope,
                try await zoneKeys(of: save.record.recordID.zoneID, holding: form.parts.keyID.scope)?.newest.id.scope == form.parts.keyID.scope
            else { return secrets }
            if let field = save.fieldLeftBehind(for: keys) { throw .filesStayBehind(field) }
            let recordID = save.record.recordID
            let moment = seenMoment
            let unjournaled = Conversation(line: line, scope: scope, patience: patience, group: group)
            let request = RecordsLookupRequest(records: [.init(recordName: recordID.recordName)], zoneID: recordID.zoneID.wire)
            // Another version is a conflict, which the server tells.
            guard case .record(let record)? = try await unjournaled.lookup(request).records.first, record.manifest == bytes,
                let opened = await unjournaled.opened([ShownRecord(record: record, id: recordID)], since: moment).results.first ?? nil
            else { return secrets }
            let fields: EncryptedFields
            switch opened {
            case .success(let found): fields = found
            case .failure(let error): throw error
            }
            for field in fields.values.entries where secrets.values[field.name] == nil && !secrets.cleared.contains(field.name) {
                secrets.values[field.name] = field.value
            }
            return secrets
        }

        private func seal(
            _ saves: [(index: Int, secrets: SecretChange, save: ModifyPlan.Save)], with keys: ZoneKeys
        ) -> (sealed: [Int: SealedChange], failures: [Int: CKError]) {
            let now = line.timekeeper.stamp
            var random = line.timekeeper.keyRandom
            var sealed: [Int: SealedChange] = [:]
            var failures: [Int: CKError] = [:]
            for (index, secrets, save) in saves {
                do throws(SecretFault) {
                    sealed[index] = try keys.seal(secrets, of: save.change, now: now, using: &random)
                } catch {
                    failures[index] = error == .fileOfOlderKey ? .keysAreBusy : CKError(error, of: save.record.recordID)
                }
            }
            return (sealed, failures)
        }

        /// Returns the manifest and the parent of the server's version, over which a save is made anew; nil if the save
        /// failed for another reason.
        private func base(
            of save: ModifyPlan.Save, after error: ServerError, _ opened: Result<EncryptedFields, CKError>?
        ) async -> (manifest: [UInt8]?, parent: String)? {
            switch NativeErrorCode(rawValue: error.nativeCode) {
            // The save makes a new record.
            case .unknownItem?:
                forgetVersion(of: save.record.recordID)
                return (nil, "")
            case .serverRecordChanged?: break
            default: if error.reason != ServerError.manifestMissingReason { return nil }
            }
            if let record = error.serverRecord?.value {
                guard case .success(let fields)? = opened else { return nil }
                return (fields.manifest, record.parent?.recordName ?? "")
            }
            let recordID = save.record.recordID
            let moment = seenMoment
            let request = RecordsLookupRequest(records: [.init(recordName: recordID.recordName)], zoneID: recordID.zoneID.wire)
            guard let found = try? await lookup(request).records.first else { return nil }
            guard case .record(let record) = found else { return (nil, "") }
            let shown = ShownRecord(record: record, id: recordID, held: save.held, created: save.created)
            guard case .success(let fields)?? = await self.opened([shown], since: moment).results.first else { return nil }
            return (fields.manifest, record.parent?.recordName ?? "")
        }
    }

    extension ModifyPlan.Save {
        /// Whether the save is sealed only so that a manifest binds the parent of a plain record. Without keys it stays
        /// plain.
        fileprivate var mayStayPlain: Bool { !needsSealing && secrets.manifest == nil }

        /// Returns a field whose sealed files stay in another scope than that of the keys; nil: there is none.
        fileprivate func fieldLeftBehind(for keys: ZoneKeys) -> String? {
            guard let bytes = secrets.manifest, let form = try? RecordManifest(bytes), form.parts.keyID.scope != keys.newest.id.scope else {
                return nil
            }
            return form.parts.files.first { change.set[$0.name] == nil && !change.cleared.contains($0.name) }?.name
        }

        fileprivate mutating func put(_ sealed: SealedChange) {
            unsealed = change
            change.put(sealed, for: secrets)
        }

        /// Takes back all that was sealed, for another try.
        fileprivate mutating func unseal() {
            if let unsealed { change = unsealed }
            unsealed = nil
        }
    }

#endif

extension CKError {
    /// Whether nothing of a batch can be sent, because the server was not reached. Any other error about keys is that
    /// of the saves which need them.
    var endsSealing: Bool {
        code.endsOperation && code != .accountTemporarilyUnavailable && code != .internalError
    }
}
