import NacreCloudContainer
import NacreCloudServerWire
import NacreCloudWire
import NacreHTTPServer

extension API {
    /// `POST zones/changes`, which CloudKit has replaced by `changes/database`.
    var zonesChanges: Endpoint<ZonesChangesRequest, ZonesChangesResponse> {
        Endpoint(ask: { request, call in try await cloud.zonesChanges(request, in: call.target, by: call.caller) })
    }
}
