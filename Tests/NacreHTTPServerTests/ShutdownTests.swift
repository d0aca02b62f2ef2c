import NacreCloudTestSupport
import NacreHTTPServer
import NacreLocks
import Testing

@Suite(.timeLimit(.minutes(5))) struct ShutdownTests {
    @Test func `what is under way is finished, idle connections close, and nothing new is accepted`() async throws {
        let gate = Gate()
        try await withServer(
            configured { $0.loopCount = 2 },
            routes: routing { router in
                router.get("/wait") { _, _ in
                    await gate.pass()
                    return .text("waited")
                }
            }
        ) { server in
            let waiting = try await server.client()
            try await waiting.send("GET /wait HTTP/1.1\r\nHost: a\r\n\r\n")
            let idle = try await server.client()
            try await idle.send("GET /ping HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try await idle.response().text == "pong")
            async let first: Void = server.server.shutdown(grace: .seconds(30))
            async let second: Void = server.server.shutdown(grace: .seconds(30))
            #expect(try await idle.rest().isEmpty)
            // The loops drain one after the other; once both have, connections are refused.
            var isRefused = false
            while !isRefused {
                do { _ = try await server.client() } catch { isRefused = true }
            }
            await gate.open()
            let response = try await waiting.response()
            #expect(response.text == "waited" && response.header("Connection") == "close")
            #expect(try await waiting.rest().isEmpty)
            _ = await (first, second)
            await server.server.shutdown(grace: .seconds(30))
        }
    }

    @Test func `a stream that ends with the server is not waited for until its client closes`() async throws {
        let gate = Gate()
        try await withServer(
            routes: routing { router in
                router.get("/stream") { _, _ in
                    HTTPResponse(
                        .ok,
                        body: .stream { writer in
                            try await writer.write([65])
                            await gate.pass()
                            try await writer.write([66])
                        })
                }
            }
        ) { server in
            let client = try await server.client()
            try await client.send("GET /stream HTTP/1.1\r\nHost: a\r\n\r\n")
            try await server.settle()
            // Longer than the suite may take.
            async let end: Void = server.server.shutdown(grace: .seconds(600))
            var isRefused = false
            while !isRefused {
                do { _ = try await server.client() } catch { isRefused = true }
            }
            await gate.open()
            let text = String(decoding: try await client.rest(), as: UTF8.self)
            #expect(text.contains("B") && text.hasSuffix("0\r\n\r\n"), "it is whole, and its connection closed")
            await end
        }
    }

    @Test func `after the grace the rest is cancelled and closed`() async throws {
        let stubborn = Gate()
        let cancelled = Gate()
        try await withServer(
            routes: routing { router in
                router.get("/cancellable") { _, _ in
                    let (stream, continuation) = AsyncStream<Never>.makeStream()
                    await withTaskCancellationHandler {
                        for await _ in stream {}
                    } onCancel: {
                        continuation.finish()
                    }
                    await cancelled.open()
                    return .text("too late")
                }
                router.get("/stubborn") { _, _ in
                    await stubborn.pass()
                    return .text("too late")
                }
                router.post("/unread") { _, _ in
                    await stubborn.pass()
                    return .text("too late")
                }
                router.get("/stream") { _, _ in
                    HTTPResponse(
                        .ok,
                        body: .stream { writer in
                            try await writer.write([65])
                            await stubborn.pass()
                        })
                }
            }
        ) { server in
            var clients: [RawClient] = []
            for request in [
                "GET /cancellable HTTP/1.1\r\nHost: a\r\n\r\n", "GET /stubborn HTTP/1.1\r\nHost: a\r\n\r\n",
                "POST /unread HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\nx", "GET /stream HTTP/1.1\r\nHost: a\r\n\r\n",
                "GET /pi", "POST /unread HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nx",
            ] {
                let client = try await server.client()
                try await client.send(request)
                clients.append(client)
            }
            try await server.settle()
            await server.server.shutdown(grace: .milliseconds(20))
            for client in clients { #expect(try await !String(decoding: client.rest(), as: UTF8.self).contains("too late")) }
            // Tasks that outlive their loop still end.
            await cancelled.pass()
            await stubborn.open()
        }
    }

    @Test func `a handler may stop its own server`() async throws {
        let stopped = Gate()
        let server = Locked<HTTPServer?>(nil)
        try await withServer(
            routes: routing { router in
                router.post("/stop") { _, _ in
                    Task {
                        await server.withLock { $0 }?.shutdown(grace: .seconds(30))
                        await stopped.open()
                    }
                    return .text("stopping")
                }
            }
        ) { running in
            server.withLock { $0 = running.server }
            let response = try await running.exchange("POST /stop HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(response.text == "stopping")
            await stopped.pass()
            server.withLock { $0 = nil }
        }
    }

    @Test func `a server that never started, or stopped, stops at once, and does not start again`() async throws {
        let server = HTTPServer(HTTPServerConfiguration(), router: Router())
        try await server.start()
        await server.shutdown(grace: .seconds(30))
        await server.shutdown(grace: .seconds(30))
        await #expect(throws: ServerStartError.self) { try await server.start() }
        await HTTPServer(HTTPServerConfiguration(), router: Router()).shutdown(grace: .seconds(30))
    }
}
