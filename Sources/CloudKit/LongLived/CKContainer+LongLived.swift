extension CKContainer {
    /// The IDs of this container's long-lived operations that have not been told to their end, in the order in which they were added. Apple: iOS 9.3.
    ///
    /// Ask at launch. On this server: those of the same server, environment and account. One that has ended is kept for 24 hours.
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

    /// The same. Apple: iOS 15.
    public func allLongLivedOperationIDs() async throws -> [CKOperation.ID] {
        try await longLivedOperationIDs()
    }

    /// A long-lived operation from before, without its blocks: set these, and add it to this container. What it came to is told from the beginning, and nothing
    /// that was done is sent again. nil for one that has ended and was told, was cancelled, or is not this container's. Apple: iOS 9.3.
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

    /// The same. Apple: iOS 15.
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
