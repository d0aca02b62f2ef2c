import NacreCloudWire
import NacreLocks

/// The results of a batch of records, in its order.
struct SentBatch: Sendable {
    var saved: [CKRecord] = []
    var failedSaves: [CKSyncEngine.Event.SentRecordZoneChanges.FailedRecordSave] = []
    var deleted: [CKRecord.ID] = []
    var failedDeletes: [CKRecord.ID: CKError] = [:]
    /// The error that ended the request as a whole.
    var error: CKError?

    var failures: [(change: CKSyncEngine.PendingRecordZoneChange, error: CKError)] {
        failedSaves.map { (.saveRecord($0.record.recordID), $0.error) } + failedDeletes.map { (.deleteRecord($0.key), $0.value) }
    }

    mutating func add(_ other: SentBatch) {
        saved += other.saved
        failedSaves += other.failedSaves
        deleted += other.deleted
        failedDeletes.merge(other.failedDeletes) { $1 }
        error = error ?? other.error
    }

    /// - Parameter error: the error of items without a result of their own.
    init(
        _ batch: CKSyncEngine.RecordZoneChangeBatch, saves: [CKRecord.ID: Result<CKRecord, any Error>] = [:],
        deletions: [CKRecord.ID: Result<Void, any Error>] = [:], error: CKError?
    ) {
        for record in batch.recordsToSave {
            switch saves[record.recordID] ?? .failure(error ?? .unexpectedAnswer) {
            case .success(let saved): self.saved.append(saved)
            case .failure(let error): failedSaves.append(.init(record: record, error: error as? CKError ?? .unexpectedAnswer))
            }
        }
        for recordID in batch.recordIDsToDelete {
            switch deletions[recordID] ?? .failure(error ?? .unexpectedAnswer) {
            case .success: deleted.append(recordID)
            case .failure(let error): failedDeletes[recordID] = error as? CKError ?? .unexpectedAnswer
            }
        }
        self.error = error
    }
}

/// The failures of a send, and what it leaves to the next send: the failed items, and everything that was added while
/// the delegate handled a failure. A delegate that adds failed changes again therefore never makes a send endless.
private struct SendFailures {
    var errors: [AnyHashable: any Error] = [:]
    var laterZones: Set<CKRecordZone.ID> = []
    var laterRecords: Set<CKRecord.ID> = []
    /// Records that were left out of a batch of which nothing was left.
    private var leftOut: Set<CKRecord.ID> = []

    /// Notes that nothing is left of a batch.
    /// - Returns: whether the delegate is asked for another one. A delegate that gives the same records again ends the
    ///   send.
    mutating func leaveOut(_ batch: CKSyncEngine.RecordZoneChangeBatch) -> Bool {
        let before = leftOut.count
        leftOut.formUnion(batch.recordIDs.lazy.filter(laterRecords.contains))
        return leftOut.count > before
    }
}

extension CKSyncEngine {
    /// Sends zones before records, also when the delegate adds zones between batches.
    func send(_ context: SendChangesContext, in run: SyncRun) async throws(CKError) {
        try await post(.willSendChanges(Event.WillSendChanges(context: context)))
        var failures = SendFailures()
        var end: CKError?
        do throws(CKError) {
            while true {
                try run.check()
                if try await sendZones(context, &failures, in: run) { continue }
                let serial = state.held.withLock(\.records.serial)
                let asked = try await activity.insideDelegate { await $0.nextRecordZoneChangeBatch(context, syncEngine: self) }
                if let batch = asked?.without(failures.laterRecords), batch.count > 0 {
                    try await sendRecords(batch, addedUpTo: serial, context, &failures, in: run)
                    continue
                }
                if let asked, failures.leaveOut(asked) { continue }
                if zonesToSend(context.options.scope, failures).isEmpty { break }
            }
        } catch {
            end = error
        }
        try await post(.didSendChanges(Event.DidSendChanges(context: context)))
        if let error = end ?? CKError.partial("Failed to send some changes", of: failures.errors) { throw error }
    }

    /// Posts the results of a batch. If something failed, everything that is added meanwhile is for the next send.
    private func post(_ results: Event, hasFailures: Bool, _ failures: inout SendFailures) async throws(CKError) {
        let (zones, records) = state.held.withLock { ($0.zones.serial, $0.records.serial) }
        try await post(results)
        guard hasFailures else { return }
        let added = state.held.withLock { ($0.zones.itemIDs(addedAfter: zones), $0.records.itemIDs(addedAfter: records)) }
        failures.laterZones.formUnion(added.0)
        failures.laterRecords.formUnion(added.1)
    }

    // MARK: Zones

    private func zonesToSend(_ scope: SendChangesOptions.Scope, _ failures: SendFailures) -> [PendingDatabaseChange] {
        state.held.withLock(\.zones.changes).filter { scope.containsZone($0.itemID) && !failures.laterZones.contains($0.itemID) }
    }

