import NacreLocks
import Testing

@testable import NacreCloudCLI

/// Tests of the Model Context Protocol as `nacre mcp` speaks it, without a server.
struct MCPProtocolTests {
    private static let call = #"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"explain_error","arguments":{"code":"CONFLICT"}}}"#

    /// Returns the code of the error in an answer.
    private func code(_ answer: JSONValue?) -> Int64? { answer?["error"]?["code"]?.integer }

    @Test(arguments: [("2024-11-05", "2024-11-05"), ("2025-03-26", "2025-03-26"), ("2025-06-18", "2025-06-18"), ("2031-01-01", "2025-06-18")])
    func `the session has the version that was asked for if it is spoken, and the latest otherwise`(asked: String, given: String) async throws {
        let agent = MCPAgent()
        let answer = try #require(await agent.initialize(asked))
        #expect(answer["result"]?["protocolVersion"] == .string(given) && answer["result"]?["capabilities"]?["tools"] == .object([:]))
        #expect(await agent.say(#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).isEmpty)
        let tool = try #require(await agent.say(#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#).first?["result"]?["tools"]?.items?.first)
        #expect((tool["title"] != nil) == (given == "2025-06-18") && (tool["annotations"] != nil) == (given != "2024-11-05"))
        let result = try #require(await agent.say(Self.call).first?["result"])
        #expect((result["structuredContent"] != nil) == (given == "2025-06-18"))
        #expect(result["content"]?.items?.first?["text"]?.string?.contains("recordChangeTag") == true && result["isError"] == .boolean(false))
    }

    @Test func `before initialize only pings are answered, and a second initialize is refused`() async {
        let agent = MCPAgent()
        #expect(await code(agent.say(Self.call).first) == -32600)
        #expect(await agent.say(#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#).first?["result"] == .object([:]))
        await agent.initialize()
        #expect(await code(agent.initialize()) == -32600)
        #expect(await code(agent.say(#"{"jsonrpc":"2.0","id":1,"method":"resources/list"}"#).first) == -32601)
    }

