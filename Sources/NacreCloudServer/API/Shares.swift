import NacreCloudContainer
import NacreCloudServerWire
import NacreCloudStorage
import NacreCloudWire
import NacreHTTPServer

extension API {
    /// `POST records/resolve`
    var recordsResolve: Endpoint<SharesRequest, SharesResponse> {
        Endpoint(
            cost: { request, _ in RequestCost(rows: request.shortGUIDs.count) },
            ask: { request, call in told(try await cloud.resolveShares(request, in: call.target, by: call.caller), to: call) })
    }

    /// `POST records/accept`
    var recordsAccept: Endpoint<SharesRequest, SharesResponse> {
        Endpoint(
            cost: { request, _ in RequestCost(rows: request.shortGUIDs.count) },
            ask: { request, call in told(try await cloud.acceptShares(request, in: call.target, by: call.caller), to: call) })
    }

    /// `POST records/request-access`, an endpoint of this server's own: Apple's systems request access by themselves.
    var recordsRequestAccess: Endpoint<SharesRequest, AccessRequestsResponse> {
        Endpoint(
            cost: { request, _ in RequestCost(rows: request.shortGUIDs.count) },
            ask: { request, call in
                let answer = try await cloud.requestShareAccess(request, in: call.target, by: call.caller)
                errors.logRefusals(answer.results.compactMap(\.error), call.request)
                return answer
            })
    }

    private func told(_ answer: SharesResponse, to call: Call) -> SharesResponse {
        let refused = answer.results.compactMap { result -> ServerError? in
            if case .failure(_, let error) = result { error } else { nil }
        }
        errors.logRefusals(refused, call.request)
        return answer
    }
}
