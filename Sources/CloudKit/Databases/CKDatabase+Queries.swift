extension CKDatabase {
    private typealias QueryResults = CKQueryOperation.Results
    private typealias Page = (matchResults: [(CKRecord.ID, Result<CKRecord, any Error>)], queryCursor: CKQueryOperation.Cursor?)

    // MARK: Pages

    /// Calls back with a page of the matching records, in the query's order; see `CKQueryOperation`.
    @preconcurrency
    public func fetch(
        withQuery query: CKQuery, inZoneWith zoneID: CKRecordZone.ID? = nil, desiredKeys: [CKRecord.FieldKey]? = nil,
        resultsLimit: Int = CKQueryOperation.maximumResults,
        completionHandler:
            @escaping @Sendable (
                Result<
                    (matchResults: [(CKRecord.ID, Result<CKRecord, any Error>)], queryCursor: CKQueryOperation.Cursor?), any Error
                >
            ) -> Void
    ) {
        page(of: CKQueryOperation(query: query), zoneID, desiredKeys, resultsLimit, completionHandler)
    }

    /// Calls back with the page after the one that ended at the cursor.
    @preconcurrency
    public func fetch(
        withCursor queryCursor: CKQueryOperation.Cursor, desiredKeys: [CKRecord.FieldKey]? = nil,
        resultsLimit: Int = CKQueryOperation.maximumResults,
        completionHandler:
            @escaping @Sendable (
                Result<
                    (matchResults: [(CKRecord.ID, Result<CKRecord, any Error>)], queryCursor: CKQueryOperation.Cursor?), any Error
                >
            ) -> Void
    ) {
        page(of: CKQueryOperation(cursor: queryCursor), nil, desiredKeys, resultsLimit, completionHandler)
    }

    /// Returns a page of the matching records, in the query's order; see `CKQueryOperation`.
    public func records(
        matching query: CKQuery, inZoneWith zoneID: CKRecordZone.ID? = nil, desiredKeys: [CKRecord.FieldKey]? = nil,
        resultsLimit: Int = CKQueryOperation.maximumResults
    ) async throws -> (matchResults: [(CKRecord.ID, Result<CKRecord, any Error>)], queryCursor: CKQueryOperation.Cursor?) {
        try await page(of: CKQueryOperation(query: query), zoneID, desiredKeys, resultsLimit)
    }

    /// Returns the page after the one that ended at the cursor.
    public func records(
        continuingMatchFrom queryCursor: CKQueryOperation.Cursor, desiredKeys: [CKRecord.FieldKey]? = nil,
        resultsLimit: Int = CKQueryOperation.maximumResults
    ) async throws -> (matchResults: [(CKRecord.ID, Result<CKRecord, any Error>)], queryCursor: CKQueryOperation.Cursor?) {
        try await page(of: CKQueryOperation(cursor: queryCursor), nil, desiredKeys, resultsLimit)
    }

    // MARK: The first page alone

    /// Calls back with the first page alone, for which reason Apple deprecated it in iOS 15.
    @preconcurrency
    public func perform(
        _ query: CKQuery, inZoneWith zoneID: CKRecordZone.ID?, completionHandler: @escaping @Sendable ([CKRecord]?, (any Error)?) -> Void
    ) {
        querying(CKQueryOperation(query: query), zoneID, nil, CKQueryOperation.maximumResults) { result in
            let records = Result { try Self.records(result) }
            completionHandler(records.value, records.error)
        }.start()
    }

    /// Returns the first page alone, for which reason Apple deprecated it in iOS 15.
    public func perform(_ query: CKQuery, inZoneWith zoneID: CKRecordZone.ID?) async throws -> [CKRecord] {
        try Self.records(
            await SingleCall.result { querying(CKQueryOperation(query: query), zoneID, nil, CKQueryOperation.maximumResults, $0) })
    }

    /// Returns the first page alone, for which reason Apple deprecated it in iOS 15.
    @_disfavoredOverload
    public func records(matching query: CKQuery, inZoneWith zoneID: CKRecordZone.ID?) async throws -> [CKRecord] {
        try await perform(query, inZoneWith: zoneID)
    }

    // MARK: The operation underneath

    private func querying(
        _ operation: CKQueryOperation, _ zoneID: CKRecordZone.ID?, _ desiredKeys: [CKRecord.FieldKey]?, _ limit: Int,
        _ done: @escaping @Sendable (Result<QueryResults, CKError>) -> Void
    ) -> CKOperation {
        let operation = prepare(operation)
        operation.zoneID = zoneID
        operation.desiredKeys = desiredKeys
        operation.resultsLimit = limit
        operation.whenDone = done
        return operation
    }

    private func page(
        of operation: CKQueryOperation, _ zoneID: CKRecordZone.ID?, _ desiredKeys: [CKRecord.FieldKey]?, _ limit: Int,
        _ completionHandler: @escaping @Sendable (Result<Page, any Error>) -> Void
    ) {
        querying(operation, zoneID, desiredKeys, limit) { result in
            completionHandler(result.map { ($0.matches, $0.cursor) }.mapError { $0 as any Error })
        }.start()
    }

    private func page(
        of operation: CKQueryOperation, _ zoneID: CKRecordZone.ID?, _ desiredKeys: [CKRecord.FieldKey]?, _ limit: Int
    ) async throws -> Page {
        let results = try await SingleCall.result { querying(operation, zoneID, desiredKeys, limit, $0) }.get()
        return (results.matches, results.cursor)
    }

    private static func records(_ result: Result<QueryResults, CKError>) throws -> [CKRecord] {
        try result.get().matches.map { try $0.1.get() }
    }
}
