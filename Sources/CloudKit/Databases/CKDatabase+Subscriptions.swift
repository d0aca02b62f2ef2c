extension CKDatabase {
    // MARK: All subscriptions

    /// Calls back with the user's subscriptions of this database.
    @preconcurrency
    public func fetchAllSubscriptions(completionHandler: @escaping @Sendable ([CKSubscription]?, (any Error)?) -> Void) {
        listing { result in
            switch result {
            case .success(let results): completionHandler(results.subscriptions, nil)
            case .failure(let error): completionHandler(nil, error)
            }
        }.start()
    }

    /// Returns the user's subscriptions of this database.
    @discardableResult
    public func allSubscriptions() async throws -> [CKSubscription] {
        try await SingleCall.result { listing($0) }.get().subscriptions
    }

    // MARK: One subscription

    /// Fetches a subscription; `unknownItem` if it does not exist.
    @preconcurrency
    public func fetch(
        withSubscriptionID subscriptionID: CKSubscription.ID, completionHandler: @escaping @Sendable (CKSubscription?, (any Error)?) -> Void
    ) {
        fetching([subscriptionID]) { result in
            let item = Self.only(subscriptionID, of: result.map(\.byID))
            completionHandler(item.value, item.error)
        }.start()
    }

    /// Fetches a subscription; throws `unknownItem` if it does not exist.
    public func subscription(for subscriptionID: CKSubscription.ID) async throws -> CKSubscription {
        try Self.only(subscriptionID, of: await SingleCall.result { fetching([subscriptionID], $0) }.map(\.byID)).get()
    }

    /// Saves a subscription; one with the same ID is replaced.
    @preconcurrency
    public func save(_ subscription: CKSubscription, completionHandler: @escaping @Sendable (CKSubscription?, (any Error)?) -> Void) {
        modifying([subscription], []) { result in
            let item = Self.only(subscription.subscriptionID, of: result.map(\.saves))
            completionHandler(item.value, item.error)
        }.start()
    }

    /// Saves a subscription; one with the same ID is replaced.
    @discardableResult
    public func save(_ subscription: CKSubscription) async throws -> CKSubscription {
        try Self.only(subscription.subscriptionID, of: await SingleCall.result { modifying([subscription], [], $0) }.map(\.saves)).get()
    }

    /// Deletes a subscription; deleting a missing one is an error.
    @preconcurrency
    public func delete(
        withSubscriptionID subscriptionID: CKSubscription.ID, completionHandler: @escaping @Sendable (String?, (any Error)?) -> Void
    ) {
        modifying([], [subscriptionID]) { result in
            let item = Self.only(subscriptionID, of: result.map(\.deletions))
            completionHandler(item.error == nil ? subscriptionID : nil, item.error)
        }.start()
    }

    /// Deletes a subscription; deleting a missing one is an error.
    @discardableResult
    public func deleteSubscription(withID subscriptionID: CKSubscription.ID) async throws -> CKSubscription.ID {
        try Self.only(subscriptionID, of: await SingleCall.result { modifying([], [subscriptionID], $0) }.map(\.deletions)).get()
        return subscriptionID
    }

    // MARK: Several subscriptions

    /// Fetches subscriptions, with a result for each.
    @preconcurrency
    public func fetch(
        withSubscriptionIDs subscriptionIDs: [CKSubscription.ID],
        completionHandler: @escaping @Sendable (Result<[CKSubscription.ID: Result<CKSubscription, any Error>], any Error>) -> Void
    ) {
        fetching(subscriptionIDs) { completionHandler($0.map(\.byID).mapError { $0 as any Error }) }.start()
    }

    /// Fetches subscriptions, with a result for each.
    public func subscriptions(for ids: [CKSubscription.ID]) async throws -> [CKSubscription.ID: Result<CKSubscription, any Error>] {
        try await SingleCall.result { fetching(ids, $0) }.get().byID
    }

    /// Saves and deletes subscriptions, with a result for each.
    @preconcurrency
    public func modifySubscriptions(
        saving subscriptionsToSave: [CKSubscription], deleting subscriptionIDsToDelete: [CKSubscription.ID],
        completionHandler:
            @escaping @Sendable (
                Result<
                    (
                        saveResults: [CKSubscription.ID: Result<CKSubscription, any Error>],
                        deleteResults: [CKSubscription.ID: Result<Void, any Error>]
                    ), any Error
                >
            ) -> Void
    ) {
        modifying(subscriptionsToSave, subscriptionIDsToDelete) { result in
            completionHandler(result.map { ($0.saves, $0.deletions) }.mapError { $0 as any Error })
        }.start()
    }

    /// Saves and deletes subscriptions, with a result for each.
    public func modifySubscriptions(
        saving subscriptionsToSave: [CKSubscription], deleting subscriptionIDsToDelete: [CKSubscription.ID]
    ) async throws -> (
        saveResults: [CKSubscription.ID: Result<CKSubscription, any Error>], deleteResults: [CKSubscription.ID: Result<Void, any Error>]
    ) {
        let results = try await SingleCall.result { modifying(subscriptionsToSave, subscriptionIDsToDelete, $0) }.get()
        return (results.saves, results.deletions)
    }

    // MARK: The operations underneath

    private typealias FetchDone = @Sendable (Result<CKFetchSubscriptionsOperation.Results, CKError>) -> Void

    private func listing(_ done: @escaping FetchDone) -> CKOperation {
        let operation = prepare(CKFetchSubscriptionsOperation.fetchAllSubscriptionsOperation())
        operation.whenDone = done
        return operation
    }

    private func fetching(_ subscriptionIDs: [CKSubscription.ID], _ done: @escaping FetchDone) -> CKOperation {
        let operation = prepare(CKFetchSubscriptionsOperation(subscriptionIDs: subscriptionIDs))
        operation.whenDone = done
        return operation
    }

    private func modifying(
        _ subscriptions: [CKSubscription], _ subscriptionIDs: [CKSubscription.ID],
        _ done: @escaping @Sendable (Result<CKModifySubscriptionsOperation.Results, CKError>) -> Void
    ) -> CKOperation {
        let operation = prepare(
            CKModifySubscriptionsOperation(subscriptionsToSave: subscriptions, subscriptionIDsToDelete: subscriptionIDs))
        operation.whenDone = done
        return operation
    }
}
