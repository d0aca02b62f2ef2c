import NacreCloudContainer
import NacreCloudWire
import NacreHTTPServer

extension API {
    /// `POST zones/modify`
    func zonesModify(_ call: Call) async throws -> HTTPResponse {
        let body = try await call.body()
        return try await answer(call, body, as: ZonesModifyRequest.self) { request in
            try await cloud.modifyZones(
                request, in: call.target, by: call.caller, digest: digest(of: body, in: request.extension), age: try age(of: call.request))
        }
    }
}
