import NacreCloudContainer
import NacreCloudServerWire
import NacreCloudWire
import NacreHTTPServer

extension API {
    /// `POST records/query`
    func recordsQuery(_ call: Call) async throws -> HTTPResponse {
        try await page(call, try await call.body(), as: RecordsQueryRequest.self) { request in
            AnswerForm(details: request.extension.wantsDetails, numbersAsStrings: request.numbersAsStrings)
        } turn: { _, turn in
            turn.lane = .query
        } ask: { request in
            let isOfOneZone = request.zoneID != nil || !request.zoneWide
            let token = isOfOneZone ? try await currentSyncToken(of: request.zoneID ?? .defaultZone, for: call) : nil
            var answer = try await cloud.queryRecords(request, in: call.target, by: call.caller, scanning: queryScanRows)
            answer.syncToken = token
            return answer
        }
    }
}
