extension CKContainer {
    /// Calls back with the IDs of this container's long-lived operations whose end was not reported, in the order in
    /// which they were added. Apple: iOS 9.3.
    ///
    /// Call it at launch. On this server: operations of the same server, environment and account. An ended operation is
    /// kept for 24 hours.
    @preconcurrency
    public func fetchAllLongLivedOperationIDs(completionHandler: @escaping @Sendable ([CKOperation.ID]?, (any Error)?) -> Void) {
        Task {
            do throws(CKError) {
                completionHandler(try await longLivedOperationIDs(), nil)
            } catch {
                completionHandler(nil, error)
            }
        }
    }

    /// Returns the IDs of this container's long-lived operations, as `fetchAllLongLivedOperationIDs` does. Apple: iOS
    /// 15.
    public func allLongLivedOperationIDs() async throws -> [CKOperation.ID] {
        try await longLivedOperationIDs()
    }

    /// Calls back with a kept long-lived operation. It has no blocks: set them, and add it to this container. All its
    /// results are reported from the beginning, without repeating requests. nil if it was reported to its end or
    /// cancelled, or is not this container's. Apple: iOS 9.3.
    @preconcurrency
    public func fetchLongLivedOperation(
        withID operationID: CKOperation.ID, completionHandler: @escaping @Sendable (CKOperation?, (any Error)?) -> Void
    ) {
        Task {
            do throws(CKError) {
                completionHandler(try await keptOperation(operationID), nil)
            } catch {
                completionHandler(nil, error)
            }
        }
    }

    /// Returns a kept long-lived operation, as `fetchLongLivedOperation` does. Apple: iOS 15.
    public func longLivedOperation(for operationID: CKOperation.ID) async throws -> CKOperation? {
        try await keptOperation(operationID)
    }

    private func longLivedOperationIDs() async throws(CKError) -> [CKOperation.ID] {
        let settings = try line.settings()
        guard let operations = line.longLived else { return [] }
        return await FileWork.run {
            operations.sweep()
            return operations.all().filter { $0.kept.belongs(to: settings) }.map(\.kept.operationID)
        }
    }

    private func keptOperation(_ operationID: CKOperation.ID) async throws(CKError) -> CKOperation? {
        let settings = try line.settings()
        guard let operations = line.longLived, let (folder, kept) = await FileWork.run({ operations.find(operationID) }), kept.belongs(to: settings),
            let operation = kept.operation(on: self)
        else { return nil }
        operation.find(folder, kept)
        return operation
    }
}
