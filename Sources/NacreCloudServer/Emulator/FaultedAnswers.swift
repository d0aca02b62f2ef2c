import NacreCloudContainer
import NacreCloudServerWire
package import NacreCloudWire
package import NacreHTTPServer

/// Answers of which a part is a fault, and the rest is what the server says.
package struct FaultedAnswers: Sendable {
    private let ask: @Sendable (HTTPRequest) async -> HTTPResponse
    private let refuse: @Sendable (ServerError, HTTPRequest) -> HTTPResponse

    /// - Parameters:
    ///   - ask: the server's own answer.
    ///   - refuse: an error as the server writes it.
    package init(
        ask: @escaping @Sendable (HTTPRequest) async -> HTTPResponse, refuse: @escaping @Sendable (ServerError, HTTPRequest) -> HTTPResponse
    ) {
        self.ask = ask
        self.refuse = refuse
    }

    /// The answer to a change of records of which some are refused.
    package func refusing(_ names: Set<String>?, _ error: ServerError, of request: HTTPRequest, _ body: [UInt8]) async -> HTTPResponse {
        guard let asked = try? RecordsModifyRequest(json: body) else { return await ask(request) }
        let isRefused = asked.operations.map { operation in
            guard let operation = try? operation.get() else { return false }
            guard let names else { return operation.isSave }
            return operation.change.recordName.map(names.contains) ?? false
        }
        var response = RecordsResponse(records: [])
        let isAtomic = (asked.atomic ?? true) && !asked.zoneID.isDefault
        if !isAtomic, isRefused.contains(false) {
            var rest = asked
            rest.operations = zip(asked.operations, isRefused).filter { !$0.1 }.map(\.0)
            let answer = await ask(request.with(body: rest.json()))
            guard answer.status == .ok, let done = try? RecordsResponse(json: try await answer.body.collect()) else { return answer }
            response = done
        }
        var done = response.records.makeIterator()
        response.records = zip(asked.operations, isRefused).map { operation, isRefused in
            let name = (try? operation.get())?.change.recordName
            if isRefused { return .failure(recordName: name, error) }
            return isAtomic ? .failure(recordName: name, .atomicFailure) : done.next() ?? .failure(recordName: name, .internalError)
        }
        return .json(response.json(AnswerForm(details: asked.extension.wantsDetails, numbersAsStrings: asked.numbersAsStrings)))
    }

    /// The answer to a question for changes of which the server does not follow the tokens any more: of one zone, or of all.
    package func expiring(_ zone: String?, of request: HTTPRequest, _ body: [UInt8], _ asking: AskedRequest) async -> HTTPResponse {
        guard asking.kind == .fetchZoneChanges, let asked = try? ChangesZoneRequest(json: body) else { return refuse(.tokenExpired, request) }
        let isExpired = asked.zones.map { $0.syncToken != nil && (zone ?? $0.zoneID.zoneName) == $0.zoneID.zoneName }
        var response = ChangesZoneResponse(zones: [])
        if isExpired.contains(false) {
            var rest = asked
            rest.zones = zip(asked.zones, isExpired).filter { !$0.1 }.map(\.0)
            let answer = await ask(request.with(body: rest.json()))
            guard answer.status == .ok, let done = try? ChangesZoneResponse(json: try await answer.body.collect()) else { return answer }
            response = done
        }
        var done = response.zones.makeIterator()
        response.zones = zip(asked.zones, isExpired).map { item, isExpired in
            isExpired ? .failure(item.zoneID, .tokenExpired) : done.next() ?? .failure(item.zoneID, .internalError)
        }
        return .json(response.json(AnswerForm(details: asked.extension.wantsDetails)))
    }
}
