import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudServerWire
import NacreCloudStorage
import NacreCloudWire
import NacreHTTPServer

extension API {
    /// `POST records/lookup`
    func recordsLookup(_ call: Call) async throws -> HTTPResponse {
        try await page(call, try await call.body(), as: RecordsLookupRequest.self) { request in
            AnswerForm(
                details: request.extension.wantsDetails, numbersAsStrings: request.numbersAsStrings, zoneID: request.zoneID)
        } turn: {
            $1.rows = $0.records.count
        } ask: { request in
            charge(names: request.desiredKeys)
            for item in request.records { charge(names: item.desiredKeys) }
            let token = try await currentSyncToken(of: request.zoneID, for: call)
            var answer = try await cloud.lookupAnswer(request, in: call.target, by: call.caller)
            answer.syncToken = token
            // The turn charged each name as a record; absent names cost less.
            WorkMeter.current?.add(rows: answer.absent / Limits.absentNamesCountAsRow - answer.absent)
            return answer
        }
    }
}
