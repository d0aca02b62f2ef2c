/// A message of JSON-RPC 2.0 as the Model Context Protocol restricts it.
enum RPCMessage: Sendable {
    case request(RPCID, method: String, params: [String: JSONValue])
    case notification(method: String, params: [String: JSONValue])
    /// A message that asks for nothing: an answer, since this server makes no requests, or a malformed notification.
    case ignored

    /// Reads a message.
    init(_ json: JSONValue) throws(RPCFault) {
        guard case .object(let members) = json else { throw RPCFault(.invalidRequest, "a message is an object") }
        let id: RPCID?
        switch members["id"] {
        case nil: id = nil
        case .integer(let number): id = .number(number)
        case .string(let text): id = .text(text)
        default: throw RPCFault(.invalidRequest, "id must be a string or a whole number of 64 bits")
        }
        guard members["jsonrpc"] == .string("2.0") else { throw RPCFault(.invalidRequest, "jsonrpc must be \"2.0\"", id: id) }
        guard let method = members["method"] else {
            guard id != nil, members["result"] != nil || members["error"] != nil else { throw RPCFault(.invalidRequest, "method is missing", id: id) }
            self = .ignored
            return
        }
        guard case .string(let method) = method else { throw RPCFault(.invalidRequest, "method must be a string", id: id) }
        var params: [String: JSONValue] = [:]
        switch members["params"] {
        case nil, .null: break
        case .object(let given): params = given
        default:
            guard let id else {
                self = .ignored
                return
            }
            throw RPCFault(.invalidParams, "params must be an object", id: id)
        }
        self = id.map { .request($0, method: method, params: params) } ?? .notification(method: method, params: params)
    }
}

/// The ID of a request: a string or a whole number. Null is no ID in the Model Context Protocol.
enum RPCID: Hashable, Sendable {
    case number(Int64)
    case text(String)

    init?(_ json: JSONValue?) {
        switch json {
        case .integer(let number): self = .number(number)
        case .string(let text): self = .text(text)
        default: return nil
        }
    }

    fileprivate var json: JSONValue {
        switch self {
        case .number(let number): .integer(number)
        case .text(let text): .string(text)
        }
    }

    /// Returns the answer to the request.
    func answer(_ result: JSONValue) -> JSONValue {
        .object(["jsonrpc": .string("2.0"), "id": json, "result": result])
    }
}

/// An error of the protocol; errors of tools are results.
struct RPCFault: Error, Equatable {
    enum Code: Int64 {
        case parseError = -32700
        case invalidRequest = -32600
        case methodNotFound = -32601
        case invalidParams = -32602
        /// More requests under way than there may be. Ours: JSON-RPC leaves -32000 to -32099 to servers.
        case busy = -32000
    }

    let code: Code
    let message: String
    /// nil: the request's ID could not be read.
    var id: RPCID?

    init(_ code: Code, _ message: String, id: RPCID? = nil) {
        (self.code, self.message, self.id) = (code, message, id)
    }

    var answer: JSONValue {
        .object([
            "jsonrpc": .string("2.0"), "id": id?.json ?? .null,
            "error": .object(["code": .integer(code.rawValue), "message": .string(message)]),
        ])
    }
}
