import NacreCloudContainer
import NacreCloudServerWire
import NacreCloudWire
import NacreHTTPServer

extension API {
    /// `POST zones/changes`, which CloudKit has replaced by `changes/database`.
    func zonesChanges(_ call: Call) async throws -> HTTPResponse {
        try await answer(call, try await call.body(), as: ZonesChangesRequest.self) { request in
            try await cloud.zonesChanges(request, in: call.target, by: call.caller)
        }
    }
}
