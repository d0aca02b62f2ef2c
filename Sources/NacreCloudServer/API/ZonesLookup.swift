import NacreCloudContainer
import NacreCloudServerWire
import NacreCloudWire
import NacreHTTPServer

extension API {
    /// `POST zones/lookup`
    var zonesLookup: Endpoint<ZonesLookupRequest, ZonesResponse> {
        Endpoint(ask: { request, call in try await cloud.lookupZones(request, in: call.target, by: call.caller) })
    }
}
