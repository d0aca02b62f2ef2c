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
            cost: { request, _ in RequestCost(rows: request.records.count) },
            page: { request, call in
                charge(names: request.desiredKeys)
                for item in request.records { charge(names: item.desiredKeys) }
                let token = try await currentSyncToken(of: request.zoneID, for: call)
                var answer = try await cloud.lookupAnswer(request, in: call.target, by: call.caller)
                answer.syncToken = token
                // The turn charged each name as a record; absent names cost less.
                WorkMeter.current?.add(rows: answer.absent / Limits.absentNamesCountAsRow - answer.absent)
                return answer
            })
    }
}
