import NacreCloudTestSupport
import NacreHTTPServer
import NacreLocks
import Testing

/// Tests that a handler is cancelled when its client is gone.
@Suite(.timeLimit(.minutes(5))) struct HangUpTests {
    /// Waits until the task is cancelled; nothing but that ends it.
    static func waitForCancellation() async {
        let (stream, continuation) = AsyncStream<Never>.makeStream()
        await withTaskCancellationHandler {
            for await _ in stream {}
        } onCancel: {
            continuation.finish()
        }
    }

    /// A router whose `/wait` is never answered, and opens a gate when it is cancelled.
    private static func opening(_ cancelled: Gate) -> Router {
        routing { router in
            router.get("/wait") { _, _ in
                await waitForCancellation()
                await cancelled.open()
                throw CancellationError()
            }
        }
    }

    @Test func `a client that hangs up cancels the handler's task`() async throws {
        let cancelled = Gate()
        try await withServer(routes: Self.opening(cancelled)) { server in
            let client = try await server.client()
            try await client.send("GET /wait HTTP/1.1\r\nHost: a\r\n\r\n")
            try await server.settle()
            client.hangUp()
            await cancelled.pass()
            #expect(try await server.get("/ping").status == 200)
        }
    }

    @Test func `a client that ends its side with its requests has those answered that need no wait, and the others cancelled`() async throws {
        let cancelled = Gate()
        try await withServer(routes: Self.opening(cancelled)) { server in
            let client = try await server.client()
            client.sendLast("GET /ping HTTP/1.1\r\nHost: a\r\n\r\nGET /wait HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try await client.response().text == "pong")
            await cancelled.pass()
            let alone = try await server.client()
            alone.sendLast("GET /wait HTTP/1.1\r\nHost: a\r\n\r\n")
            _ = try await alone.rest()
        }
    }

    /// The end of the client's side comes with the request, in one event.
    @Test(arguments: [
        "GET /nothing HTTP/1.1\r\nHost: a\r\n\r\n", "GET /nothing HTTP/1.1\r\nHost: a\r\n",
        "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n1234",
    ])
    func `a client that ends its side with what it sends is not kept until a deadline`(_ request: String) async throws {
        try await withServer(routes: routing { _ in }) { server in
            let client = try await server.client()
            client.sendLast(request)
            let rest = try await client.rest()
            #expect(String(decoding: rest, as: UTF8.self).hasPrefix("HTTP/1.1 404 ") == request.hasSuffix("\r\n\r\n"))
        }
    }

    /// Opens a gate when it is released.
    private final class Witness: Sendable {
        let gone: Gate

        init(_ gone: Gate) { self.gone = gone }

        deinit { Task { [gone] in await gone.open() } }
    }

    @Test func `a response that reads its request is forgotten with a connection that breaks`() async throws {
        let gone = Gate()
        try await withServer(
            routes: routing { router in
                router.put("/pieces") { request, _ in
                    let witness = Witness(gone)
                    return HTTPResponse(
                        body: .stream { writer in
                            for try await piece in request.body { try await writer.write(piece) }
                            withExtendedLifetime(witness) {}
                        })
                }
            }
        ) { server in
            let client = try await server.client()
            // The chunk is shorter than announced, and its end is malformed.
            client.sendLast("PUT /pieces HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhell\n")
            _ = try await client.rest()
            await gone.pass()
        }
    }

    @Test(arguments: [false, true])
    func `a client that hangs up in its body ends the reading`(_ isChunked: Bool) async throws {
        let ended = Gate()
        let error = Locked<(any Error)?>(nil)
        try await withServer(
            routes: routing { router in
                router.post("/read") { request, _ in
                    do {
                        return .text("\(try await request.body.collect().count)")
                    } catch let caught {
                        error.withLock { $0 = caught }
                        await ended.open()
                        throw caught
                    }
                }
            }
        ) { server in
            let client = try await server.client()
            try await client.send(
                "POST /read HTTP/1.1\r\nHost: a\r\n\(isChunked ? "Transfer-Encoding: chunked" : "Content-Length: 300000")\r\n\r\n\(isChunked ? "A\r\n" : "")0123"
            )
            try await server.settle()
            client.hangUp()
            await ended.pass()
            #expect(error.withLock { $0 } is CancellationError)
        }
    }

    @Test func `a client that hangs up in a streamed response ends the writing`() async throws {
        let ended = Gate()
        try await withServer(
            routes: routing { router in
                router.get("/endless") { _, _ in
                    HTTPResponse(
                        .ok,
                        body: .stream { writer in
                            do {
                                while true { try await writer.write([UInt8](repeating: 65, count: 10_000)) }
                            } catch {
                                await ended.open()
                                throw error
                            }
                        })
                }
                router.get("/silent") { _, _ in
                    HTTPResponse(
                        .ok,
                        body: .stream { writer in
                            try await writer.write([65])
                            await Self.waitForCancellation()
                            await ended.open()
                        })
                }
            }
        ) { server in
            for path in ["/endless", "/silent"] {
                let client = try await server.client()
                try await client.send("GET \(path) HTTP/1.1\r\nHost: a\r\n\r\n")
                try await server.settle()
                client.hangUp()
                await ended.pass()
            }
            #expect(try await server.get("/ping").status == 200)
        }
    }
}
