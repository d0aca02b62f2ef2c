import NacreCloudContainer
import NacreCloudServerWire
import NacreCloudStorage
import NacreCloudWire
import NacreHTTPServer

extension API {
    /// `POST zones/modify`
    var zonesModify: Endpoint<ZonesModifyRequest, ZonesResponse> {
        Endpoint(
            cost: { request, bytes in RequestCost(rows: request.operations.count, bytes: bytes) },
            ask: { request, call in
                try await cloud.modifyZones(
                    request, in: call.target, by: call.caller, digest: digest(of: call, request.extension), age: try age(of: call.request))
            }, refused: \.refused)
    }
}
