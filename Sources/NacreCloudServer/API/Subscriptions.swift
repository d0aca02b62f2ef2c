import NacreCloudContainer
import NacreCloudServerWire
import NacreCloudStorage
import NacreCloudWire
import NacreHTTPServer

extension API {
    /// `GET subscriptions/list`
    func subscriptionsList(_ call: Call) async throws -> HTTPResponse {
        try await amongPages(call) {
            try await Self.encoded(cloud.listSubscriptions(in: call.target, by: call.caller), AnswerForm(), call.request.ledger)
        }
    }

    /// `POST subscriptions/lookup`
    var subscriptionsLookup: Endpoint<SubscriptionsLookupRequest, SubscriptionsResponse> {
        Endpoint(
            cost: { request, _ in RequestCost(rows: request.subscriptionIDs.count) },
            page: { request, call in try await cloud.lookupSubscriptions(request, in: call.target, by: call.caller) })
    }

    /// `POST subscriptions/modify`
    var subscriptionsModify: Endpoint<SubscriptionsModifyRequest, SubscriptionsResponse> {
        Endpoint(
            cost: { request, bytes in RequestCost(rows: request.operations.count, bytes: bytes) },
            ask: { request, call in
                try await cloud.modifySubscriptions(
                    request, in: call.target, by: call.caller, digest: digest(of: call, request.extension), age: try age(of: call.request))
            }, refused: \.refused)
    }
}
