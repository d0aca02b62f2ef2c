import Foundation
import Glibc
import NacreLocks
import Testing

@testable import NacreHTTPClient

/// Tests of bodies that are transferred piece by piece, in both directions.
struct StreamingTests {
    private let client = HTTPClient()

    /// Returns pieces, and counts them.
    private final class Source: Sendable {
        private let rest: Locked<Int>
        private let piece: [UInt8]
        private let count = Locked(0)

        init(pieces: Int, bytes: Int) {
            rest = Locked(pieces)
            piece = [UInt8](repeating: 65, count: bytes)
        }

        var pulled: Int { count.withLock { $0 } }

        @Sendable func next() async -> [UInt8]? {
            let isThere = rest.withLock { rest in
                rest -= 1
                return rest >= 0
            }
            if isThere { count.withLock { $0 += 1 } }
            return isThere ? piece : nil
        }
    }

    @Test(arguments: [nil, 300_000])
    func `a body in pieces arrives whole, in chunks or under its length`(length: Int?) async throws {
        let seen = Locked<String>("")
        let peer = try Peer { connection in
            let request = connection.request() ?? ""
            seen.withLock { $0 = request }
            connection.answer()
        }
        let source = Source(pieces: 3, bytes: 100_000)
        #expect(try await client.send(.init("PUT", peer.url, body: .stream(length: length, next: source.next))).status == 200)
        let request = seen.withLock { $0 }
        #expect(request.hasPrefix("PUT / HTTP/1.1\r\n") && request.utf8.count { $0 == 65 } >= 300_000 && !request.contains("Expect"))
        #expect(request.contains(length == nil ? "Transfer-Encoding: chunked" : "Content-Length: 300000"))
    }

    @Test func `an empty piece is no end, and an empty body is one`() async throws {
        let peer = try Peer { connection in
            while let request = connection.request() { connection.answer("\(request.split(separator: "\r\n").last ?? "")") }
        }
        let pieces = Locked<[[UInt8]]>([[], Array("a".utf8), [], [], Array("b".utf8)])
        let next: @Sendable () async throws -> [UInt8]? = { pieces.withLock { $0.isEmpty ? nil : $0.removeFirst() } }
        #expect(try await client.send(.init("POST", peer.url, body: .stream(length: 2, next: next))).body == Array("ab".utf8))
        #expect(try await client.send(.init("POST", peer.url, body: .stream(length: nil, next: next))).status == 200)
    }

    @Test func `no more pieces are made than the server takes`() async throws {
        let isStalled = Event()
        let goOn = Event()
        let peer = try Peer { connection in
            _ = connection.head()
            isStalled.happen()
            goOn.block()
            _ = connection.read(64 << 20)
            connection.answer()
        }
        let source = Source(pieces: 1024, bytes: 64 << 10)
        async let answer = client.send(.init("PUT", peer.url, body: .stream(length: 64 << 20, next: source.next)))
        await isStalled.wait()
        // Until the sockets are full, pieces are made; then, over many turns of the loop, none is.
        var before = -1
        while before != source.pulled {
            before = source.pulled
            for _ in 0..<2000 { _ = await client.census() }
        }
        // The buffers of loopback sockets, which grow while they are used, but not to 64 MB.
        #expect(source.pulled < 512)
        goOn.happen()
        #expect(try await answer.status == 200)
        #expect(source.pulled == 1024)
    }

    @Test(arguments: [299_999, 300_001, 400_000, 1])
    func `a body that is not as long as it was said to be fails`(length: Int) async throws {
        let peer = try Peer { $0.awaitEnd() }
        let source = Source(pieces: 3, bytes: 100_000)
        let failure = await client.failure(.init("PUT", peer.url, body: .stream(length: length, next: source.next)))
        #expect(failure?.cause == .badRequest(.bodyLength))
        await peer.idle()
    }

