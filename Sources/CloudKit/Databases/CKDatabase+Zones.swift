extension CKDatabase {
    // MARK: All zones

    /// Calls back with all zones, the default zone included.
    @preconcurrency
    public func fetchAllRecordZones(completionHandler: @escaping @Sendable ([CKRecordZone]?, (any Error)?) -> Void) {
        listing { result in
            switch result {
            case .success(let results): completionHandler(results.zones, nil)
            case .failure(let error): completionHandler(nil, error)
            }
        }.start()
    }

    /// Returns all zones, the default zone included.
    @discardableResult
    public func allRecordZones() async throws -> [CKRecordZone] {
        try await SingleCall.result { listing($0) }.get().zones
    }

    // MARK: One zone

    /// Fetches a zone; `zoneNotFound` if it does not exist.
    @preconcurrency
    public func fetch(withRecordZoneID zoneID: CKRecordZone.ID, completionHandler: @escaping @Sendable (CKRecordZone?, (any Error)?) -> Void) {
        fetching([zoneID]) { result in
            let item = Self.only(zoneID, of: result.map(\.byID))
            completionHandler(item.value, item.error)
        }.start()
    }

    /// Fetches a zone; throws `zoneNotFound` if it does not exist.
    public func recordZone(for zoneID: CKRecordZone.ID) async throws -> CKRecordZone {
        try Self.only(zoneID, of: await SingleCall.result { fetching([zoneID], $0) }.map(\.byID)).get()
    }

    /// Makes a zone; an existing one stays as it is.
    @preconcurrency
    public func save(_ zone: CKRecordZone, completionHandler: @escaping @Sendable (CKRecordZone?, (any Error)?) -> Void) {
        modifying([zone], []) { result in
            let item = Self.only(zone.zoneID, of: result.map(\.saves))
            completionHandler(item.value, item.error)
        }.start()
    }

    /// Makes a zone; an existing one stays as it is.
    @discardableResult
    public func save(_ zone: CKRecordZone) async throws -> CKRecordZone {
        try Self.only(zone.zoneID, of: await SingleCall.result { modifying([zone], [], $0) }.map(\.saves)).get()
    }

    /// Deletes a zone with everything in it.
    @preconcurrency
    public func delete(
        withRecordZoneID zoneID: CKRecordZone.ID, completionHandler: @escaping @Sendable (CKRecordZone.ID?, (any Error)?) -> Void
    ) {
        modifying([], [zoneID]) { result in
            let item = Self.only(zoneID, of: result.map(\.deletions))
            completionHandler(item.error == nil ? zoneID : nil, item.error)
        }.start()
    }

    /// Deletes a zone with everything in it.
    @discardableResult
    public func deleteRecordZone(withID zoneID: CKRecordZone.ID) async throws -> CKRecordZone.ID {
        try Self.only(zoneID, of: await SingleCall.result { modifying([], [zoneID], $0) }.map(\.deletions)).get()
        return zoneID
    }

    // MARK: Several zones

    /// Fetches zones, with a result for each.
    @preconcurrency
    public func fetch(
        withRecordZoneIDs zoneIDs: [CKRecordZone.ID],
        completionHandler: @escaping @Sendable (Result<[CKRecordZone.ID: Result<CKRecordZone, any Error>], any Error>) -> Void
    ) {
        fetching(zoneIDs) { completionHandler($0.map(\.byID).mapError { $0 as any Error }) }.start()
    }

    /// Fetches zones, with a result for each.
    public func recordZones(for ids: [CKRecordZone.ID]) async throws -> [CKRecordZone.ID: Result<CKRecordZone, any Error>] {
        try await SingleCall.result { fetching(ids, $0) }.get().byID
    }

    /// Saves and deletes zones, with a result for each.
    @preconcurrency
    public func modifyRecordZones(
        saving recordZonesToSave: [CKRecordZone], deleting recordZoneIDsToDelete: [CKRecordZone.ID],
        completionHandler:
            @escaping @Sendable (
                Result<
                    (
                        saveResults: [CKRecordZone.ID: Result<CKRecordZone, any Error>],
                        deleteResults: [CKRecordZone.ID: Result<Void, any Error>]
                    ), any Error
                >
            ) -> Void
    ) {
        modifying(recordZonesToSave, recordZoneIDsToDelete) { result in
            completionHandler(result.map { ($0.saves, $0.deletions) }.mapError { $0 as any Error })
        }.start()
    }

    /// Saves and deletes zones, with a result for each.
    public func modifyRecordZones(
        saving recordZonesToSave: [CKRecordZone], deleting recordZoneIDsToDelete: [CKRecordZone.ID]
    ) async throws -> (
        saveResults: [CKRecordZone.ID: Result<CKRecordZone, any Error>], deleteResults: [CKRecordZone.ID: Result<Void, any Error>]
    ) {
        let results = try await SingleCall.result { modifying(recordZonesToSave, recordZoneIDsToDelete, $0) }.get()
        return (results.saves, results.deletions)
    }

    // MARK: The operations underneath

    private typealias FetchDone = @Sendable (Result<CKFetchRecordZonesOperation.Results, CKError>) -> Void

    private func listing(_ done: @escaping FetchDone) -> CKOperation {
        let operation = prepare(CKFetchRecordZonesOperation.fetchAllRecordZonesOperation())
        operation.whenDone = done
        return operation
    }

    private func fetching(_ zoneIDs: [CKRecordZone.ID], _ done: @escaping FetchDone) -> CKOperation {
        let operation = prepare(CKFetchRecordZonesOperation(recordZoneIDs: zoneIDs))
        operation.whenDone = done
        return operation
    }

    private func modifying(
        _ zones: [CKRecordZone], _ zoneIDs: [CKRecordZone.ID],
        _ done: @escaping @Sendable (Result<CKModifyRecordZonesOperation.Results, CKError>) -> Void
    ) -> CKOperation {
        let operation = prepare(CKModifyRecordZonesOperation(recordZonesToSave: zones, recordZoneIDsToDelete: zoneIDs))
        operation.whenDone = done
        return operation
    }
}
