import Foundation
import NacreCloudWire

/// Fetches subscriptions of the current user by ID, or all of a database. A missing one fails with `unknownItem`.
/// Apple: iOS 8.
open class CKFetchSubscriptionsOperation: CKDatabaseOperation, @unchecked Sendable {
    // Sendable: see `CKOperation`; only the callback queue touches `results`.

    /// The subscriptions to fetch.
    open var subscriptionIDs: [CKSubscription.ID]?
    /// Called once for each subscription.
    open var perSubscriptionResultBlock: ((_ subscriptionID: CKSubscription.ID, _ subscriptionResult: Result<CKSubscription, any Error>) -> Void)?
    /// Called last; success if the request as a whole worked, even if items failed.
    open var fetchSubscriptionsResultBlock: ((_ operationResult: Result<Void, any Error>) -> Void)?
    /// The old form; not called if `fetchSubscriptionsResultBlock` is set. Failed items make it `partialFailure`.
    /// Apple: deprecated in iOS 15.
    open var fetchSubscriptionCompletionBlock:
        ((_ subscriptionsBySubscriptionID: [CKSubscription.ID: CKSubscription]?, _ operationError: (any Error)?) -> Void)?

    struct Results: Sendable {
        var byID: [CKSubscription.ID: Result<CKSubscription, any Error>] = [:]
        /// The subscriptions in the server's order.
        var subscriptions: [CKSubscription] = []
    }

    final var fetchesAll = false
    private var results = Results()
    /// Receives the results; set by the single-call functions.
    var whenDone: (@Sendable (Result<Results, CKError>) -> Void)?

    public required override init() {
        super.init()
    }

    /// Makes an operation that fetches these subscriptions.
    public convenience init(subscriptionIDs: [CKSubscription.ID]) {
        self.init()
        self.subscriptionIDs = subscriptionIDs
    }

    /// Returns an operation that fetches every subscription and ignores `subscriptionIDs`.
    open class func fetchAllSubscriptionsOperation() -> Self {
        let operation = Self()
        operation.fetchesAll = true
        return operation
    }

    override func run() async throws(CKError) {
        let conversation = conversation
        if fetchesAll {
            for answer in try await conversation.listSubscriptions().subscriptions {
                callBack(answer.subscriptionID, answer, in: conversation.scope)
            }
            return
        }
        var seen: Set<CKSubscription.ID> = []
        let asked = (subscriptionIDs ?? []).filter { seen.insert($0).inserted }
        var rest = asked[...]
        while !rest.isEmpty {
            let ids = rest.prefix(Limits.subscriptionsPerRequest)
            rest = rest.dropFirst(ids.count)
            let response = try await conversation.lookup(SubscriptionsLookupRequest(subscriptionIDs: Array(ids)))
            guard response.subscriptions.map(\.subscriptionID) == Array(ids) else { throw .unexpectedAnswer }
            for (id, answer) in zip(ids, response.subscriptions) { callBack(id, answer, in: conversation.scope) }
        }
    }

    private func callBack(_ id: CKSubscription.ID, _ answer: SubscriptionResult, in scope: CKDatabase.Scope) {
        switch answer {
        case .subscription(let subscription): callBack(id, .success(.make(subscription, in: scope)))
        case .failure(_, let error): callBack(id, .failure(CKError(error)))
        case .deleted: callBack(id, .failure(.unexpectedAnswer))
        }
    }

    private func callBack(_ id: CKSubscription.ID, _ result: Result<CKSubscription, CKError>) {
        report { [self] in
            let result = result.mapError { $0 as any Error }
            results.byID[id] = result
            if let subscription = result.value { results.subscriptions.append(subscription) }
            perSubscriptionResultBlock?(id, result)
        }
    }

    override func deliver(_ error: CKError?) {
        let isHeard = perSubscriptionResultBlock != nil || whenDone != nil
        if error == nil, !isHeard, fetchSubscriptionsResultBlock != nil || fetchSubscriptionCompletionBlock == nil {
            noteUnheard(results.byID.values.compactMap(\.error), "CKFetchSubscriptionsOperation: subscriptions to fetch")
        }
        if let fetchSubscriptionsResultBlock {
            fetchSubscriptionsResultBlock(Result(error))
        } else {
            let failure = error ?? .partial("Failed to fetch some subscriptions", of: results.byID.compactMapValues(\.error))
            fetchSubscriptionCompletionBlock?(results.byID.compactMapValues(\.value), failure)
        }
        whenDone?(error.map(Result.failure) ?? .success(results))
    }
}

extension SubscriptionResult {
    fileprivate var subscriptionID: String {
        switch self {
        case .subscription(let subscription): subscription.subscriptionID
        case .deleted(let id), .failure(let id, _): id
        }
    }
}
