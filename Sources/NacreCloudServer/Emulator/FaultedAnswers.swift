import NacreCloudContainer
import NacreCloudServerWire
import NacreCloudStorage
package import NacreCloudWire
package import NacreHTTPServer

/// Answers that combine faults for some items with the server's answer for the rest.
package struct FaultedAnswers: Sendable {
    private let ask: @Sendable (HTTPRequest) async -> HTTPResponse
    private let refuse: @Sendable (ServerError, HTTPRequest) -> HTTPResponse

    /// - Parameters:
    ///   - ask: gets the server's own answer.
    ///   - refuse: makes the answer for an error.
    package init(
        ask: @escaping @Sendable (HTTPRequest) async -> HTTPResponse, refuse: @escaping @Sendable (ServerError, HTTPRequest) -> HTTPResponse
    ) {
        self.ask = ask
        self.refuse = refuse
    }

    /// The answer to a change of records of which some are refused.
    package func refusing(_ names: Set<String>?, _ error: ServerError, of request: HTTPRequest, _ body: [UInt8]) async -> HTTPResponse {
        guard let asked = try? RecordsModifyRequest(json: body) else { return await ask(request) }
        let parts = Parts(asked.operations) { operation in
            guard let operation = try? operation.get() else { return false }
            guard let names else { return operation.isSave }
            return operation.change.recordName.map(names.contains) ?? false
        }
        var response = RecordsResponse(records: [])
        let isAtomic = (asked.atomic ?? true) && !asked.zoneID.isDefault
        if !isAtomic, !parts.rest.isEmpty {
            var rest = asked
            rest.operations = parts.rest
            let answer = await ask(request.with(body: rest.json()))
            guard answer.status == .ok, let done = try? RecordsResponse(json: try await answer.body.collect()) else { return answer }
            response = done
        }
        func failure(_ operation: Result<RecordOperation, OperationFault>, _ error: ServerError) -> RecordResult {
            .failure(recordName: (try? operation.get())?.change.recordName, error)
        }
        response.records = parts.merged(response.records) {
            failure($0, error)
        } without: {
            failure($0, isAtomic ? .atomicFailure : .internalError)
        }
        return .json(response.json(AnswerForm(details: asked.extension.wantsDetails, numbersAsStrings: asked.numbersAsStrings)))
    }

    /// The answer to a request for changes with expired tokens, of one zone or of all.
    package func expiring(_ zone: String?, of request: HTTPRequest, _ body: [UInt8], _ asking: AskedRequest) async -> HTTPResponse {
        guard asking.kind == .fetchZoneChanges, let asked = try? ChangesZoneRequest(json: body) else { return refuse(.tokenExpired, request) }
        let parts = Parts(asked.zones) { $0.syncToken != nil && (zone ?? $0.zoneID.zoneName) == $0.zoneID.zoneName }
        var response = ChangesZoneResponse(zones: [])
        if !parts.rest.isEmpty {
            var rest = asked
            rest.zones = parts.rest
            let answer = await ask(request.with(body: rest.json()))
            guard answer.status == .ok, let done = try? ChangesZoneResponse(json: try await answer.body.collect()) else { return answer }
            response = done
        }
        response.zones = parts.merged(response.zones) {
            .failure($0.zoneID, .tokenExpired)
        } without: {
            .failure($0.zoneID, .internalError)
        }
        return .json(response.json(AnswerForm(details: asked.extension.wantsDetails)))
    }
}

/// The items of a request, divided into those that fail and those that the server handles.
private struct Parts<Item> {
    private let items: [(item: Item, fails: Bool)]

    init(_ items: [Item], failing fails: (Item) -> Bool) {
        self.items = items.map { ($0, fails($0)) }
    }

    var rest: [Item] { items.filter { !$0.fails }.map(\.item) }

    /// Results in the order of the request.
    /// - Parameters:
    ///   - done: results of the items that the server handled.
    ///   - lost: makes a result for an item without one from the server.
    func merged<Result>(_ done: [Result], failing failure: (Item) -> Result, without lost: (Item) -> Result) -> [Result] {
        var done = done.makeIterator()
        return items.map { $0.fails ? failure($0.item) : done.next() ?? lost($0.item) }
    }
}
