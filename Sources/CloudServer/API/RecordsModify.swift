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
            let digest = request.extension.operationID == nil ? [] : digest(of: body, from: call.caller)
            return try await cloud.modifyRecords(request, in: call.target, by: call.caller, digest: digest)
        }
    }

    /// What a logged operation is known by besides its ID. The caller is in it: in a public database many write under IDs of their own making,
    /// and what one of them has done must not pass for done when another asks for the same.
    private func digest(of body: [UInt8], from caller: Caller) -> [UInt8] {
        SHA256.digest(SHA256.digest(Array((caller.userRecordName ?? "").utf8)) + SHA256.digest(body))
    }
}
