import NacreCloudTestSupport
import NacreHTTPServer
import NacreLocks
import Testing

/// Tests that oversized requests are refused with their own status, and that the server goes on.
@Suite(.timeLimit(.minutes(5))) struct LimitTests {
    @Test(arguments: [(15, 200), (17, 431), (60, 431), (300, 431)])
    func `headers pass below 16 KB and are 431 above`(_ kilobytes: Int, _ status: Int) async throws {
        try await withServer(routes: routing { _ in }) { server in
            let one = try await server.client()
            let filler = String(repeating: "x", count: kilobytes * 1024)
            // A server that has refused may close while the rest is still being sent.
            try? await one.send("GET /ping HTTP/1.1\r\nHost: a\r\nX-Filler: \(filler)\r\n\r\n")
            #expect(try await one.response().status == status)
            let lines = (0..<kilobytes * 16).map { "X-\(1000 + $0): \(String(repeating: "x", count: 54))\r\n" }.joined()
            let many = try await server.client()
            try? await many.send("GET /ping HTTP/1.1\r\nHost: a\r\n\(lines)\r\n")
            let response = try await many.response()
            #expect(response.status == status || response.status == 431, "many lines cost more than their text")
            #expect(try await server.get("/ping").status == 200)
        }
    }

    @Test(arguments: ["&", "a=b&"], [129, 350, 2500])
    func `a query of more than 128 parameters is 414, and the server lives on`(_ parameter: String, _ count: Int) async throws {
        try await withServer(routes: routing { _ in }) { server in
            for _ in 0..<20 {
                let client = try await server.client()
                try? await client.send("GET /ping?\(String(repeating: parameter, count: count)) HTTP/1.1\r\nHost: a\r\n\r\n")
                let response = try await client.response()
                #expect(response.status == 414, "\(response.text)")
                #expect(try await client.rest().isEmpty)
                let refused = try await server.client()
                try await refused.send("GET /ping HTTP/1.1\r\nX: a\r\n\r\n")
                #expect(try await refused.response().status == 400)
            }
            #expect(try await server.get("/ping?\(String(repeating: "a=b&", count: 127))").status == 200)
        }
    }

    @Test func `a request line that is too long is 414, whether its end comes or not`() async throws {
        try await withServer(routes: routing { _ in }) { server in
            for end in ["", " HTTP/1.1\r\nHost: a\r\n\r\n"] {
                let client = try await server.client()
                try? await client.send("GET /\(String(repeating: "a", count: 100_000))\(end)")
                #expect(try await client.response().status == 414)
            }
        }
    }

    @Test func `many cookies are many, and not too many`() async throws {
        try await withServer(routes: routing { $0.get("/cookie") { request, _ in .text(request.header("Cookie") ?? "") } }) { server in
            let cookies = (0..<1500).map { "a\($0)=b" }.joined(separator: "; ")
            let answer = try await server.get("/cookie", "Cookie: \(cookies)")
            #expect(answer.text == cookies)
        }
    }

    @Test func `a line before a chunk, or trailers, beyond 4 KB are 400`() async throws {
        try await withServer(routes: routing { $0.post("/echo") { request, _ in .text("\(try await request.body.collect().count)") } }) { server in
            for before in ["2;", "1\r\nx\r\n0\r\nX: "] {
                let client = try await server.client()
                try await client.send("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
                try? await client.send(before + String(repeating: "a", count: 100_000))
                #expect(try await client.response().status == 400)
                #expect(try await client.rest().isEmpty)
            }
        }
    }

    @Test func `a body beyond the limit of the server or of its route is 413, however it is framed`() async throws {
        try await withServer(
            configured { $0.bodyBytesMax = 1000 },
            routes: routing { router in
                router.post("/small") { request, _ in .text("\(try await request.body.collect().count)") }
                router.post("/large", bodyBytesMax: 1_000_000) { request, _ in .text("\(try await request.body.collect().count)") }
                router.post("/strict") { request, _ in .text("\(try await request.body.collect(upTo: 10).count)") }
            }
        ) { server in
            for (path, count, status) in [
                ("/small", 1000, 200), ("/small", 1001, 413), ("/small", 900_000, 413), ("/large", 1_000_000, 200), ("/large", 1_000_001, 413),
                ("/strict", 11, 413), ("/large", 100_000_000, 413),
            ] {
                let client = try await server.client()
                try await client.send("POST \(path) HTTP/1.1\r\nHost: a\r\nContent-Length: \(count)\r\n\r\n")
                if count <= 2_000_000 { try? await client.send([UInt8](repeating: 65, count: count)) }
                #expect(try await client.response().status == status, "\(path) \(count)")
                guard count <= 2_000_000 else { continue }
                let chunked = try await server.client()
                try await chunked.send("POST \(path) HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
                let size = String(count, radix: 16)
                try? await chunked.send(Array("\(size)\r\n".utf8) + [UInt8](repeating: 65, count: count) + Array("\r\n0\r\n\r\n".utf8))
                #expect(try await chunked.response().status == status, "\(path) \(count) chunked")
            }
        }
    }

    @Test func `a refused body that is short leaves the connection usable`() async throws {
        try await withServer(configured { $0.bodyBytesMax = 1000 }, routes: routing { $0.post("/small") { _, _ in .text("no") } }) { server in
            let client = try await server.client()
            try await client.send("POST /small HTTP/1.1\r\nHost: a\r\nContent-Length: 2000\r\n\r\n" + String(repeating: "x", count: 2000))
            #expect(try await client.response().status == 413)
            try await client.send("GET /ping HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try await client.response().text == "pong")
        }
    }

    @Test func `beyond the requests under way the answer is 503 with Retry-After`() async throws {
        let gate = Gate()
        try await withServer(
            configured { $0.budgets = Budgets(slots: Budget.Parts(stranger: 1, guest: 0, user: 0)) },
            routes: routing { router in
                router.get("/wait") { _, _ in
                    await gate.pass()
                    return .text("waited")
                }
            }
        ) { server in
            let waiting = try await server.client()
            try await waiting.send("GET /wait HTTP/1.1\r\nHost: a\r\n\r\n")
            try await server.settle()
            let refused = try await server.get("/ping")
            #expect(refused.status == 503 && refused.header("Retry-After") == "1")
            await gate.open()
            #expect(try await waiting.response().text == "waited")
            #expect(try await server.get("/ping").status == 200)
        }
    }

    @Test func `connections beyond the limit wait until one is free`() async throws {
        try await withServer(configured { $0.connectionsMax = 2 }, routes: routing { _ in }) { server in
            try await server.settle()
            let second = try await server.client()
            try await second.send("GET /ping HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try await second.response().status == 200)
            let third = try await server.client()
            try await third.send("GET /ping HTTP/1.1\r\nHost: a\r\n\r\n")
            second.hangUp()
            #expect(try await third.response().status == 200)
        }
    }

    @Test func `an address in use is refused`() async throws {
        try await withServer(routes: routing { _ in }) { server in
            var configuration = HTTPServerConfiguration()
            configuration.port = server.port
            configuration.loopCount = 2
            let second = HTTPServer(configuration, router: Router())
            let error = await #expect(throws: ServerStartError.self) { try await second.start() }
            #expect(error?.step == .bind)
        }
    }

    @Test func `several loops share one port`() async throws {
        try await withServer(configured { $0.loopCount = 3 }, routes: routing { _ in }) { server in
            for _ in 0..<20 {
                let response = try await server.get("/ping")
                #expect(response.text == "pong")
            }
        }
    }
}
