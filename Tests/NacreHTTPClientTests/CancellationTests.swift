import Foundation
import NacreLocks
import Testing

@testable import NacreHTTPClient

/// Tests that a task's cancellation ends its transfer at once, in any phase, and leaves nothing behind.
struct CancellationTests {
    private let client = HTTPClient(.init(transfersPerHostMax: 1))

    private func isEmpty() async -> Bool {
        await client.census() == Census(running: 0, queued: 0, handles: 0, transfers: 0)
    }

    /// Returns a task that sends a request, and its failure.
    private func sending(_ request: HTTPClient.Request) -> Task<HTTPClient.Failure?, Never> {
        Task { [client] in await client.failure(request) }
    }

    @Test func `before it began, nothing is sent`() async throws {
        let peer = try Peer { $0.awaitEnd() }
        let gate = Event()
        let task = Task { [client] in
            await gate.wait()
            return await client.failure(.init("GET", peer.url))
        }
        task.cancel()
        gate.happen()
        #expect(await task.value == HTTPClient.Failure(.cancelled, mayHaveArrived: false))
        #expect(peer.accepted == 0)
        #expect(await isEmpty())
    }

    @Test func `while it waits for its turn, the one before it goes on`() async throws {
        let gate = Event()
        let peer = try Peer { connection in
            while connection.request() != nil {
                gate.block()
                connection.answer()
            }
        }
        let first = sending(.init("GET", peer.url))
        await client.reaches(running: 1)
        let second = sending(.init("GET", peer.url))
        await client.reaches(running: 1, queued: 1)
        second.cancel()
        #expect(await second.value == HTTPClient.Failure(.cancelled, mayHaveArrived: false))
        gate.happen()
        #expect(await first.value == nil)
        #expect(await isEmpty())
    }

    @Test func `while it looks up a name`() async throws {
        let task = sending(.init("GET", "http://nobody.invalid/"))
        // The lookup is over by then, or it is left running.
        task.cancel()
        let failure = await task.value
        #expect(failure?.cause == .cancelled || failure?.cause == .cannotResolve)
        #expect(await isEmpty())
    }

    @Test func `while it connects`() async throws {
        let silence = try SilentListener()
        let task = sending(.init("POST", silence.url, body: .bytes([1])))
        await client.reaches(running: 1)
        task.cancel()
        #expect(await task.value == HTTPClient.Failure(.cancelled, mayHaveArrived: false))
        #expect(await isEmpty())
    }

    @Test func `while it shakes hands`() async throws {
        let arrived = Event()
        let peer = try Peer { connection in
            _ = connection.read(1)
            arrived.happen()
            connection.awaitEnd()
        }
        let task = sending(.init("GET", "https://127.0.0.1:\(peer.port)"))
        await arrived.wait()
        task.cancel()
        #expect(await task.value == HTTPClient.Failure(.cancelled, mayHaveArrived: false))
        await peer.idle()
        #expect(await isEmpty())
    }

    @Test func `while it sends`() async throws {
        let arrived = Event()
        let over = Event()
        let peer = try Peer { connection in
            _ = connection.head()
            arrived.happen()
            over.block()
        }
        let task = sending(.init("PUT", peer.url, body: .bytes([UInt8](repeating: 1, count: 32 << 20))))
        await arrived.wait()
        task.cancel()
        #expect(await task.value == HTTPClient.Failure(.cancelled, mayHaveArrived: true))
        over.happen()
        #expect(await isEmpty())
    }

    @Test func `while its body's next piece is being made`() async throws {
        let peer = try Peer { connection in
            _ = connection.head()
            connection.awaitEnd()
        }
        let asked = Event()
        let isCancelled = Event()
        let body = HTTPClient.Request.Body.stream(length: nil) {
            asked.happen()
            await withTaskCancellationHandler {
                await isCancelled.wait()
            } onCancel: {
                isCancelled.happen()
            }
            return [1]
        }
        let task = sending(.init("PUT", peer.url, body: body))
        await asked.wait()
        task.cancel()
        #expect(await task.value?.cause == .cancelled)
        await isCancelled.wait()
        await peer.idle()
        while await !isEmpty() { await Task.yield() }
    }

