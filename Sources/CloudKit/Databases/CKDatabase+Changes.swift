extension CKDatabase {
    private typealias DatabaseResults = CKFetchDatabaseChangesOperation.Results
    private typealias ZoneResults = CKFetchRecordZoneChangesOperation.Results

    /// Calls back with one batch of changed and deleted zones; call again with the token while `moreComing`.
    @preconcurrency
    public func fetchDatabaseChanges(
        since changeToken: CKServerChangeToken?, resultsLimit: Int? = nil,
        completionHandler:
            @escaping @Sendable (
                Result<
                    (
                        modifications: [CKDatabase.DatabaseChange.Modification], deletions: [CKDatabase.DatabaseChange.Deletion],
                        changeToken: CKServerChangeToken, moreComing: Bool
                    ), any Error
                >
            ) -> Void
    ) {
        databaseChanging(changeToken, resultsLimit) { result in
            completionHandler(Result { try Self.changes(result) })
        }.start()
    }

    /// Returns one batch of changed and deleted zones; call again with the token while `moreComing`.
    public func databaseChanges(
        since changeToken: CKServerChangeToken?, resultsLimit: Int? = nil
    ) async throws -> (
        modifications: [CKDatabase.DatabaseChange.Modification], deletions: [CKDatabase.DatabaseChange.Deletion],
        changeToken: CKServerChangeToken, moreComing: Bool
    ) {
        try Self.changes(await SingleCall.result { databaseChanging(changeToken, resultsLimit, $0) })
    }

    /// Calls back with one batch of a zone's changed and deleted records; call again with the token while `moreComing`.
    @preconcurrency
    public func fetchRecordZoneChanges(
        inZoneWith zoneID: CKRecordZone.ID, since changeToken: CKServerChangeToken?, desiredKeys: [CKRecord.FieldKey]? = nil,
        resultsLimit: Int? = nil,
        completionHandler:
            @escaping @Sendable (
                Result<
                    (
                        modificationResultsByID: [CKRecord.ID: Result<CKDatabase.RecordZoneChange.Modification, any Error>],
                        deletions: [CKDatabase.RecordZoneChange.Deletion], changeToken: CKServerChangeToken, moreComing: Bool
                    ), any Error
                >
            ) -> Void
    ) {
        zoneChanging(zoneID, changeToken, desiredKeys, resultsLimit) { result in
            completionHandler(Result { try Self.changes(zoneID, result) })
        }.start()
    }

    /// Returns one batch of a zone's changed and deleted records; call again with the token while `moreComing`.
    public func recordZoneChanges(
        inZoneWith zoneID: CKRecordZone.ID, since changeToken: CKServerChangeToken?, desiredKeys: [CKRecord.FieldKey]? = nil,
        resultsLimit: Int? = nil
    ) async throws -> (
        modificationResultsByID: [CKRecord.ID: Result<CKDatabase.RecordZoneChange.Modification, any Error>],
        deletions: [CKDatabase.RecordZoneChange.Deletion], changeToken: CKServerChangeToken, moreComing: Bool
    ) {
        try Self.changes(zoneID, await SingleCall.result { zoneChanging(zoneID, changeToken, desiredKeys, resultsLimit, $0) })
    }

    // MARK: The operations underneath

    private func databaseChanging(
        _ token: CKServerChangeToken?, _ limit: Int?, _ done: @escaping @Sendable (Result<DatabaseResults, CKError>) -> Void
    ) -> CKOperation {
        let operation = prepare(CKFetchDatabaseChangesOperation(previousServerChangeToken: token))
        operation.resultsLimit = limit ?? 0
        operation.fetchAllChanges = false
        operation.whenDone = done
        return operation
    }

    private func zoneChanging(
        _ zoneID: CKRecordZone.ID, _ token: CKServerChangeToken?, _ desiredKeys: [CKRecord.FieldKey]?, _ limit: Int?,
        _ done: @escaping @Sendable (Result<ZoneResults, CKError>) -> Void
    ) -> CKOperation {
        let configuration = CKFetchRecordZoneChangesOperation.ZoneConfiguration(
            previousServerChangeToken: token, resultsLimit: limit, desiredKeys: desiredKeys)
        let operation = prepare(
            CKFetchRecordZoneChangesOperation(recordZoneIDs: [zoneID], configurationsByRecordZoneID: [zoneID: configuration]))
        operation.fetchAllChanges = false
        operation.whenDone = done
        return operation
    }

    private static func changes(
        _ result: Result<DatabaseResults, CKError>
    ) throws -> (
        modifications: [CKDatabase.DatabaseChange.Modification], deletions: [CKDatabase.DatabaseChange.Deletion],
        changeToken: CKServerChangeToken, moreComing: Bool
    ) {
        let results = try result.get()
        guard let end = results.end else { throw CKError.unexpectedAnswer }
        return (results.modifications, results.deletions, end.token, end.moreComing)
    }

    private static func changes(
        _ zoneID: CKRecordZone.ID, _ result: Result<ZoneResults, CKError>
    ) throws -> (
        modificationResultsByID: [CKRecord.ID: Result<CKDatabase.RecordZoneChange.Modification, any Error>],
        deletions: [CKDatabase.RecordZoneChange.Deletion], changeToken: CKServerChangeToken, moreComing: Bool
    ) {
        let results = try result.get()
        let end = try only(zoneID, of: .success(results.ends)).get()
        return (results.modifications, results.deletions, end.serverChangeToken, end.moreComing)
    }
}