    @Test func `a message that is none gets the error of JSON-RPC with the ID that it has, and the session goes on`() async {
        let agent = MCPAgent()
        await agent.initialize()
        let deep = String(repeating: "[", count: 5000)
        let faults: [(String, Int64, JSONValue)] = [
            ("no JSON", -32700, .null), ("{", -32700, .null), (deep, -32700, .null), (#"{"id":1e999}"#, -32700, .null),
            (#"{"jsonrpc":"2.0","id":123456789012345678901234567890,"method":"ping"}"#, -32700, .null),
            ("1", -32600, .null), ("null", -32600, .null), ("[]", -32600, .null), ("[\(Self.call)]", -32600, .null), ("{}", -32600, .null),
            (#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600, .null), (#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, -32600, .null),
            (#"{"jsonrpc":"2.0","id":true,"method":"ping"}"#, -32600, .null), (#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, -32600, .null),
            (#"{"jsonrpc":"1.0","id":"a","method":"ping"}"#, -32600, .string("a")), (#"{"id":3,"method":"ping"}"#, -32600, .integer(3)),
            (#"{"jsonrpc":"2.0","id":4,"method":5}"#, -32600, .integer(4)), (#"{"jsonrpc":"2.0","id":5}"#, -32600, .integer(5)),
            (#"{"jsonrpc":"2.0","id":6,"method":"ping","params":[1]}"#, -32602, .integer(6)),
            (#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":1}}"#, -32602, .integer(7)),
            (#"{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"explain_error","arguments":[]}}"#, -32602, .integer(8)),
            (#"{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"explain_errors"}}"#, -32602, .integer(9)),
            (#"{"jsonrpc":"2.0","id":"","method":"tools/list","params":{"cursor":"nowhere"}}"#, -32602, .string("")),
        ]
        for (line, expected, id) in faults {
            let answers = await agent.say(line)
            #expect(answers.count == 1 && code(answers.first) == expected && answers.first?["id"] == id, "\(line.prefix(80)): \(answers)")
        }
        for line in [
            #"{"jsonrpc":"2.0","id":1,"result":{}}"#, #"{"jsonrpc":"2.0","method":"notifications/of/tomorrow","params":[]}"#,
            #"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}"#,
        ] { #expect(await agent.say(line).isEmpty, "\(line)") }
        let last = #"{"jsonrpc":"2.0","id":-9223372036854775808,"method":"ping"}"#
        #expect(await agent.say(last).first?["id"] == .integer(.min))
    }

    @Test func `a batch is answered with one array in 2025-03-26, without notifications and with the errors of its messages`() async throws {
        let agent = MCPAgent()
        await agent.initialize("2025-03-26")
        let batch = #"[\#(Self.call),{"jsonrpc":"2.0","method":"notifications/initialized"},{"jsonrpc":"2.0","id":8,"method":"none"},1]"#
        let answers = await agent.say(batch)
        #expect(answers.count == 1)
        let items = try #require(answers.first?.items)
        #expect(items.map { $0["id"] } == [.integer(7), .integer(8), .null] && items.map { code($0) } == [nil, -32601, -32600])
        #expect(await agent.say(#"[{"jsonrpc":"2.0","method":"notifications/initialized"}]"#).isEmpty)
        let tooMany = "[\(Array(repeating: "1", count: MCPSession.batchMax + 1).joined(separator: ","))]"
        #expect(await code(agent.say(tooMany).first) == -32600)
    }

    @Test func `lines are cut at line feeds wherever the input is cut, and one beyond the bound is dropped alone`() {
        let text = "one\r\n\n  \ntwo\nmuch too long\nüç\nend"
        let expected: [InputLines.Line] = [.bytes(Array("one\r".utf8)), .bytes(Array("two".utf8)), .tooLong, .bytes(Array("üç".utf8))]
        for size in 1...text.utf8.count {
            var (lines, found, rest) = (InputLines(bytesMax: 8), [InputLines.Line](), Array(text.utf8)[...])
            while !rest.isEmpty {
                found += lines.take(Array(rest.prefix(size)))
                rest = rest.dropFirst(size)
            }
            #expect(found == expected && lines.end() == .bytes(Array("end".utf8)), "\(size)")
            #expect(lines.end() == nil)
        }
    }

    @Test func `a line beyond the bound gets a parse error`() async {
        let agent = MCPAgent()
        await agent.session.take(.tooLong)
        #expect(await agent.say(#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#).map { code($0) } == [-32700, nil])
    }

    /// A tool whose calls end only when they are cancelled.
    private func endless(_ began: Locked<Int>) -> NacreCloudCLI.Tool {
        NacreCloudCLI.Tool("endless", "Endless", "Ends when it is cancelled.", []) { _, _ in
            began.withLock { $0 += 1 }
            for await _ in AsyncStream<Never>.makeStream().stream {}
            return ToolAnswer([:])
        }
    }

    private func called(_ id: Int) -> String {
        #"{"jsonrpc":"2.0","id":\#(id),"method":"tools/call","params":{"name":"endless"}}"#
    }

    @Test func `calls run side by side up to a bound, and a cancelled one gets no answer`() async {
        let agent = MCPAgent(ToolTable(allowsWrites: false, of: [endless(Locked(0))]))
        await agent.initialize()
        for id in 0..<MCPSession.callsMax { await agent.begin(called(id)) }
        await agent.begin(called(0))
        await agent.begin(called(1000))
        await agent.begin(#"{"jsonrpc":"2.0","id":"alive","method":"ping"}"#)
        for id in 0..<MCPSession.callsMax {
            await agent.begin(#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":\#(id),"reason":"enough"}}"#)
        }
        let answers = await agent.say(#"{"jsonrpc":"2.0","id":"after","method":"ping"}"#)
        #expect(answers.map { $0["id"] } == [.integer(0), .integer(1000), .string("alive"), .string("after")])
        #expect(answers.map { code($0) } == [-32600, -32000, nil, nil])
    }

    @Test func `a session whose answers cannot be written says why, and writes no more`() async {
        let session = MCPSession(
            tools: ToolTable(allowsWrites: false), context: ToolContext(connect: { throw ToolFault("no server") })
        ) { _ in throw CommandFailure(.failure, "standard output cannot be written") }
        await session.take(.bytes(Array(#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#.utf8)))
        #expect(await session.failure is CommandFailure)
    }
}
