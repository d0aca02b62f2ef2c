import CloudContainer
import CloudWire
import HTTPServer

extension API {
    /// `POST changes/zone`
    func changesZone(_ call: Call) async throws -> HTTPResponse {
        try await answer(call, try await call.body(), as: ChangesZoneRequest.self) { request in
            // CloudKit: every zone may say it for itself; the answer is one document, so one that asks decides for all.
            AnswerForm(
                details: request.extension.wantsDetails, numbersAsStrings: request.zones.contains { $0.numbersAsStrings })
        } ask: { request in
            try await cloud.zoneChanges(request, in: call.target, by: call.caller)
        }
    }
}
