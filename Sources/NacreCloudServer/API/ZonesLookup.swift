import NacreCloudContainer
import NacreCloudServerWire
import NacreCloudWire
import NacreHTTPServer

extension API {
    /// `POST zones/lookup`
    func zonesLookup(_ call: Call) async throws -> HTTPResponse {
        try await answer(call, try await call.body(), as: ZonesLookupRequest.self) { request in
            try await cloud.lookupZones(request, in: call.target, by: call.caller)
        }
    }
}
