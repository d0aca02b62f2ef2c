import Foundation
import Glibc
import NacreCloudTestSupport
import NacreLocks
import Testing

@testable import NacreHTTPClient

/// Tests of time limits over real sockets, with a clock that the test sets.
struct TimeoutTests {
    private let time = ManualClock()
    private let client: HTTPClient

    init() {
        client = HTTPClient(.init(transfersPerHostMax: 1, clock: time.clock))
    }

    @Test func `a server that says nothing is given up after the idle time, and not before`() async throws {
        let arrived = Event()
        let peer = try Peer { connection in
            _ = connection.request()
            arrived.happen()
            connection.awaitEnd()
        }
        async let failure = client.failure(.init("POST", peer.url, body: .bytes([1]), idleTimeout: .milliseconds(1500)))
        await arrived.wait()
        time.advance(.milliseconds(1499), for: client)
        await client.reaches(running: 1)
        time.advance(.milliseconds(1), for: client)
        #expect(await failure == HTTPClient.Failure(.timedOut(.idle), mayHaveArrived: true))
        await peer.idle()
    }

    @Test func `every byte begins the idle time anew, and the total ends it all the same`() async throws {
        let steps = (0..<4).map { _ in (go: Event(), gone: Event()) }
        let peer = try Peer { connection in
            _ = connection.request()
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n")
            for step in steps {
                step.go.block()
                connection.write("x")
                step.gone.happen()
            }
            connection.awaitEnd()
        }
        let received = Locked(0)
        let isOver = Locked(false)
        async let failure = {
            defer { isOver.withLock { $0 = true } }
            return await client.failure(
                .init(
                    "GET", peer.url, idleTimeout: .seconds(10), totalTimeout: .seconds(37),
                    progress: { progress in received.withLock { $0 = progress.received } }))
        }()
        await client.reaches(running: 1)
        for (index, step) in steps.enumerated() {
            time.advance(.seconds(9), for: client)
            // The loop reads the clock once a round: after two answers, a round has begun with the new time.
            for _ in 0..<2 { _ = await client.census() }
            step.go.happen()
            while received.withLock({ $0 }) <= index, !isOver.withLock({ $0 }) { await Task.yield() }
        }
        time.advance(.seconds(1), for: client)
        #expect(await failure == HTTPClient.Failure(.timedOut(.total), mayHaveArrived: true))
    }

    @Test(arguments: [
        "HTTP/1.1 200 OK\r\nX: y\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n64\r\nabc",
    ])
    func `an answer that stops in its head or its body is given up after the idle time`(part: String) async throws {
        let hasBegun = Event()
        let peer = try Peer { connection in
            _ = connection.request()
            connection.write(part)
            hasBegun.happen()
            connection.awaitEnd()
        }
        let failure = await givenUp(.init("GET", peer.url, idleTimeout: .seconds(10)), after: hasBegun)
        #expect(failure == HTTPClient.Failure(.timedOut(.idle), mayHaveArrived: true))
        await peer.idle()
    }

    @Test func `a server that stops reading is given up after the idle time`() async throws {
        let hasBegun = Event()
        let over = Event()
        let peer = try Peer { connection in
            _ = connection.head()
            hasBegun.happen()
            over.block()
        }
        // More than the system's buffers take.
        let body = HTTPClient.Request.Body.bytes([UInt8](repeating: 1, count: 32 << 20))
        let failure = await givenUp(.init("PUT", peer.url, body: body, idleTimeout: .seconds(10)), after: hasBegun)
        #expect(failure == HTTPClient.Failure(.timedOut(.idle), mayHaveArrived: true))
        over.happen()
    }

    /// Returns the failure of a request while time passes in steps shorter than its limit: bytes in either direction
    /// restart the limit.
    private func givenUp(_ request: HTTPClient.Request, after event: Event) async -> HTTPClient.Failure? {
        let failure = Locked<HTTPClient.Failure??>(nil)
        let task = Task { [client] in
            let end = await client.failure(request)
            failure.withLock { $0 = .some(end) }
        }
        await event.wait()
        while failure.withLock({ $0 == nil }) {
            time.advance(.seconds(4), for: client)
            _ = await client.census()
        }
        await task.value
        return failure.withLock { $0 ?? nil }
    }

