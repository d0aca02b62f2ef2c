import NacreCloudWire
import NacreLocks

/// A page of the database's change feed.
struct SyncDatabasePage: Sendable {
    var modifications: [CKDatabase.DatabaseChange.Modification]
    var deletions: [CKDatabase.DatabaseChange.Deletion]
    var token: String
    var moreComing: Bool

    var isEmpty: Bool { modifications.isEmpty && deletions.isEmpty }
}

/// A page of a zone's change feed, in the feed's order.
struct SyncZonePage: Sendable {
    var modifications: [CKDatabase.RecordZoneChange.Modification] = []
    var deletions: [CKDatabase.RecordZoneChange.Deletion] = []
    /// Records that could not be fetched, with their errors.
    var failures: [CKRecord.ID: CKError] = [:]
    var token = ""
    var moreComing = false

    var isEmpty: Bool { modifications.isEmpty && deletions.isEmpty }
}

extension CKSyncEngine {
    /// Fetches the database's feed, then each zone that it names. A token is stored once the delegate has handled the
    /// changes before it.
    func fetch(_ context: FetchChangesContext, in run: SyncRun) async throws(CKError) {
        await keepSubscription(run)
        try await post(.willFetchChanges(Event.WillFetchChanges(context: context)))
        let result: Result<[AnyHashable: any Error], CKError>
        do throws(CKError) {
            try await fetchDatabase(context.options.operationGroup, in: run)
            result = .success(try await fetchZones(context, in: run))
        } catch {
            result = .failure(error)
        }
        try await post(.didFetchChanges(Event.DidFetchChanges(context: context)))
        if let error = CKError.partial("Failed to fetch some changes", of: try result.get()) { throw error }
    }

    // MARK: The database's feed

    private func fetchDatabase(_ group: CKOperationGroup, in run: SyncRun) async throws(CKError) {
        // Read from the beginning, the feed lists all existing zones. A known zone that is not listed is gone.
        var missing: Set<CKRecordZone.ID>?
        var hasBegunAgain = false
        while true {
            let token = state.held.withLock(\.databaseToken)
            if token == nil { missing = state.held.withLock { Set($0.zoneTokens.keys).union($0.unfetched) } }
            var page: SyncDatabasePage
            do throws(CKError) {
                page = try await databasePage(after: token, group, in: run)
            } catch {
                guard error.code == .changeTokenExpired, token != nil, !hasBegunAgain else { throw error }
                hasBegunAgain = true
                state.held.withLock { $0.databaseToken = nil }
                continue
            }
            guard !page.moreComing || page.token != token else { throw .unexpectedAnswer }
            missing?.subtract(page.modifications.map(\.zoneID))
            missing?.subtract(page.deletions.map(\.zoneID))
            if !page.moreComing, let missing {
                page.deletions += missing.sorted { $0.zoneName < $1.zoneName }.map { .init(zoneID: $0, reason: .deleted) }
            }
            if !page.isEmpty {
                try await post(.fetchedDatabaseChanges(Event.FetchedDatabaseChanges(modifications: page.modifications, deletions: page.deletions)))
            }
            let reached = page
            state.held.withLock { $0.took(reached) }
            try await postState()
            if !page.moreComing { return }
        }
    }

    private func databasePage(after token: String?, _ group: CKOperationGroup, in run: SyncRun) async throws(CKError) -> SyncDatabasePage {
        let database = database
        let results = try await run.call { () async throws(CKError) in
            try await SingleCall.result { done in
                let operation = database.prepare(
                    CKFetchDatabaseChangesOperation(previousServerChangeToken: token.map(CKServerChangeToken.init(wire:))))
                operation.fetchAllChanges = false
                operation.group = group
                operation.whenDone = done
                return operation
            }.get()
        }
        guard let end = results.end else { throw .unexpectedAnswer }
        return SyncDatabasePage(
            modifications: results.modifications, deletions: results.deletions, token: end.token.wire, moreComing: end.moreComing)
    }

    // MARK: The zones

    /// - Returns: the errors of zones or records that could not be fetched, by their IDs.
    private func fetchZones(_ context: FetchChangesContext, in run: SyncRun) async throws(CKError) -> [AnyHashable: any Error] {
        var done: Set<CKRecordZone.ID> = []
        var failures: [AnyHashable: any Error] = [:]
        while true {
            try run.check()
            guard state.held.withLock({ state in state.unfetched.contains { !done.contains($0) } }) else { return failures }
            let options = try await activity.insideDelegate { await $0.nextFetchChangesOptions(context, syncEngine: self) }
            guard let zoneID = state.held.withLock({ $0.nextZone(options, done: done) }) else { return failures }
            done.insert(zoneID)
            try await post(.willFetchRecordZoneChanges(Event.WillFetchRecordZoneChanges(zoneID: zoneID)))
            let error = await fetchZone(zoneID, options.operationGroup, in: run)
            try await post(.didFetchRecordZoneChanges(Event.DidFetchRecordZoneChanges(zoneID: zoneID, error: error)))
            guard let error else { continue }
            if error.code.endsOperation { throw error }
            failures[zoneID] = error
        }
    }