    @Test func `while it waits for an answer`() async throws {
        let arrived = Event()
        let peer = try Peer { connection in
            _ = connection.request()
            arrived.happen()
            connection.awaitEnd()
        }
        let task = sending(.init("POST", peer.url, body: .bytes([1, 2, 3]), idleTimeout: nil))
        await arrived.wait()
        task.cancel()
        #expect(await task.value == HTTPClient.Failure(.cancelled, mayHaveArrived: true))
        await peer.idle()
        #expect(await isEmpty())
    }

    @Test func `in the middle of an answer`() async throws {
        let peer = try Peer { connection in
            _ = connection.request()
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc")
            connection.awaitEnd()
        }
        let received = Locked(0)
        let task = sending(.init("GET", peer.url, progress: { progress in received.withLock { $0 = progress.received } }))
        while received.withLock({ $0 }) < 3 { await Task.yield() }
        task.cancel()
        #expect(await task.value == HTTPClient.Failure(.cancelled, mayHaveArrived: true))
        await peer.idle()
        #expect(await isEmpty())
    }

    @Test func `while its stream is read`() async throws {
        let peer = try Peer { connection in
            _ = connection.request()
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc")
            connection.awaitEnd()
        }
        let isReading = Event()
        let task = Task { [client] () -> HTTPClient.Failure? in
            do {
                for try await _ in try await client.open(.init("GET", peer.url)) { isReading.happen() }
                return nil
            } catch {
                return error as? HTTPClient.Failure
            }
        }
        await isReading.wait()
        task.cancel()
        #expect(await task.value == HTTPClient.Failure(.cancelled, mayHaveArrived: true))
        await peer.idle()
        while await !isEmpty() { await Task.yield() }
    }

    /// An object that a request retains.
    private final class Held: Sendable {
        private let isGone: Locked<Bool>

        init(_ isGone: Locked<Bool>) { self.isGone = isGone }

        deinit { isGone.withLock { $0 = true } }
    }

    @Test(.timeLimit(.minutes(1))) func `what a request holds is let go of when it was cancelled, though nothing else is asked`() async throws {
        let peer = try Peer { connection in
            _ = connection.request()
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc")
            connection.awaitEnd()
        }
        let (isReading, isGone) = (Event(), Locked(false))
        func reading(_ held: Held) -> Task<Void, any Error> {
            Task { [client] in
                let request = HTTPClient.Request("GET", peer.url, progress: { _ in withExtendedLifetime(held) {} })
                for try await _ in try await client.open(request) { isReading.happen() }
            }
        }
        let task = reading(Held(isGone))
        await isReading.wait()
        task.cancel()
        await #expect(throws: HTTPClient.Failure.self) { try await task.value }
        while !isGone.withLock({ $0 }) {
            try Task.checkCancellation()
            await Task.yield()
        }
    }

    @Test func `a stream that nobody reads to its end ends its transfer`() async throws {
        let peer = try Peer { connection in
            _ = connection.request()
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc")
            connection.awaitEnd()
        }
        #expect(try await client.open(.init("GET", peer.url)).head.status == 200)
        await peer.idle()
        while await !isEmpty() { await Task.yield() }
    }

    @Test(.timeLimit(.minutes(2))) func `in the moment in which a request fails, the call ends once`() async throws {
        let count = 400
        let peer = try Peer { connection in _ = connection.request() }
        for round in 0..<count {
            let task = sending(.init("POST", peer.url, body: .bytes([1])))
            // Each round cancels a little later, over the time that a request takes to fail.
            for _ in 0..<(round % 40) { await Task.yield() }
            task.cancel()
            let cause = await task.value?.cause
            #expect(cause == .cancelled || cause == .connectionLost)
        }
        #expect(await isEmpty())
    }
}
