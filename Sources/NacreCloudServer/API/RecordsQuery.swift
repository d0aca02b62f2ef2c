import NacreCloudContainer
import NacreCloudServerWire
import NacreCloudStorage
import NacreCloudWire
import NacreHTTPServer

extension API {
    /// `POST records/query`. A page that finds nothing for want of an index waits until the index is ready, at most
    /// `Limits.indexWaitSeconds`, and is then read again.
    var recordsQuery: Handler {
        let page = queryPage
        return { call in
            var call = call
            let request = try await decoded(RecordsQueryRequest.self, call.readBody())
            return try await answer(request, of: call, by: page)
        }
    }

    private func answer(
        _ request: RecordsQueryRequest, of call: Call, by page: Endpoint<RecordsQueryRequest, QueryPage>
    ) async throws -> HTTPResponse {
        let first = try await answer(request, of: call, by: page, keeping: \.waiting)
        guard let waiting = first.kept else { return first.response }
        var again = request
        if let marker = waiting.marker { again.continuationMarker = marker }
        var last = try await hub.read(waiting.index, waiting: Limits.indexWaitSeconds, by: call.holder.name, ledger: call.request.ledger) {
            $0.kept == nil
        } _: {
            try await answer(again, of: call, by: page, keeping: \.waiting)
        }
        if last.kept != nil, request.continuationMarker == nil { last.response.headers["X-Nacre-Remedy"] = Self.waitingRemedy }
        return last.response
    }

    /// Stands beside the first page of a query that has to wait for an index, which is empty and no error.
    private static let waitingRemedy =
        "The index of this order is being made: ask again with the continuation marker. nacre task list says how far it is."

    private var queryPage: Endpoint<RecordsQueryRequest, QueryPage> {
        Endpoint(
            form: { request in AnswerForm(details: request.extension.wantsDetails, numbersAsStrings: request.numbersAsStrings) },
            cost: { request, _ in RequestCost(kind: .query, names: RequestCost.of(names: [request.desiredKeys])) },
            page: { request, call in
                let isOfOneZone = request.zoneID != nil || !request.zoneWide
                let token = isOfOneZone ? try await currentSyncToken(of: request.zoneID ?? .defaultZone, for: call) : nil
                var (answer, index) = try await cloud.queryAnswer(request, in: call.target, by: call.caller, scanning: queryScanRows)
                answer.response.syncToken = token
                await cloud.schemas.note(request.query, in: call.target, by: call.caller)
                return QueryPage(answer: answer, waiting: index.map { ($0, answer.response.continuationMarker) })
            })
    }
}

/// A page of a query.
private struct QueryPage: RecordAnswerMessage {
    var answer: QueryAnswer
    /// Set if the page is empty and stays empty behind that marker until the `index` database is signalled.
    var waiting: (index: DatabaseID, marker: String?)?

    func json(_ form: AnswerForm) -> [UInt8] { answer.json(form) }

    var answerBytes: Int { answer.answerBytes }
    var valueBytes: Int { answer.valueBytes }
    var itemCount: Int { answer.itemCount }
}
