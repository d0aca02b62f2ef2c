import Foundation
import NacreCloudTestSupport
import NacreHTTPServer
import NacreLocks
import NacreTelemetry
import Testing

/// Tests of streams that are long and mostly idle: like any other response, but with a cheaper wait on the socket.
@Suite(.timeLimit(.minutes(5))) struct LastingStreamTests {
    private static let request = "GET /events HTTP/1.1\r\nHost: a\r\n\r\n"

    private static func lasting(_ body: @escaping @Sendable (HTTPStreamWriter) async throws -> Void) -> Router {
        routing { router in
            router.get("/events") { _, _ in
                // The answer comes after the head was processed, as in a handler that reads from a store.
                await Task.detached {}.value
                var response = HTTPResponse(.ok, headers: ["Content-Type": "text/event-stream"], body: .stream(body))
                response.isLasting = true
                return response
            }
        }
    }

    /// Waits in the handler's task until its client is gone.
    private static func waitForCancellation() async {
        let (waiting, end) = AsyncStream.makeStream(of: Void.self)
        await withTaskCancellationHandler {
            for await _ in waiting {}
        } onCancel: {
            end.finish()
        }
    }

    @Test func `its pieces come in their order, its head says what it is, and its connection closes at its end`() async throws {
        let body = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 / 251) }
        try await withServer(
            routes: Self.lasting { writer in
                for start in stride(from: 0, to: body.count, by: 1000) {
                    try await writer.write(Array(body[start..<min(start + 1000, body.count)]))
                    if start % 7000 == 0 { await Task.detached {}.value }
                }
            }
        ) { server in
            for _ in 0..<20 {
                let client = try await server.client()
                try await client.send(Self.request)
                let response = try await client.response()
                #expect(response.body == body)
                #expect(response.header("Transfer-Encoding") == "chunked" && response.header("Connection") == "close")
                #expect(response.header("Content-Type") == "text/event-stream" && response.header("Date") != nil)
                #expect(response.header("Content-Length") == nil)
                #expect(try await client.rest().isEmpty)
            }
            #expect(try await server.get("/ping").text == "pong")
        }
    }

    @Test func `a piece goes out while the handler waits`() async throws {
        let gate = Gate()
        try await withServer(
            routes: Self.lasting { writer in
                try await writer.write(Array("first".utf8))
                await gate.pass()
                try await writer.write(Array("second".utf8))
            }
        ) { server in
            let client = try await server.client()
            try await client.send(Self.request)
            _ = try await client.text(through: "5\r\nfirst\r\n")
            await gate.open()
            #expect(String(decoding: try await client.rest(), as: UTF8.self) == "6\r\nsecond\r\n0\r\n\r\n")
        }
    }

    @Test func `a client of HTTP 1.0 gets it without chunks`() async throws {
        try await withServer(routes: Self.lasting { writer in try await writer.write(Array("all of it".utf8)) }) { server in
            let client = try await server.client()
            try await client.send("GET /events HTTP/1.0\r\n\r\n")
            let text = String(decoding: try await client.rest(), as: UTF8.self)
            #expect(text.hasSuffix("\r\n\r\nall of it") && !text.contains("chunked"))
        }
    }

    @Test func `one that fails is cut, so that the client sees it`() async throws {
        try await withServer(
            routes: Self.lasting { writer in
                try await writer.write(Array("half".utf8))
                throw HTTPError(.internalServerError, "Broken.")
            }
        ) { server in
            let client = try await server.client()
            try await client.send(Self.request)
            let text = String(decoding: try await client.rest(), as: UTF8.self)
            #expect(text.hasSuffix("4\r\nhalf\r\n"))
        }
    }

    @Test func `a client that hangs up ends it, and leaves no place behind`() async throws {
        let telemetry = Telemetry()
        let ended = Locked(0)
        try await withServer(
            telemetry: telemetry,
            routes: Self.lasting { writer in
                defer { ended.withLock { $0 += 1 } }
                try await writer.write(Array("here".utf8))
                await Self.waitForCancellation()
            }
        ) { server in
            try await server.settle()
            for _ in 0..<3 {
                var clients: [RawClient] = []
                for _ in 0..<40 {
                    let client = try await server.client()
                    try await client.send(Self.request)
                    _ = try await client.text(through: "here\r\n")
                    clients.append(client)
                }
                #expect(telemetry.gauge(.httpConnections).value >= 40)
                clients = []
                while telemetry.gauge(.httpConnections).value > 3 || telemetry.gauge(.httpInFlight).value > 0 { try await server.settle() }
            }
            #expect(ended.withLock { $0 } == 120)
        }
    }

    @Test func `a client that reads nothing has it made no further, and is hung up on in the end`() async throws {
        let written = Locked(0)
        let telemetry = Telemetry()
        try await withServer(
            configured { $0.stallTimeout = .milliseconds(200) }, telemetry: telemetry,
            routes: Self.lasting { writer in
                let piece = [UInt8](repeating: 65, count: 65_536)
                while true {
                    try await writer.write(piece)
                    written.withLock { $0 += piece.count }
                }
            }
        ) { server in
            let client = try await RawClient(port: server.port, receiveBuffer: 65_536)
            try await client.send(Self.request)
            _ = try await client.text(through: "AAAA")
            while telemetry.counter(.httpLate).value == 0 { try await server.settle() }
            #expect(written.withLock { $0 } < 16 * 1024 * 1024, "the server made what nobody read")
            while telemetry.gauge(.httpInFlight).value > 0 { try await server.settle() }
        }
    }

    @Test func `they count as connections: beyond the most there may be, who comes waits until one is gone`() async throws {
        let telemetry = Telemetry()
        try await withServer(
            configured { $0.connectionsMax = 4 }, telemetry: telemetry,
            routes: Self.lasting { writer in
                try await writer.write(Array("here".utf8))
                await Self.waitForCancellation()
            }
        ) { server in
            var clients: [RawClient] = []
            for _ in 0..<4 {
                let client = try await server.client()
                try await client.send(Self.request)
                _ = try await client.text(through: "here\r\n")
                clients.append(client)
            }
            let late = try await server.client()
            try await late.send("GET /ping HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(telemetry.gauge(.httpConnections).value == 4)
            clients.removeLast()
            #expect(try await late.response().text == "pong")
            #expect(telemetry.gauge(.httpConnections).value == 4)
        }
    }

    @Test func `a server that ends waits for it, and cuts it at the end of its grace`() async throws {
        for isPatient in [true, false] {
            let gate = Gate()
            let server = HTTPServer(
                configured { _ in },
                router: Self.lasting { writer in
                    try await writer.write(Array("here".utf8))
                    if isPatient { await gate.pass() } else { await Self.waitForCancellation() }
                    try await writer.write(Array("end".utf8))
                })
            let (_, port) = try await server.start()
            let client = try await RawClient(port: port)
            try await client.send(Self.request)
            _ = try await client.text(through: "here\r\n")
            async let shutdown: Void = server.shutdown(grace: isPatient ? .seconds(600) : .zero)
            await gate.open()
            let rest = String(decoding: (try? await client.rest()) ?? [], as: UTF8.self)
            #expect(rest == (isPatient ? "3\r\nend\r\n0\r\n\r\n" : ""))
            await shutdown
        }
    }
}
