import Foundation
import NacreCloudWire

/// Saves and deletes subscriptions of the current user.
///
/// Saving replaces an existing subscription of the same ID. Deleting a missing one fails with `unknownItem`. Apple: iOS
/// 8.
open class CKModifySubscriptionsOperation: CKDatabaseOperation, @unchecked Sendable {
    // Sendable: see `CKOperation`; only the callback queue touches `results`.

    /// The subscriptions to save.
    open var subscriptionsToSave: [CKSubscription]?
    /// The subscriptions to delete.
    open var subscriptionIDsToDelete: [CKSubscription.ID]?
    /// Called once for each subscription to save.
    open var perSubscriptionSaveBlock: ((_ subscriptionID: CKSubscription.ID, _ saveResult: Result<CKSubscription, any Error>) -> Void)?
    /// Called once for each ID to delete.
    open var perSubscriptionDeleteBlock: ((_ subscriptionID: CKSubscription.ID, _ deleteResult: Result<Void, any Error>) -> Void)?
    /// Called last; success if the request as a whole worked, even if items failed.
    open var modifySubscriptionsResultBlock: ((_ operationResult: Result<Void, any Error>) -> Void)?
    /// The old form; not called if `modifySubscriptionsResultBlock` is set. Failed items make it `partialFailure`.
    /// Apple: deprecated in iOS 15.
    open var modifySubscriptionsCompletionBlock:
        (
            (
                _ savedSubscriptions: [CKSubscription]?, _ deletedSubscriptionIDs: [CKSubscription.ID]?, _ operationError: (any Error)?
            ) -> Void
        )?

    typealias Results = ModifyResults<CKSubscription.ID, CKSubscription>

    private var results = Results()
    /// Receives the results; set by the single-call functions.
    var whenDone: (@Sendable (Result<Results, CKError>) -> Void)?

    public required override init() {
        super.init()
    }

    /// Makes an operation that saves and deletes subscriptions.
    public convenience init(subscriptionsToSave: [CKSubscription]? = nil, subscriptionIDsToDelete: [CKSubscription.ID]? = nil) {
        self.init()
        self.subscriptionsToSave = subscriptionsToSave
        self.subscriptionIDsToDelete = subscriptionIDsToDelete
    }

    override func run() async throws(CKError) {
        let conversation = conversation
        let subscriptions = subscriptionsToSave ?? []
        let deletions = subscriptionIDsToDelete ?? []
        let count = subscriptions.count + deletions.count
        if count == 0 { try conversation.checkAccess() }
        guard count <= Limits.subscriptionsPerRequest else { throw .tooManyItems(count: count, maximum: Limits.subscriptionsPerRequest) }
        guard Set(subscriptions.map(\.subscriptionID) + deletions).count == count else {
            throw .malformed("An operation can save or delete a subscription only once")
        }
        let saves = sendable(subscriptions)
        guard !saves.isEmpty || !deletions.isEmpty else { return }
        let response = try await conversation.modify(
            SubscriptionsModifyRequest(operations: saves.map(SubscriptionOperation.create) + deletions.map(SubscriptionOperation.delete)))
        guard response.subscriptions.count == saves.count + deletions.count else { throw .unexpectedAnswer }
        for (sent, answer) in zip(saves, response.subscriptions) {
            callBack(sent.subscriptionID, saved: Self.save(answer, in: conversation.scope))
        }
        if !deletions.isEmpty { SyncEngines.shared.subscriptionEnded(conversation.line, conversation.scope) }
        for (id, answer) in zip(deletions, response.subscriptions.dropFirst(saves.count)) { callBack(id, deleted: Self.deletion(answer)) }
    }

    /// Returns the subscriptions that can be sent, and reports the faults of the others.
    private func sendable(_ subscriptions: [CKSubscription]) -> [Subscription] {
        let now = Timestamp(secondsSince2001: Date().timeIntervalSinceReferenceDate)
        return subscriptions.compactMap { subscription in
            do throws(CKError) {
                return try subscription.wire(now: now)
            } catch {
                callBack(subscription.subscriptionID, saved: .failure(error))
                return nil
            }
        }
    }

    private static func save(_ answer: SubscriptionResult, in scope: CKDatabase.Scope) -> Result<CKSubscription, CKError> {
        switch answer {
        case .subscription(let saved): .success(.make(saved, in: scope))
        case .failure(_, let error): .failure(CKError(error))
        case .deleted: .failure(.unexpectedAnswer)
        }
    }

    private static func deletion(_ answer: SubscriptionResult) -> Result<Void, CKError> {
        switch answer {
        case .deleted: .success(())
        case .failure(_, let error): .failure(CKError(error))
        case .subscription: .failure(.unexpectedAnswer)
        }
    }

    private func callBack(_ id: CKSubscription.ID, saved result: Result<CKSubscription, CKError>) {
        report { [self] in
            let result = result.mapError { $0 as any Error }
            results.add(id, saved: result)
            perSubscriptionSaveBlock?(id, result)
        }
    }

    private func callBack(_ id: CKSubscription.ID, deleted result: Result<Void, CKError>) {
        report { [self] in
            let result = result.mapError { $0 as any Error }
            results.add(id, deleted: result)
            perSubscriptionDeleteBlock?(id, result)
        }
    }

    override func deliver(_ error: CKError?) {
        if error == nil, whenDone == nil, modifySubscriptionsResultBlock != nil || modifySubscriptionsCompletionBlock == nil { noteUnheard() }
        if let modifySubscriptionsResultBlock {
            modifySubscriptionsResultBlock(Result(error))
        } else {
            let failure = error ?? .partial("Failed to modify some subscriptions", of: results.failures)
            modifySubscriptionsCompletionBlock?(results.saved, results.deleted, failure)
        }
        whenDone?(error.map(Result.failure) ?? .success(results))
    }

    /// Logs errors of items that no block of the app receives: the result block reports success.
    private func noteUnheard() {
        if perSubscriptionSaveBlock == nil { noteUnheard(results.saveErrors, "CKModifySubscriptionsOperation: subscriptions to save") }
        if perSubscriptionDeleteBlock == nil { noteUnheard(results.deleteErrors, "CKModifySubscriptionsOperation: subscriptions to delete") }
    }
}