    /// Sends one batch of zones.
    /// - Returns: false if there was none to send.
    private func sendZones(_ context: SendChangesContext, _ failures: inout SendFailures, in run: SyncRun) async throws(CKError) -> Bool {
        let serial = state.held.withLock(\.zones.serial)
        let changes = zonesToSend(context.options.scope, failures).prefix(Limits.zonesPerRequest)
        guard !changes.isEmpty else { return false }
        let zones: [CKRecordZone] = changes.compactMap { if case .saveZone(let zone) = $0 { zone } else { nil } }
        let zoneIDs: [CKRecordZone.ID] = changes.compactMap { if case .deleteZone(let zoneID) = $0 { zoneID } else { nil } }
        let (results, ending) = await askToModify(zones, zoneIDs, context.options.operationGroup, in: run)

        var saved: [CKRecordZone] = []
        var failedSaves: [Event.SentDatabaseChanges.FailedZoneSave] = []
        var deleted: [CKRecordZone.ID] = []
        var failedDeletes: [CKRecordZone.ID: CKError] = [:]
        for zone in zones {
            switch results.saves[zone.zoneID] ?? .failure(ending ?? .unexpectedAnswer) {
            case .success(let zone): saved.append(zone)
            case .failure(let error): failedSaves.append(.init(zone: zone, error: error as? CKError ?? .unexpectedAnswer))
            }
        }
        for zoneID in zoneIDs {
            switch results.deletions[zoneID] ?? .failure(ending ?? .unexpectedAnswer) {
            case .success: deleted.append(zoneID)
            case .failure(let error): failedDeletes[zoneID] = error as? CKError ?? .unexpectedAnswer
            }
        }
        let errors = Dictionary(failedSaves.map { ($0.zone.zoneID, $0.error) }) { $1 }.merging(failedDeletes) { $1 }
        state.held.withLock { state in
            state.change { state in
                // A zone that is made again later begins without what was known of this one.
                for zoneID in deleted { state.forgetZone(zoneID) }
                return changes.reduce(!deleted.isEmpty) { isChanged, change in
                    if errors[change.itemID]?.leavesPending(endedAll: ending != nil) ?? false { return isChanged }
                    return state.zones.remove(change, addedUpTo: serial) || isChanged
                }
            }
        }
        if !saved.isEmpty || !deleted.isEmpty { run.noteSuccess() }
        for (zoneID, error) in errors { failures.errors[zoneID] = error }
        failures.laterZones.formUnion(errors.keys)
        try await post(
            .sentDatabaseChanges(
                Event.SentDatabaseChanges(
                    savedZones: saved, failedZoneSaves: failedSaves, deletedZoneIDs: deleted, failedZoneDeletes: failedDeletes)),
            hasFailures: !errors.isEmpty, &failures)
        try await postState()
        try Self.goOn(after: Array(errors.values), ending, failures.errors)
        return true
    }

    private func askToModify(
        _ zones: [CKRecordZone], _ zoneIDs: [CKRecordZone.ID], _ group: CKOperationGroup, in run: SyncRun
    ) async -> (CKModifyRecordZonesOperation.Results, CKError?) {
        let database = database
        let found = Locked(CKModifyRecordZonesOperation.Results())
        let error = await run.perform { done in
            let operation = database.prepare(CKModifyRecordZonesOperation(recordZonesToSave: zones, recordZoneIDsToDelete: zoneIDs))
            operation.group = group
            operation.perRecordZoneSaveBlock = { zoneID, result in found.withLock { $0.add(zoneID, saved: result) } }
            operation.perRecordZoneDeleteBlock = { zoneID, result in found.withLock { $0.add(zoneID, deleted: result) } }
            operation.modifyRecordZonesResultBlock = { done($0.error.map { $0 as? CKError ?? .unexpectedAnswer }) }
            return operation
        }
        return (found.withLock { $0 }, error)
    }

    /// - Throws: when an error may pass or would come again at once: the remaining changes are not sent now.
    private static func goOn(after errors: [CKError], _ ending: CKError?, _ failures: [AnyHashable: any Error]) throws(CKError) {
        if let ending, ending.code.endsOperation || ending.mayPass { throw ending }
        if errors.contains(where: { $0.leavesPending(endedAll: false) }), let error = CKError.partial("Failed to send some changes", of: failures) {
            throw error
        }
    }

    // MARK: Records