    @Test func `a connection that does not come about is given up, and nothing was sent`() async throws {
        let silence = try SilentListener()
        async let failure = client.failure(.init("POST", silence.url, body: .bytes([1]), idleTimeout: .seconds(5)))
        await client.reaches(running: 1)
        time.advance(.seconds(5), for: client)
        #expect(await failure == HTTPClient.Failure(.timedOut(.idle), mayHaveArrived: false))
    }

    @Test func `a handshake that nobody answers is given up, and nothing was sent`() async throws {
        let arrived = Event()
        let peer = try Peer { connection in
            _ = connection.read(1)
            arrived.happen()
            connection.awaitEnd()
        }
        async let failure = client.failure(.init("GET", "https://127.0.0.1:\(peer.port)/", idleTimeout: .seconds(5)))
        await arrived.wait()
        time.advance(.seconds(5), for: client)
        #expect(await failure == HTTPClient.Failure(.timedOut(.idle), mayHaveArrived: false))
    }

    @Test func `who waits for a turn is not idle, and its total goes on`() async throws {
        let peer = try Peer { connection in
            while connection.request() != nil { connection.awaitEnd() }
        }
        async let first = client.failure(.init("GET", peer.url, idleTimeout: nil, totalTimeout: .seconds(100)))
        await client.reaches(running: 1)
        async let second = client.failure(.init("GET", peer.url, idleTimeout: .seconds(1), totalTimeout: .seconds(60)))
        await client.reaches(running: 1, queued: 1)
        time.advance(.seconds(59), for: client)
        await client.reaches(running: 1, queued: 1)
        time.advance(.seconds(1), for: client)
        #expect(await second == HTTPClient.Failure(.timedOut(.total), mayHaveArrived: false))
        time.advance(.seconds(40), for: client)
        #expect(await first?.cause == .timedOut(.total))
    }

    @Test func `time that the reader takes does not count`() async throws {
        let peer = try Peer { connection in
            _ = connection.request()
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: 4000000\r\n\r\n")
            connection.write([UInt8](repeating: 7, count: 4_000_000))
        }
        let stream = try await client.open(.init("GET", peer.url, idleTimeout: .seconds(5)))
        // The transfer pauses once its buffer is full, which its next check of the clock shows.
        var count = 0
        for try await bytes in stream {
            count += bytes.count
            if count < 1_000_000 {
                while !stream.isPaused && !stream.isOver { await Task.yield() }
                time.advance(.seconds(60), for: client)
                await client.reaches(running: 1)
            }
        }
        #expect(count == 4_000_000)
    }

    @Test func `by the system's clock a limit of 120 milliseconds is one`() async throws {
        let client = HTTPClient()
        let peer = try Peer { connection in
            _ = connection.request()
            connection.awaitEnd()
        }
        let clock = ContinuousClock()
        let start = clock.now
        let failure = await client.failure(.init("GET", peer.url, idleTimeout: .milliseconds(120)))
        let elapsed = clock.now - start
        #expect(failure?.cause == .timedOut(.idle) && elapsed >= .milliseconds(120))
        // A machine under load may be late, but not as late as a timer of whole seconds, or none.
        #expect(elapsed < .seconds(20))
    }
}

/// A port on which connections are never established: its queue is full, and never emptied.
final class SilentListener {
    let url: String
    private let sockets: [Int32]

    init() throws {
        let listener = try LoopbackSocket.listener(backlog: 0)
        let port = LoopbackSocket.port(of: listener)
        var sockets = [listener]
        for _ in 0..<4 {
            let filler = try LoopbackSocket.make(isBlocking: false)
            // The call reports that the connection is in progress.
            try? LoopbackSocket.connect(filler, port)
            sockets.append(filler)
        }
        self.sockets = sockets
        url = "http://127.0.0.1:\(port)"
    }

    deinit {
        for socket in sockets { close(socket) }
    }
}