    @Test func `a body that fails takes the transfer with it, and says why`() async throws {
        struct Torn: Error {}
        let peer = try Peer { $0.awaitEnd() }
        let pieces = Locked(2)
        let failure = await client.failure(
            .init(
                "PUT", peer.url,
                body: .stream(length: nil) {
                    let isThere = pieces.withLock { pieces in
                        pieces -= 1
                        return pieces > 0
                    }
                    guard isThere else { throw Torn() }
                    return [1, 2, 3]
                }))
        #expect(failure?.cause == .bodyFailed && failure?.underlying is Torn && failure?.mayHaveArrived == true)
        await peer.idle()
    }

    @Test func `an answer is at hand with its head, and its body comes as it is sent`() async throws {
        let steps = [Event(), Event(), Event()]
        let peer = try Peer { connection in
            _ = connection.request()
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n")
            for (step, text) in zip(steps, ["ab", "cd", "ef"]) {
                step.block()
                connection.write(text)
            }
        }
        let stream = try await client.open(.init("GET", peer.url))
        #expect(stream.head.status == 200 && stream.head["content-length"] == "6")
        var iterator = stream.makeAsyncIterator()
        for (step, text) in zip(steps, ["ab", "cd", "ef"]) {
            step.happen()
            #expect(try await iterator.next() == Array(text.utf8))
        }
        #expect(try await iterator.next() == nil)
        #expect(try await iterator.next() == nil)
    }

    @Test func `a server sends no more than is read`() async throws {
        let total = 64 << 20
        let isStalled = Event()
        let written = Locked(0)
        let peer = try Peer { connection in
            _ = connection.request()
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: \(total)\r\n\r\n")
            // A write that waits this long has met a client that does not read.
            var patience = timeval(tv_sec: 0, tv_usec: 300_000)
            setsockopt(connection.socket, SOL_SOCKET, SO_SNDTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
            let piece = [UInt8](repeating: 66, count: 64 << 10)
            var sent = 0
            while sent < total {
                let count = piece.withUnsafeBytes { send(connection.socket, $0.baseAddress, min($0.count, total - sent), Int32(MSG_NOSIGNAL)) }
                if count < 0, errno == EAGAIN || errno == EWOULDBLOCK {
                    isStalled.happen()
                    continue
                }
                guard count > 0 else { return }
                sent += count
                let now = sent
                written.withLock { $0 = now }
            }
        }
        let stream = try await client.open(.init("GET", peer.url))
        await isStalled.wait()
        #expect(written.withLock { $0 } < total / 2)
        var count = 0
        for try await bytes in stream { count += bytes.count { $0 == 66 } }
        #expect(count == total)
    }

    @Test func `a stream that is cut off ends with an error, after what has come`() async throws {
        let peer = try Peer { connection in
            _ = connection.request()
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc")
        }
        var text: [UInt8] = []
        var cause: HTTPClient.Failure.Cause?
        do {
            for try await bytes in try await client.open(.init("GET", peer.url)) { text += bytes }
        } catch {
            cause = error.cause
        }
        #expect(text == Array("abc".utf8) && cause == .badAnswer(.truncated))
    }

    @Test func `progress is told in both directions, up to the last byte`() async throws {
        let peer = try Peer { connection in
            _ = connection.request()
            connection.answer(String(repeating: "x", count: 200_000))
        }
        let told = Locked<[HTTPClient.Progress]>([])
        _ = try await client.send(
            .init("PUT", peer.url, body: .bytes([UInt8](repeating: 1, count: 500_000)), progress: { step in told.withLock { $0.append(step) } }))
        let steps = told.withLock { $0 }
        let last = try #require(steps.last)
        #expect(last == HTTPClient.Progress(sent: 500_000, toSend: 500_000, received: 200_000, toReceive: 200_000))
        #expect(zip(steps, steps.dropFirst()).allSatisfy { $0.sent <= $1.sent && $0.received <= $1.received })
        #expect(steps.contains { $0.sent > 0 && $0.received == 0 })
    }
}
