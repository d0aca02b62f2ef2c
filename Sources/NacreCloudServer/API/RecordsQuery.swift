import NacreCloudContainer
import NacreCloudServerWire
import NacreCloudStorage
import NacreCloudWire
import NacreHTTPServer

extension API {
    /// `POST records/query`. A page that finds nothing for want of an index waits until the index is ready, at most
    /// `Limits.indexWaitSeconds`, and is then read again.
    func recordsQuery(_ call: Call) async throws -> HTTPResponse {
        let body = try await call.body()
        let first = try await queryPage(call, body)
        guard let waiting = first.waiting else { return first.page }
        var last = try await hub.read(waiting.index, waiting: Limits.indexWaitSeconds, by: call.holder.name, account: call.request.account) {
            $0.waiting == nil
        } _: {
            try await queryPage(call, body, after: waiting.marker)
        }
        if last.waiting != nil, first.isFirst { last.page.headers["X-Nacre-Remedy"] = Self.waitingRemedy }
        return last.page
    }

    /// Stands beside the first page of a query that has to wait for an index, which is empty and no error.
    private static let waitingRemedy =
        "The index of this order is being made: ask again with the continuation marker. nacre task list says how far it is."

    /// - Parameter marker: replaces the request's continuation marker; nil keeps it.
    /// - Returns: the page, and whether the request began the query. `waiting` is set if the page is empty and stays
    ///   empty behind that marker until the `index` database is signalled.
    private func queryPage(
        _ call: Call, _ body: [UInt8], after marker: String? = nil
    ) async throws -> (page: HTTPResponse, isFirst: Bool, waiting: (index: DatabaseID, marker: String?)?) {
        var (isFirst, waiting) = (false, Optional<(index: DatabaseID, marker: String?)>.none)
        let page = try await page(call, body, as: RecordsQueryRequest.self) { request in
            AnswerForm(details: request.extension.wantsDetails, numbersAsStrings: request.numbersAsStrings)
        } turn: { _, turn in
            turn.lane = .query
        } ask: { request in
            charge(names: request.desiredKeys)
            var request = request
            isFirst = request.continuationMarker == nil
            request.continuationMarker = marker ?? request.continuationMarker
            let isOfOneZone = request.zoneID != nil || !request.zoneWide
            let token = isOfOneZone ? try await currentSyncToken(of: request.zoneID ?? .defaultZone, for: call) : nil
            var (answer, index) = try await cloud.queryAnswer(request, in: call.target, by: call.caller, scanning: queryScanRows)
            answer.response.syncToken = token
            await cloud.schemas.note(request.query, in: call.target, by: call.caller)
            waiting = index.map { ($0, answer.response.continuationMarker) }
            return answer
        }
        return (page, isFirst, waiting)
    }
}
