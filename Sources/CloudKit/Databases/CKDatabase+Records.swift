extension CKDatabase {
    private typealias ModifyResults = CKModifyRecordsOperation.Results

    // MARK: One record

    /// Fetches a record; `unknownItem` if it does not exist.
    @preconcurrency
    public func fetch(withRecordID recordID: CKRecord.ID, completionHandler: @escaping @Sendable (CKRecord?, (any Error)?) -> Void) {
        fetching([recordID], nil) { result in
            let item = Self.only(recordID, of: result)
            completionHandler(item.value, item.error)
        }.start()
    }

    /// Fetches a record; throws `unknownItem` if it does not exist.
    public func record(for recordID: CKRecord.ID) async throws -> CKRecord {
        try Self.only(recordID, of: await SingleCall.result { fetching([recordID], nil, $0) }).get()
    }

    /// Saves a record if it is new to the server, or unchanged there since it was fetched; otherwise
    /// `serverRecordChanged`.
    ///
    /// Calls back with the server's version as a new instance; see `CKModifyRecordsOperation` on the instance passed
    /// in.
    @preconcurrency
    public func save(_ record: CKRecord, completionHandler: @escaping @Sendable (CKRecord?, (any Error)?) -> Void) {
        modifying([record], [], .ifServerRecordUnchanged, true) { result in
            let item = Self.only(record.recordID, of: result.map(\.saves))
            completionHandler(item.value, item.error)
        }.start()
    }

    /// Saves a record if it is new to the server, or unchanged there since it was fetched; otherwise throws
    /// `serverRecordChanged`.
    ///
    /// Returns the server's version as a new instance; see `CKModifyRecordsOperation` on the instance passed in.
    @discardableResult
    public func save(_ record: CKRecord) async throws -> CKRecord {
        let result = await SingleCall.result { modifying([record], [], .ifServerRecordUnchanged, true, $0) }
        return try Self.only(record.recordID, of: result.map(\.saves)).get()
    }

    /// Deletes a record, whatever version the server has. Deleting a missing record succeeds.
    @preconcurrency
    public func delete(withRecordID recordID: CKRecord.ID, completionHandler: @escaping @Sendable (CKRecord.ID?, (any Error)?) -> Void) {
        modifying([], [recordID], .ifServerRecordUnchanged, true) { result in
            let item = Self.only(recordID, of: result.map(\.deletions))
            completionHandler(item.error == nil ? recordID : nil, item.error)
        }.start()
    }

    /// Deletes a record, whatever version the server has. Deleting a missing record succeeds.
    @discardableResult
    public func deleteRecord(withID recordID: CKRecord.ID) async throws -> CKRecord.ID {
        let result = await SingleCall.result { modifying([], [recordID], .ifServerRecordUnchanged, true, $0) }
        try Self.only(recordID, of: result.map(\.deletions)).get()
        return recordID
    }

    // MARK: Several records

    /// Fetches records, with a result for each. `desiredKeys` is nil for all fields, empty for system fields alone.
    @preconcurrency
    public func fetch(
        withRecordIDs recordIDs: [CKRecord.ID], desiredKeys: [CKRecord.FieldKey]? = nil,
        completionHandler: @escaping @Sendable (Result<[CKRecord.ID: Result<CKRecord, any Error>], any Error>) -> Void
    ) {
        fetching(recordIDs, desiredKeys) { completionHandler($0.mapError { $0 as any Error }) }.start()
    }

    /// Fetches records, with a result for each. `desiredKeys` is nil for all fields, empty for system fields alone.
    public func records(
        for ids: [CKRecord.ID], desiredKeys: [CKRecord.FieldKey]? = nil
    ) async throws -> [CKRecord.ID: Result<CKRecord, any Error>] {
        try await SingleCall.result { fetching(ids, desiredKeys, $0) }.get()
    }

    /// Saves and deletes records; see `CKModifyRecordsOperation`.
    ///
    /// On this server an atomic zone that failed gives a result for each of its items, and no error of the whole.
    @preconcurrency
    public func modifyRecords(
        saving recordsToSave: [CKRecord], deleting recordIDsToDelete: [CKRecord.ID],
        savePolicy: CKModifyRecordsOperation.RecordSavePolicy = .ifServerRecordUnchanged, atomically: Bool = true,
        completionHandler:
            @escaping @Sendable (
                Result<
                    (saveResults: [CKRecord.ID: Result<CKRecord, any Error>], deleteResults: [CKRecord.ID: Result<Void, any Error>]), any Error
                >
            ) -> Void
    ) {
        modifying(recordsToSave, recordIDsToDelete, savePolicy, atomically) { result in
            completionHandler(result.map { ($0.saves, $0.deletions) }.mapError { $0 as any Error })
        }.start()
    }

    /// Saves and deletes records; see `CKModifyRecordsOperation`.
    ///
    /// On this server an atomic zone that failed gives a result for each of its items, and no error of the whole.
    public func modifyRecords(
        saving recordsToSave: [CKRecord], deleting recordIDsToDelete: [CKRecord.ID],
        savePolicy: CKModifyRecordsOperation.RecordSavePolicy = .ifServerRecordUnchanged, atomically: Bool = true
    ) async throws -> (saveResults: [CKRecord.ID: Result<CKRecord, any Error>], deleteResults: [CKRecord.ID: Result<Void, any Error>]) {
        let results = try await SingleCall.result { modifying(recordsToSave, recordIDsToDelete, savePolicy, atomically, $0) }.get()
        return (results.saves, results.deletions)
    }

    // MARK: The operations underneath

    private func fetching(
        _ recordIDs: [CKRecord.ID], _ desiredKeys: [CKRecord.FieldKey]?,
        _ done: @escaping @Sendable (Result<CKFetchRecordsOperation.Results, CKError>) -> Void
    ) -> CKOperation {
        let operation = prepare(CKFetchRecordsOperation(recordIDs: recordIDs))
        operation.desiredKeys = desiredKeys
        operation.whenDone = done
        return operation
    }

    private func modifying(
        _ records: [CKRecord], _ recordIDs: [CKRecord.ID], _ policy: CKModifyRecordsOperation.RecordSavePolicy, _ atomically: Bool,
        _ done: @escaping @Sendable (Result<ModifyResults, CKError>) -> Void
    ) -> CKOperation {
        let operation = prepare(CKModifyRecordsOperation(recordsToSave: records, recordIDsToDelete: recordIDs))
        operation.savePolicy = policy
        operation.isAtomic = atomically
        operation.whenDone = done
        return operation
    }

    /// Returns the result of the only item of a request.
    static func only<ItemID: Hashable, Value>(
        _ id: ItemID, of result: Result<[ItemID: Result<Value, any Error>], CKError>
    ) -> Result<Value, any Error> {
        switch result {
        case .success(let items): items[id] ?? .failure(CKError.unexpectedAnswer)
        case .failure(let error): .failure(error)
        }
    }
}
