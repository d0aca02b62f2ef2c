import NacreCloudTestSupport
import NacreHTTPServer
import NacreTelemetry
import Testing

/// Tests that slow clients are closed, also those that send a byte at times.
@Suite(.timeLimit(.minutes(5))) struct DeadlineTests {
    private func drip(_ request: String, _ server: ServerUnderTest) async throws {
        let client = try await server.client()
        try await client.send(request)
        // Further bytes do not extend the deadline. Ends when the server closes, or by the time limit.
        var isOpen = true
        while isOpen {
            try await server.settle()
            isOpen = client.sendNow([UInt8(ascii: "x")]) == 1
        }
        #expect(try await client.rest().isEmpty)
    }

    @Test(arguments: ["", "GET /ping HTTP/1.1\r\nHost: a\r\nX: "])
    func `headers that drip in are cut off at their deadline`(_ request: String) async throws {
        let telemetry = Telemetry()
        try await withServer(configured { $0.headerDeadline = .milliseconds(150) }, telemetry: telemetry, routes: routing { _ in }) { server in
            try await drip(request, server)
            #expect(telemetry.counter(.httpLate).value >= 1)
        }
    }

    @Test(arguments: [1000, 10_000_000])
    func `a body that drips in is cut off at its deadline`(_ length: Int) async throws {
        try await withServer(
            configured {
                $0.bodyDeadline = .milliseconds(150)
                $0.bodyBytesMax = 20_000_000
            }, routes: routing { $0.post("/read") { request, _ in .text("\(try await request.body.collect().count)") } }
        ) { server in
            try await drip("POST /read HTTP/1.1\r\nHost: a\r\nContent-Length: \(length)\r\n\r\n", server)
            #expect(try await server.exchange("POST /read HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx").text == "1")
        }
    }

    @Test func `an idle connection is closed, one whose handler works is not`() async throws {
        let gate = Gate()
        try await withServer(
            configured {
                $0.idleTimeout = .milliseconds(40)
            },
            routes: routing { router in
                router.get("/wait") { _, _ in
                    await gate.pass()
                    return .text("waited")
                }
            }
        ) { server in
            let working = try await RawClient(port: server.port)
            try await working.send("GET /wait HTTP/1.1\r\nHost: a\r\n\r\n")
            let idle = try await server.client()
            try await idle.send("GET /ping HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try await idle.response().text == "pong")
            #expect(try await idle.rest().isEmpty)
            await gate.open()
            #expect(try await working.response().text == "waited")
        }
    }

    @Test func `a handler that works beyond its deadline is cancelled and answered 503, one that only waits is not`() async throws {
        let gate = Gate()
        let telemetry = Telemetry()
        try await withServer(
            configured { $0.workDeadline = .milliseconds(40) }, telemetry: telemetry,
            routes: routing { router in
                router.get("/work") { _, _ in
                    await HangUpTests.waitForCancellation()
                    throw CancellationError()
                }
                router.get("/wait") { request, _ in
                    await request.ledger.whileWaiting { await gate.pass() }
                    return .text("waited")
                }
            }
        ) { server in
            let waiting = try await server.client()
            try await waiting.send("GET /wait HTTP/1.1\r\nHost: a\r\n\r\n")
            let answer = try await server.get("/work")
            #expect(answer.status == 503)
            #expect(answer.headers.contains { $0.name == "Retry-After" && $0.value == "30" })
            #expect(telemetry.counter(.httpLate).value == 1)
            await gate.open()
            #expect(try await waiting.response().text == "waited")
            #expect(try await server.get("/ping").status == 200)
        }
    }

    @Test func `the body's clock stands while the handler does not read`() async throws {
        let gate = Gate()
        try await withServer(
            configured {
                $0.bodyDeadline = .milliseconds(100)
            },
            routes: routing { router in
                router.post("/later") { request, _ in
                    await gate.pass()
                    return .text("\(try await request.body.collect().count)")
                }
            }
        ) { server in
            // The kernel holds the whole body until the server reads it.
            let client = try await RawClient(port: server.port, sendBuffer: 400_000)
            try await client.send("POST /later HTTP/1.1\r\nHost: a\r\nContent-Length: 200000\r\n\r\n")
            try await client.send([UInt8](repeating: 65, count: 200_000))
            // Waits longer than the deadline: another connection that began later has been closed.
            let late = try await server.client()
            try await late.send("POST /later HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nx")
            #expect(try await late.rest().isEmpty)
            await gate.open()
            #expect(try await client.response().text == "200000")
        }
    }
}
