import NacreLocks
import Testing

@testable import NacreCloudCLI

/// An agent in this process: speaks with a session of `nacre mcp`, and keeps what it hears.
final class MCPAgent: Sendable {
    let session: MCPSession
    private let heard: Locked<[JSONValue]>
    private let count = Locked(0)

    /// Begins a session; it is not initialized yet.
    init(_ tools: ToolTable = ToolTable(allowsWrites: false), _ context: ToolContext = ToolContext(connect: { throw ToolFault("no server") })) {
        let heard = Locked<[JSONValue]>([])
        self.heard = heard
        session = MCPSession(tools: tools, context: context) { line in
            let answer = try JSONValue(Array(line.utf8))
            heard.withLock { $0.append(answer) }
        }
    }

    /// Begins an initialized session with the server of a data folder.
    static func of(_ server: RunningServer, allowsPrivate: Bool = false, allowsWrites: Bool = false) async -> MCPAgent {
        var call = Call(path: ["nacre", "mcp"])
        call.set(SharedOptions.data, server.data)
        let context = ToolContext(connect: { [call] in try await AdminClient.connect(call) }, allowsPrivate: allowsPrivate)
        let agent = MCPAgent(ToolTable(allowsWrites: allowsWrites), context)
        await agent.initialize()
        return agent
    }

    @discardableResult
    func initialize(_ version: String = "2025-06-18") async -> JSONValue? {
        await say(#"{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"\#(version)","capabilities":{}}}"#).first
    }

    /// Says a line.
    /// - Returns: What the server says until all calls are answered.
    @discardableResult
    func say(_ line: String) async -> [JSONValue] {
        await begin(line)
        await session.finish()
        return heard.withLock { heard in
            defer { heard = [] }
            return heard
        }
    }

    /// Says a line, and does not wait for answers.
    func begin(_ line: String) async {
        await session.take(.bytes(Array(line.utf8)))
    }

    /// Calls a tool.
    /// - Returns: Its result.
    func result(of tool: String, _ arguments: [String: JSONValue] = [:]) async throws -> JSONValue {
        let id = count.withLock { count in
            count += 1
            return Int64(count)
        }
        let params: JSONValue = .object(["name": .string(tool), "arguments": .object(arguments)])
        let message: JSONValue = .object(["jsonrpc": .string("2.0"), "id": .integer(id), "method": .string("tools/call"), "params": params])
        let answer = try #require(await say(message.text).first)
        #expect(answer["id"] == .integer(id))
        return try #require(answer["result"], "\(answer.text)")
    }

    /// Calls a tool that must succeed.
    /// - Returns: Its values.
    func call(_ tool: String, _ arguments: [String: JSONValue] = [:]) async throws -> JSONValue {
        let result = try await result(of: tool, arguments)
        #expect(result["isError"] == .boolean(false), "\(result.text)")
        let value = try #require(result["structuredContent"])
        #expect(result["content"]?.items?.first?["text"] == .string(value.text))
        return value
    }

    /// Calls a tool that must fail.
    /// - Returns: The error.
    func fault(_ tool: String, _ arguments: [String: JSONValue] = [:]) async throws -> JSONValue {
        let result = try await result(of: tool, arguments)
        #expect(result["isError"] == .boolean(true), "\(result.text)")
        return try #require(result["structuredContent"])
    }
}
