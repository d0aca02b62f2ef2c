import CloudContainer
import CloudWire
import HTTPServer

extension API {
    /// `POST zones/modify`
    func zonesModify(_ call: Call) async throws -> HTTPResponse {
        try await answer(call, try await call.body(), as: ZonesModifyRequest.self) { request in
            AnswerForm(details: request.extension.wantsDetails)
        } ask: { request in
            try await cloud.modifyZones(request, in: call.target, by: call.caller)
        }
    }
}
