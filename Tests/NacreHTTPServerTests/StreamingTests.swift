import NacreCloudTestSupport
import NacreHTTPServer
import NacreLocks
import Testing

/// Tests that bodies in both directions are never held whole, however slow the other side is.
@Suite(.timeLimit(.minutes(5))) struct StreamingTests {
    private static let total = 48 * 1024 * 1024
    /// Bytes of both sockets' buffers, which the kernel lets grow (`tcp_rmem`, `tcp_wmem`), and ours.
    private static let inBetween = 16 * 1024 * 1024

    @Test func `an upload goes no further than its handler reads`() async throws {
        let gate = Gate()
        try await withServer(
            routes: routing { router in
                router.put("/upload", bodyBytesMax: Self.total) { request, _ in
                    var count = 0
                    for try await piece in request.body {
                        await gate.pass()
                        count += piece.count
                    }
                    return .text("\(count)")
                }
            }
        ) { server in
            let client = try await RawClient(port: server.port, sendBuffer: 65_536)
            try await client.send("PUT /upload HTTP/1.1\r\nHost: a\r\nContent-Length: \(Self.total)\r\n\r\n")
            let piece = [UInt8](repeating: 65, count: 65_536)
            var sent = 0
            var refusals = 0
            while refusals < 20, sent < Self.total {
                let count = client.sendNow(Array(piece.prefix(Self.total - sent)))
                sent += count
                refusals = count == 0 ? refusals + 1 : 0
                if count == 0 { try await server.settle() }
            }
            #expect(sent < Self.inBetween, "the server took what nobody read")
            await gate.open()
            try await client.send([UInt8](repeating: 65, count: Self.total - sent))
            #expect(try await client.response().text == "\(Self.total)")
            try await client.send("GET /ping HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try await client.response().text == "pong")
        }
    }

    @Test func `a download is made no faster than its client reads`() async throws {
        let written = Locked(0)
        try await withServer(
            routes: routing { router in
                router.get("/download") { _, _ in
                    HTTPResponse(
                        .ok,
                        body: .stream { writer in
                            let piece = [UInt8](repeating: 65, count: 65_536)
                            for _ in 0..<Self.total / piece.count {
                                try await writer.write(piece)
                                written.withLock { $0 += piece.count }
                            }
                        })
                }
            }
        ) { server in
            let client = try await RawClient(port: server.port, receiveBuffer: 65_536)
            try await client.send("GET /download HTTP/1.1\r\nHost: a\r\n\r\n")
            var before = -1
            var standstills = 0
            while standstills < 20 {
                try await server.settle()
                let now = written.withLock { $0 }
                standstills = now == before ? standstills + 1 : 0
                before = now
            }
            #expect(before < Self.inBetween, "the server made what nobody read")
            let response = try await client.response()
            #expect(response.body.count == Self.total && response.header("Transfer-Encoding") == "chunked")
        }
    }

    @Test func `an echo streams both ways at once, and its pieces keep their order`() async throws {
        try await withServer(
            routes: routing { router in
                router.post("/echo") { request, _ in
                    let body = try await request.body.collect()
                    return HTTPResponse(
                        .ok,
                        body: .stream { writer in
                            for start in stride(from: 0, to: body.count, by: 1000) {
                                try await writer.write(Array(body[start..<min(start + 1000, body.count)]))
                                await Task.yield()
                            }
                        })
                }
            }
        ) { server in
            let client = try await server.client()
            let body = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 / 251) }
            for _ in 0..<3 {
                try await client.send(Array("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: \(body.count)\r\n\r\n".utf8) + body)
                #expect(try await client.response().body == body)
            }
        }
    }

    @Test func `a stream that fails is cut, so that the client sees it`() async throws {
        try await withServer(
            routes: routing { router in
                router.get("/cut") { _, _ in
                    HTTPResponse(
                        .ok,
                        body: .stream { writer in
                            try await writer.write(Array("half".utf8))
                            throw HTTPError(.internalServerError, "Broken.")
                        })
                }
            }
        ) { server in
            let client = try await server.client()
            try await client.send("GET /cut HTTP/1.1\r\nHost: a\r\n\r\n")
            let text = String(decoding: try await client.rest(), as: UTF8.self)
            #expect(!text.hasSuffix("0\r\n\r\n"))
            #expect(try await server.get("/ping").text == "pong")
        }
    }

    /// Reports its release.
    private final class Token: Sendable {
        let gone: @Sendable () -> Void
        init(gone: @escaping @Sendable () -> Void) { self.gone = gone }
        deinit { gone() }
        func use() {}
    }

    @Test func `nothing of a request outlives it`() async throws {
        let gone = Locked(0)
        try await withServer(
            routes: routing { router in
                router.post("/held") { request, _ in
                    let token = Token { gone.withLock { $0 += 1 } }
                    for try await _ in request.body {}
                    return HTTPResponse(
                        .ok,
                        body: .stream { writer in
                            try await writer.write([65])
                            await Task.yield()
                            try await writer.write([66])
                            token.use()
                        })
                }
            }
        ) { server in
            for _ in 0..<3 {
                let client = try await server.client()
                try await client.send("POST /held HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n" + String(repeating: "x", count: 100_000))
                let response = try await client.response()
                #expect(response.text == "AB")
            }
            while gone.withLock({ $0 }) < 3 { try await server.settle() }
        }
    }

    @Test func `a handler that answers while its client waits to send more does not read the rest`() async throws {
        let gate = Gate()
        try await withServer(
            routes: routing { router in
                router.post("/full", bodyBytesMax: Self.total) { request, _ in
                    var iterator = request.body.makeAsyncIterator()
                    _ = try await iterator.next()
                    await gate.pass()
                    return .text("enough")
                }
            }
        ) { server in
            let client = try await RawClient(port: server.port, sendBuffer: 65_536)
            try await client.send("POST /full HTTP/1.1\r\nHost: a\r\nContent-Length: \(Self.total)\r\n\r\n")
            let piece = [UInt8](repeating: 65, count: 65_536)
            var refusals = 0
            while refusals < 20 {
                refusals = client.sendNow(piece) == 0 ? refusals + 1 : 0
                if refusals > 0 { try await server.settle() }
            }
            await gate.open()
            #expect(try await client.response().text == "enough")
        }
    }

    @Test func `a handler may answer before the body has come, and leave the rest unread`() async throws {
        try await withServer(
            routes: routing { router in
                router.post("/early", bodyBytesMax: 100_000_000) { request, _ in
                    var iterator = request.body.makeAsyncIterator()
                    _ = try await iterator.next()
                    return .text("enough")
                }
            }
        ) { server in
            for length in [200_000, 90_000_000] {
                let client = try await server.client()
                try await client.send("POST /early HTTP/1.1\r\nHost: a\r\nContent-Length: \(length)\r\n\r\n" + String(repeating: "x", count: 100_000))
                if length == 200_000 { try await client.send([UInt8](repeating: 65, count: 100_000)) }
                #expect(try await client.response().text == "enough", "\(length)")
            }
        }
    }
}
