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
            ask: { request, call in try await cloud.resolveShares(request, in: call.target, by: call.caller) }, refused: \.refused)
    }

    /// `POST records/accept`
    var recordsAccept: Endpoint<SharesRequest, SharesResponse> {
        Endpoint(
            cost: { request, _ in RequestCost(rows: request.shortGUIDs.count) },
            ask: { request, call in try await cloud.acceptShares(request, in: call.target, by: call.caller) }, refused: \.refused)
    }

    /// `POST records/request-access`, an endpoint of this server's own: Apple's systems request access by themselves.
    var recordsRequestAccess: Endpoint<SharesRequest, AccessRequestsResponse> {
        Endpoint(
            cost: { request, _ in RequestCost(rows: request.shortGUIDs.count) },
            ask: { request, call in try await cloud.requestShareAccess(request, in: call.target, by: call.caller) }, refused: \.refused)
    }
}
