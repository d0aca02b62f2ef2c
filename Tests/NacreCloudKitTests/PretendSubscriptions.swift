import NacreCloudServerWire
import NacreCloudWire

@testable import CloudKit

/// The subscriptions of the pretended server, for one user and one database.
extension PretendCloud {
    func answerSubscriptions(to path: String, _ body: [UInt8]) throws(ServerError) -> SubscriptionsResponse {
        switch path {
        case "subscriptions/list": SubscriptionsResponse(subscriptions: subscriptions.map { .subscription($0) })
        case "subscriptions/lookup":
            SubscriptionsResponse(subscriptions: try SubscriptionsLookupRequest(json: body).subscriptionIDs.map(found))
        default: SubscriptionsResponse(subscriptions: try SubscriptionsModifyRequest(json: body).operations.map(apply))
        }
    }

    private func found(_ id: String) -> SubscriptionResult {
        subscriptions.first { $0.subscriptionID == id }.map { .subscription($0) } ?? Self.missing(id)
    }

    private static func missing(_ id: String) -> SubscriptionResult {
        .failure(id, ServerError(.notFound, "no such subscription", native: .unknownItem))
    }

    private func apply(_ operation: SubscriptionOperation) -> SubscriptionResult {
        let index = subscriptions.firstIndex { $0.subscriptionID == operation.subscriptionID }
        switch operation {
        case .create(let subscription), .update(let subscription):
            if subscription.subscriptionID == "refused" { return .failure("refused", ServerError(.badRequest, "no")) }
            if let index { subscriptions[index] = subscription } else { subscriptions.append(subscription) }
            return .subscription(subscription)
        case .delete(let id):
            guard let index else { return Self.missing(id) }
            subscriptions.remove(at: index)
            return .deleted(id)
        }
    }

    func subscriptionRequests() throws -> [SubscriptionsModifyRequest] {
        try seen.filter { $0.path == "subscriptions/modify" }.map { try SubscriptionsModifyRequest(json: $0.request.body) }
    }
}
