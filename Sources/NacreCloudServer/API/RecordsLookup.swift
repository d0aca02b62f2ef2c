import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudServerWire
import NacreCloudStorage
import NacreCloudWire
import NacreHTTPServer

extension API {
    /// `POST records/lookup`
    var recordsLookup: Endpoint<RecordsLookupRequest, LookupAnswer> {
        Endpoint(
            form: { request in
                AnswerForm(details: request.extension.wantsDetails, numbersAsStrings: request.numbersAsStrings, zoneID: request.zoneID)
            },
            cost: { request, _ in
                let lists = [request.desiredKeys] + request.records.map(\.desiredKeys)
                return RequestCost(rows: request.records.count, names: RequestCost.of(names: lists))
            },
            page: { request, call in
                let token = try await currentSyncToken(of: request.zoneID, for: call)
                var answer = try await cloud.lookupAnswer(request, in: call.target, by: call.caller)
                answer.syncToken = token
                // The turn charged each name as a record; absent names cost less.
                WorkMeter.current?.add(rows: answer.absent / Limits.absentNamesCountAsRow - answer.absent)
                return answer
            })
    }
}
