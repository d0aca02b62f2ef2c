import NacreCloudContainer
import NacreCloudServerWire
import NacreCloudStorage
import NacreCloudWire
import NacreHTTPServer

extension API {
    /// `POST records/changes`, which CloudKit has replaced by `changes/zone`.
    func recordsChanges(_ call: Call) async throws -> HTTPResponse {
        try await page(call, try await call.body(), as: RecordsChangesRequest.self) { request in
            AnswerForm(
                details: request.extension.wantsDetails, numbersAsStrings: request.item.numbersAsStrings, zoneID: request.item.zoneID)
        } turn: {
            $1.lane = cloud.lane(of: [$0.item])
        } ask: { request in
            charge(names: request.item.desiredKeys)
            return try await cloud.recordChanges(request, in: call.target, by: call.caller)
        }
    }
}