    /// Fetches a zone to its end. The next page is requested while the delegate handles this one.
    /// - Returns: the error if the zone failed; `partialFailure` if only single records did.
    private func fetchZone(_ zoneID: CKRecordZone.ID, _ group: CKOperationGroup, in run: SyncRun) async -> CKError? {
        var hasBegunAgain = false
        var failures: [CKRecord.ID: any Error] = [:]
        var token = state.held.withLock { $0.zoneTokens[zoneID] }
        var next = zonePage(of: zoneID, after: token, group, in: run)
        do throws(CKError) {
            while true {
                let answer = await next.value
                if case .failure(let error) = answer, error.code == .changeTokenExpired, token != nil, !hasBegunAgain {
                    (hasBegunAgain, token) = (true, nil)
                    next = zonePage(of: zoneID, after: nil, group, in: run)
                    if error.internalCode == InternalErrorCode.zoneNotFound { try await tellOfEnd(of: zoneID) }
                    continue
                }
                let page = try answer.get()
                // If a record's error may pass, the fetch stops before this page, so that the record is not skipped.
                if let passing = page.failures.values.first(where: { $0.leavesPending(endedAll: false) }) { throw passing }
                guard !page.moreComing || page.token != token else { throw .unexpectedAnswer }
                failures.merge(page.failures) { $1 }
                token = page.token
                if page.moreComing { next = zonePage(of: zoneID, after: token, group, in: run) }
                if !page.isEmpty {
                    try await post(
                        .fetchedRecordZoneChanges(Event.FetchedRecordZoneChanges(modifications: page.modifications, deletions: page.deletions)))
                }
                state.held.withLock { $0.took(page, of: zoneID) }
                try await postState()
                if !page.moreComing { return CKError.partial("Failed to fetch some records", of: failures) }
            }
        } catch {
            next.cancel()
            if error.code == .zoneNotFound || error.code == .userDeletedZone {
                // The database's feed reports that the zone is gone. The token stays until then: if the zone is made
                // again before, the feed reports the new one, and only the token shows that it is another one.
                state.held.withLock { state in
                    state.change { state in
                        state.noteFetched(zoneID)
                        return true
                    }
                }
            }
            return error
        }
    }

    /// Tells that the zone of this device's token was deleted, although the database has another zone of that name.
    private func tellOfEnd(of zoneID: CKRecordZone.ID) async throws(CKError) {
        try await post(.fetchedDatabaseChanges(Event.FetchedDatabaseChanges(modifications: [], deletions: [.init(zoneID: zoneID, reason: .deleted)])))
        state.held.withLock { state in
            state.change { state in
                state.zoneTokens[zoneID] = nil
                return true
            }
        }
        try await postState()
    }

    private func zonePage(
        of zoneID: CKRecordZone.ID, after token: String?, _ group: CKOperationGroup, in run: SyncRun
    ) -> Task<Result<SyncZonePage, CKError>, Never> {
        let database = database
        return Task {
            let found = Locked(SyncZonePage())
            let zoneError = Locked<CKError?>(nil)
            let error = await run.perform { done in
                let configuration = CKFetchRecordZoneChangesOperation.ZoneConfiguration(
                    previousServerChangeToken: token.map(CKServerChangeToken.init(wire:)))
                let operation = database.prepare(
                    CKFetchRecordZoneChangesOperation(recordZoneIDs: [zoneID], configurationsByRecordZoneID: [zoneID: configuration]))
                operation.fetchAllChanges = false
                operation.group = group
                operation.recordWasChangedBlock = { recordID, result in
                    switch result {
                    case .success(let record): found.withLock { $0.modifications.append(.init(record: record)) }
                    case .failure(let error): found.withLock { $0.failures[recordID] = error as? CKError ?? .unexpectedAnswer }
                    }
                }
                operation.recordWithIDWasDeletedBlock = { recordID, recordType in
                    found.withLock { $0.deletions.append(.init(recordID: recordID, recordType: recordType)) }
                }
                operation.recordZoneFetchResultBlock = { _, result in
                    switch result {
                    case .success(let end): found.withLock { ($0.token, $0.moreComing) = (end.serverChangeToken.wire, end.moreComing) }
                    case .failure(let error): zoneError.withLock { $0 = error as? CKError ?? .unexpectedAnswer }
                    }
                }
                operation.fetchRecordZoneChangesResultBlock = { done($0.error.map { $0 as? CKError ?? .unexpectedAnswer }) }
                return operation
            }
            if let error = error ?? zoneError.withLock({ $0 }) { return .failure(error) }
            return .success(found.withLock { $0 })
        }
    }

    // MARK: The subscription

    /// Keeps a database subscription, through which the server notifies devices of changes. If it cannot be made now,
    /// the next fetch tries again.
    private func keepSubscription(_ run: SyncRun) async {
        guard !state.held.withLock(\.hasSubscription) else { return }
        let wanted = activity.subscriptionID
        let database = database
        let isThere = try? await run.call { () async throws(CKError) in
            guard let all = try? await database.allSubscriptions() else { return false }
            // A user has one subscription to all changes of a database: the server refuses another.
            let watching = all.compactMap { $0 as? CKDatabaseSubscription }
            if watching.contains(where: { $0.recordType == nil }) { return true }
            let subscription = CKDatabaseSubscription(subscriptionID: wanted ?? "CKSyncEngine-\(database.databaseScope.wire)")
            subscription.notificationInfo = CKSubscription.NotificationInfo(shouldSendContentAvailable: true)
            return (try? await database.save(subscription)) != nil
        }
        if isThere ?? false { state.held.withLock { $0.hasSubscription = true } }
    }
}
