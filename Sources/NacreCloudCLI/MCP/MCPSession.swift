import NacreCloudServer
import NacreCloudWire
import NacreTelemetry

/// A session of the Model Context Protocol with one agent: lines in, lines out. See `docs/agents.md`.
///
/// Calls of tools run side by side; all else is answered in the order in which it comes.
actor MCPSession {
    /// Calls under way at the same time. Ours: an agent makes a handful, and each is a request to the server.
    static let callsMax = 32
    /// Messages of one batch. Ours.
    static let batchMax = 50

    private let tools: ToolTable
    private let context: ToolContext
    private let logger: Logger
    private let send: @Sendable (String) throws -> Void
    private var version: MCPVersion?
    private var calls: [RPCID: Task<JSONValue?, Never>] = [:]
    private var deliveries: [Int: Task<Void, Never>] = [:]
    private var deliveryCount = 0
    /// The reason why nothing can be sent any more.
    private(set) var failure: (any Error)?

    /// - Parameter send: Writes one line, without its line feed. It is called for one line after the other.
    init(tools: ToolTable, context: ToolContext, logger: Logger = .silent, send: @escaping @Sendable (String) throws -> Void) {
        (self.tools, self.context, self.logger, self.send) = (tools, context, logger, send)
    }

    /// Answers a line, or begins to.
    func take(_ line: InputLines.Line) {
        guard case .bytes(let bytes) = line else {
            return write(RPCFault(.parseError, "a line may take \(InputLines.bytesMax) bytes").answer)
        }
        let json: JSONValue
        do {
            json = try JSONValue(bytes)
        } catch {
            return write(RPCFault(.parseError, "the line is not JSON in UTF-8, or is too deep, or has a number of more than 64 bits").answer)
        }
        guard case .array(let items) = json else { return deliver([begin(json)], asBatch: false) }
        guard version?.takesBatches == true, (1...Self.batchMax).contains(items.count) else {
            let text = "a line holds one message\(version?.takesBatches == true ? ", or 1 to \(Self.batchMax)" : "")"
            return write(RPCFault(.invalidRequest, text).answer)
        }
        deliver(items.map(begin), asBatch: true)
    }

    /// Returns when all calls under way are answered: the end of the input does not cut them short.
    func finish() async {
        while let delivery = deliveries.values.first { await delivery.value }
    }

    // MARK: Answers

    private enum Pending {
        case nothing
        case ready(JSONValue)
        case call(Task<JSONValue?, Never>)
    }

    private func deliver(_ pending: [Pending], asBatch isBatch: Bool) {
        let isWaiting = pending.contains { if case .call = $0 { true } else { false } }
        guard isWaiting else {
            return write(pending.compactMap { if case .ready(let answer) = $0 { answer } else { nil } }, asBatch: isBatch)
        }
        deliveryCount += 1
        let number = deliveryCount
        deliveries[number] = Task {
            var answers: [JSONValue] = []
            for item in pending {
                switch item {
                case .nothing: break
                case .ready(let answer): answers.append(answer)
                case .call(let task): if let answer = await task.value { answers.append(answer) }
                }
            }
            write(answers, asBatch: isBatch)
            deliveries[number] = nil
        }
    }

    private func write(_ answers: [JSONValue], asBatch isBatch: Bool) {
        guard let first = answers.first else { return }
        write(isBatch ? .array(answers) : first)
    }

    private func write(_ json: JSONValue) {
        guard failure == nil else { return }
        do {
            try send(json.text)
        } catch {
            failure = error
        }
    }

    // MARK: Messages

    private func begin(_ json: JSONValue) -> Pending {
        do throws(RPCFault) {
            switch try RPCMessage(json) {
            case .ignored: return .nothing
            case .notification(let method, let params):
                if method == "notifications/cancelled", let id = RPCID(params["requestId"]) { calls[id]?.cancel() }
                return .nothing
            case .request(let id, let method, let params):
                do throws(RPCFault) {
                    return try begin(id, method, params)
                } catch {
                    return .ready(RPCFault(error.code, error.message, id: id).answer)
                }
            }
        } catch {
            return .ready(error.answer)
        }
    }

    private func begin(_ id: RPCID, _ method: String, _ params: [String: JSONValue]) throws(RPCFault) -> Pending {
        switch method {
        case "initialize": return .ready(id.answer(try initialize(params)))
        case "ping": return .ready(id.answer(.object([:])))
        case "tools/list": return .ready(id.answer(try tools.page(after: params["cursor"], for: try requireVersion())))
        case "tools/call": return .call(try call(id, params, for: try requireVersion()))
        default: throw RPCFault(.methodNotFound, "there is no method of this name; nacre mcp offers tools/list and tools/call")
        }
    }

    private func requireVersion() throws(RPCFault) -> MCPVersion {
        guard let version else { throw RPCFault(.invalidRequest, "initialize comes first") }
        return version
    }

    private func initialize(_ params: [String: JSONValue]) throws(RPCFault) -> JSONValue {
        guard version == nil else { throw RPCFault(.invalidRequest, "the session is initialized already") }
        guard case .string(let asked) = params["protocolVersion"] else { throw RPCFault(.invalidParams, "protocolVersion must be a string") }
        // The protocol: a server that does not speak the version answers the latest that it speaks.
        let chosen = MCPVersion(rawValue: asked) ?? .latest
        version = chosen
        return .object([
            "protocolVersion": .string(chosen.rawValue), "capabilities": .object(["tools": .object([:])]),
            "serverInfo": .object(["name": .string("nacre"), "title": .string("Nacre"), "version": .string(ServerVersion.current)]),
            "instructions": .string(tools.instructions),
        ])
    }

    private func call(_ id: RPCID, _ params: [String: JSONValue], for version: MCPVersion) throws(RPCFault) -> Task<JSONValue?, Never> {
        guard case .string(let name) = params["name"] else { throw RPCFault(.invalidParams, "name must be a string") }
        let tool = try tools.tool(named: name)
        let given: [String: JSONValue]
        switch params["arguments"] {
        case nil, .null: given = [:]
        case .object(let members): given = members
        default: throw RPCFault(.invalidParams, "arguments must be an object")
        }
        guard calls[id] == nil else { throw RPCFault(.invalidRequest, "a request with this id is under way") }
        guard calls.count < Self.callsMax else { throw RPCFault(.busy, "\(Self.callsMax) calls are under way: wait for an answer") }
        let task = Task { () -> JSONValue? in
            let began = ContinuousClock.now
            let result = await tool.result(of: given, context)
            calls[id] = nil
            // The protocol: a cancelled request gets no answer.
            let isCancelled = Task.isCancelled
            let isError = result.isError
            let milliseconds = began.duration(to: .now) / .milliseconds(1)
            logger.log(
                isError ? .notice : .info, "A tool was called",
                [
                    .name: .string(tool.name), .durationMilliseconds: .double(milliseconds.rounded()),
                    .status: .string(isCancelled ? "cancelled" : isError ? "refused" : "done"),
                ])
            return isCancelled ? nil : id.answer(result.json(for: version))
        }
        calls[id] = task
        return task
    }
}
