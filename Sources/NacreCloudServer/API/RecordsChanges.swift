import NacreCloudContainer
import NacreCloudServerWire
import NacreCloudStorage
import NacreCloudWire
import NacreHTTPServer

extension API {
    /// `POST records/changes`, which CloudKit has replaced by `changes/zone`.
    var recordsChanges: Endpoint<RecordsChangesRequest, RecordsChangesResponse> {
        Endpoint(
            form: { request in
                AnswerForm(
                    details: request.extension.wantsDetails, numbersAsStrings: request.item.numbersAsStrings, zoneID: request.item.zoneID)
            },
            cost: { request, _ in
                RequestCost(kind: cloud.turnKind(of: [request.item]), names: RequestCost.of(names: [request.item.desiredKeys]))
            },
            page: { request, call in
                try await cloud.recordChanges(request, in: call.target, by: call.caller)
            })
    }
}
