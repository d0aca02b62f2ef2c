import CloudContainer
import CloudWire
import Crypto
import HTTPServer

extension API {
    /// `POST records/modify`
    func recordsModify(_ call: Call) async throws -> HTTPResponse {
        let body = try await call.body()
        return try await answer(call, body, as: RecordsModifyRequest.self) { request in
            AnswerForm(details: request.extension.wantsDetails, numbersAsStrings: request.numbersAsStrings)
        } ask: { request in
            let digest = request.extension.operationID == nil ? [] : SHA256.digest(body)
            return try await cloud.modifyRecords(request, in: call.target, by: call.caller, digest: digest)
        }
    }
}