    /// Sends one batch of records.
    /// - Parameter last: the serial of the list at the start. Changes that were added later stay pending, whatever the
    ///   batch's results.
    private func sendRecords(
        _ batch: RecordZoneChangeBatch, addedUpTo last: Int, _ context: SendChangesContext, _ failures: inout SendFailures, in run: SyncRun
    ) async throws(CKError) {
        guard batch.recordIDs.allSatisfy({ context.options.scope.contains($0) }) else {
            throw CKError(
                .invalidArguments, text: "The batch has a record that is not in the scope of this send", internalCode: 1017,
                details: [.field: "context.options.scope", .remedy: "Leave out of the batch what context.options.scope does not contain"])
        }
        let sent: SentBatch
        do throws(CKError) {
            try await beginFollowing(Set(batch.recordIDs.map(\.zoneID)), context.options.operationGroup, in: run)
            sent = await self.sent(batch, context.options.operationGroup, in: run)
        } catch {
            sent = SentBatch(batch, error: error)
        }
        let failed = sent.failures
        state.held.withLock { state in
            state.change { state in
                var isChanged = false
                for record in sent.saved { isChanged = state.records.remove(.saveRecord(record.recordID), addedUpTo: last) || isChanged }
                for recordID in sent.deleted { isChanged = state.records.remove(.deleteRecord(recordID), addedUpTo: last) || isChanged }
                for (change, error) in failed where !error.leavesPending(endedAll: sent.error != nil) {
                    isChanged = state.records.remove(change, addedUpTo: last) || isChanged
                }
                return isChanged
            }
        }
        if !sent.saved.isEmpty || !sent.deleted.isEmpty { run.noteSuccess() }
        for (change, error) in failed { failures.errors[change.itemID] = error }
        failures.laterRecords.formUnion(failed.map(\.change.itemID))
        try await post(
            .sentRecordZoneChanges(
                Event.SentRecordZoneChanges(
                    savedRecords: sent.saved, failedRecordSaves: sent.failedSaves, deletedRecordIDs: sent.deleted,
                    failedRecordDeletes: sent.failedDeletes)),
            hasFailures: !failed.isEmpty, &failures)
        try await postState()
        try Self.goOn(after: failed.map(\.error), sent.error, failures.errors)
    }

    /// Takes a token of each zone that has none, before anything is sent into the zone. From that token on, the feed
    /// reports deletions, also of records that are sent now. The first fetch begins at the token and brings everything
    /// in the zone.
    ///
    /// - Throws: an error that stops all sending. The error of a single zone shows up in the send itself.
    private func beginFollowing(_ zoneIDs: Set<CKRecordZone.ID>, _ group: CKOperationGroup, in run: SyncRun) async throws(CKError) {
        let unfollowed = state.held.withLock { state in
            zoneIDs.filter { state.zoneTokens[$0] == nil && $0.zoneName != CKRecordZone.ID.defaultZoneName }
        }
        guard !unfollowed.isEmpty else { return }
        let database = database
        let found = Locked<[CKRecordZone.ID: String]>([:])
        let error = await run.perform { done in
            let operation = database.prepare(CKFetchRecordZoneChangesOperation(recordZoneIDs: unfollowed.sorted { $0.zoneName < $1.zoneName }))
            operation.wantsTokenOnly = true
            operation.fetchAllChanges = false
            operation.group = group
            operation.recordZoneFetchResultBlock = { zoneID, result in
                if case .success(let end) = result { found.withLock { $0[zoneID] = end.serverChangeToken.wire } }
            }
            operation.fetchRecordZoneChangesResultBlock = { done($0.error.map { $0 as? CKError ?? .unexpectedAnswer }) }
            return operation
        }
        if let error { throw error }
        let tokens = found.withLock { $0 }
        state.held.withLock { state in
            state.change { state in
                state.zoneTokens.merge(tokens) { $1 }
                return !tokens.isEmpty
            }
        }
    }

    /// Sends a batch, in parts if it is too large for one request.
    private func sent(_ batch: RecordZoneChangeBatch, _ group: CKOperationGroup, in run: SyncRun) async -> SentBatch {
        let database = database
        let found = Locked(CKModifyRecordsOperation.Results())
        let error = await run.perform { done in
            let operation = database.prepare(
                CKModifyRecordsOperation(recordsToSave: batch.recordsToSave, recordIDsToDelete: batch.recordIDsToDelete))
            operation.isAtomic = batch.atomicByZone
            operation.isPart = true
            operation.group = group
            operation.perRecordSaveBlock = { recordID, result in found.withLock { $0.add(recordID, saved: result) } }
            operation.perRecordDeleteBlock = { recordID, result in found.withLock { $0.add(recordID, deleted: result) } }
            operation.modifyRecordsResultBlock = { done($0.error.map { $0 as? CKError ?? .unexpectedAnswer }) }
            return operation
        }
        let results = found.withLock { $0 }
        guard error?.code == .limitExceeded, results.saves.isEmpty, results.deletions.isEmpty, let parts = batch.parts else {
            return SentBatch(batch, saves: results.saves, deletions: results.deletions, error: error)
        }
        var sent = SentBatch(RecordZoneChangeBatch(), error: nil)
        for part in parts {
            if let end = sent.error, end.code.endsOperation {
                sent.add(SentBatch(part, error: end))
            } else {
                sent.add(await self.sent(part, group, in: run))
            }
        }
        return sent
    }
}
