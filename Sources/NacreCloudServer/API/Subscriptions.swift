import NacreCloudContainer
import NacreCloudServerWire
import NacreCloudStorage
import NacreCloudWire
import NacreHTTPServer

extension API {
    /// `GET subscriptions/list`
    func subscriptionsList(_ call: Call) async throws -> HTTPResponse {
        try await page(of: call) {
            try await cloud.listSubscriptions(in: call.target, by: call.caller)
        } json: {
            $0.json(AnswerForm())
        }
    }

    /// `POST subscriptions/lookup`
    func subscriptionsLookup(_ call: Call) async throws -> HTTPResponse {
        let turn: (SubscriptionsLookupRequest, inout Turn) -> Void = { $1.rows = $0.subscriptionIDs.count }
        return try await page(call, try await call.body(), as: SubscriptionsLookupRequest.self) {
            AnswerForm(details: $0.extension.wantsDetails)
        } turn: {
            turn($0, &$1)
        } ask: {
            try await cloud.lookupSubscriptions($0, in: call.target, by: call.caller)
        }
    }

    /// `POST subscriptions/modify`
    func subscriptionsModify(_ call: Call) async throws -> HTTPResponse {
        let body = try await call.body()
        return try await answer(call, body, as: SubscriptionsModifyRequest.self) {
            AnswerForm(details: $0.extension.wantsDetails)
        } turn: {
            ($1.rows, $1.bytes) = ($0.operations.count, body.count)
        } ask: { request in
            try await cloud.modifySubscriptions(
                request, in: call.target, by: call.caller, digest: digest(of: body, in: request.extension), age: try age(of: call.request))
        }
    }
}
