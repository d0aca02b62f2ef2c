import NacreCloudTestSupport
import NacreHTTPServer
import Testing

/// Tests that a handler learns whether the client has its answer.
@Suite(.timeLimit(.minutes(5))) struct AnswerReceiptTests {
    /// Runs a server whose `/word` is answered once a gate is open, and which reports the outcome of the answer.
    private static func withWords(
        _ gate: Gate, _ body: (ServerUnderTest, inout AsyncStream<Bool>.AsyncIterator) async throws -> Void
    ) async throws {
        let (verdicts, told) = AsyncStream<Bool>.makeStream()
        var next = verdicts.makeAsyncIterator()
        let router = routing { router in
            router.get("/word") { _, _ in
                await gate.pass()
                var response = HTTPResponse.text("word")
                response.receipt = AnswerReceipt { told.yield($0) }
                return response
            }
        }
        try await withServer(routes: router) { try await body($0, &next) }
    }

    @Test(arguments: ["", "Connection: close\r\n"]) func `an answer that is read was taken`(_ header: String) async throws {
        let gate = Gate()
        await gate.open()
        try await Self.withWords(gate) { server, next in
            let client = try await server.client()
            try await client.send("GET /word HTTP/1.1\r\nHost: a\r\n\(header)\r\n")
            #expect(try await client.response().text == "word")
            client.hangUp()
            #expect(await next.next() == true)
        }
    }

    @Test func `an answer before which the client hung up was not taken, however soon it comes`() async throws {
        for _ in 0..<20 {
            let gate = Gate()
            try await Self.withWords(gate) { server, next in
                let client = try await server.client()
                try await client.send("GET /word HTTP/1.1\r\nHost: a\r\n\r\n")
                try await server.settle()
                client.hangUp()
                await gate.open()
                #expect(await next.next() == false)
            }
        }
    }

    @Test func `an answer that is let go was not taken, and nobody hears of it twice`() async {
        let (verdicts, told) = AsyncStream<Bool>.makeStream()
        for isTaken in [true, nil] {
            let receipt = AnswerReceipt { told.yield($0) }
            if let isTaken { receipt.settle(isTaken: isTaken) }
            receipt.demand()
        }
        told.finish()
        var all: [Bool] = []
        for await verdict in verdicts { all.append(verdict) }
        #expect(all == [true, false])
    }
}
