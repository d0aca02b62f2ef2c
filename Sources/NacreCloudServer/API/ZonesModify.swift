import NacreCloudContainer
import NacreCloudServerWire
import NacreCloudStorage
import NacreCloudWire
import NacreHTTPServer

extension API {
    /// `POST zones/modify`
    func zonesModify(_ call: Call) async throws -> HTTPResponse {
        let body = try await call.body()
        return try await answer(call, body, as: ZonesModifyRequest.self) {
            AnswerForm(details: $0.extension.wantsDetails)
        } turn: {
            ($1.rows, $1.bytes) = ($0.operations.count, body.count)
        } ask: { request in
            try await cloud.modifyZones(
                request, in: call.target, by: call.caller, digest: digest(of: body, in: request.extension), age: try age(of: call.request))
        }
    }
}
