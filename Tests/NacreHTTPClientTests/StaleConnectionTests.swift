import Foundation
import NacreCloudTestSupport
import NacreLocks
import Testing

@testable import NacreHTTPClient

/// Tests of connections that the server closes just when the next request is sent over them.
struct StaleConnectionTests {
    private let client = HTTPClient()

    enum Closing: CaseIterable, Sendable {
        case inOrder
        case byReset
    }

    @Test(arguments: Closing.allCases)
    func `a connection from before that ends under a request is replaced at once, and the same bytes go out again`(closing: Closing) async throws {
        let seen = Locked<[String]>([])
        let peer = try Peer { connection in
            guard let first = connection.request() else { return }
            seen.withLock { $0.append(first) }
            connection.answer("\(connection.number)")
            guard let second = connection.request() else { return }
            seen.withLock { $0.append(second) }
            if closing == .byReset { connection.resetAtEnd() }
        }
        #expect(try await client.send(.init("POST", peer.url, body: .bytes(Array("one".utf8)))).body == Array("1".utf8))
        #expect(try await client.send(.init("POST", peer.url, body: .bytes(Array("two".utf8)))).body == Array("2".utf8))
        #expect(peer.accepted == 2)
        let requests = seen.withLock { $0 }
        #expect(requests.count == 3 && requests[1] == requests[2] && requests[1].hasSuffix("two"))
    }

    @Test func `one that was closed in between is not used at all`() async throws {
        let peer = try Peer { connection in
            _ = connection.request()
            connection.answer("\(connection.number)")
        }
        #expect(try await client.send(.init("POST", peer.url, body: .bytes([1]))).body == Array("1".utf8))
        // There was only this connection: its end has reached the client's side when this returns.
        await peer.idle()
        #expect(try await client.send(.init("POST", peer.url, body: .bytes([1]))).body == Array("2".utf8))
    }

    @Test func `one that the server has half closed is not used again, though the server still listens on it`() async throws {
        let late = Locked("")
        let peer = try Peer { connection in
            _ = connection.request()
            if connection.number == 1 {
                connection.write("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n1")
                connection.halfClose()
                while let byte = connection.read(1) { late.withLock { $0 += byte } }
            } else {
                connection.answer("\(connection.number)")
            }
        }
        #expect(try await client.send(.init("POST", peer.url, body: .bytes([1]))).body == Array("1".utf8))
        // Whether the end was seen by then or comes under the request, the answer is the second connection's.
        #expect(try await client.send(.init("POST", peer.url, body: .bytes(Array("two".utf8)))).body == Array("2".utf8))
        #expect(peer.accepted == 2)
        await peer.idle()
        #expect(late.withLock { $0.isEmpty || $0.hasSuffix("two") }, "at most the same request, whole")
    }

    @Test(arguments: ["GET", "HEAD", "DELETE", "OPTIONS"])
    func `whatever the method, what a stale connection swallowed goes out again`(method: String) async throws {
        let peer = try Peer { connection in
            _ = connection.request()
            connection.answer()
            _ = connection.request()
        }
        _ = try await client.send(.init("GET", peer.url))
        #expect(try await client.send(.init(method, peer.url)).status == 200)
        #expect(peer.accepted == 2)
    }

    @Test func `a large body whose connection dies in the middle of it goes out again`() async throws {
        let body = [UInt8](repeating: 65, count: 8 << 20)
        let peer = try Peer { connection in
            if connection.number > 1 {
                let request = connection.request()
                connection.answer("\(request?.utf8.count ?? 0 > 8 << 20)")
                return
            }
            _ = connection.request()
            connection.answer()
            _ = connection.head()
            connection.resetAtEnd()
        }
        _ = try await client.send(.init("GET", peer.url))
        #expect(try await client.send(.init("PUT", peer.url, body: .bytes(body))).body == Array("true".utf8))
    }

    @Test func `a new connection that ends without an answer is an error, and is not tried again`() async throws {
        let peer = try Peer { connection in _ = connection.request() }
        let failure = await client.failure(.init("POST", peer.url, body: .bytes([1])))
        #expect(failure?.cause == .connectionLost && failure?.mayHaveArrived == true)
        #expect(peer.accepted == 1)
    }

    @Test func `an answer that has begun is not asked for again`() async throws {
        let peer = try Peer { connection in
            _ = connection.request()
            connection.answer()
            _ = connection.request()
            connection.write("HTTP/1.1 200 OK\r\n")
            connection.resetAtEnd()
        }
        _ = try await client.send(.init("GET", peer.url))
        let failure = await client.failure(.init("POST", peer.url, body: .bytes([1])))
        #expect(failure?.cause == .connectionLost && failure?.mayHaveArrived == true)
        #expect(peer.accepted == 1)
    }

    @Test func `a part of a file that is appended to what a server has goes out once`() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/part"
        try Data(repeating: 65, count: 100_000).write(to: URL(fileURLWithPath: path))
        let parts = Locked(0)
        let peer = try Peer { connection in
            if connection.number == 1 {
                _ = connection.request()
                connection.answer()
            }
            if connection.head()?.hasPrefix("PATCH") == true { parts.withLock { $0 += 1 } }
            connection.resetAtEnd()
        }
        _ = try await client.send(.init("GET", peer.url))
        let part = try HTTPClient.FilePart(path: path, length: 100_000, isRepeatable: false)
        let failure = await client.failure(.init("PATCH", peer.url, body: .file(part)))
        #expect(failure?.cause == .connectionLost && failure?.mayHaveArrived == true)
        await peer.idle()
        #expect(parts.withLock { $0 } == 1)
    }

    @Test func `a body that can be sent once is sent once`() async throws {
        let bodies = Locked<[String]>([])
        let peer = try Peer { connection in
            while let request = connection.request() {
                bodies.withLock { $0.append(String(request.suffix(3))) }
                if request.hasPrefix("PUT") { return }
                connection.answer()
            }
        }
        _ = try await client.send(.init("GET", peer.url))
        let pieces = Locked<[[UInt8]]>([Array("abc".utf8)])
        let failure = await client.failure(
            .init("PUT", peer.url, body: .stream(length: 3) { pieces.withLock { $0.isEmpty ? nil : $0.removeFirst() } }))
        #expect(failure?.cause == .connectionLost && failure?.mayHaveArrived == true)
        await peer.idle()
        #expect(bodies.withLock { $0.filter { $0 == "abc" } }.count == 1)
        #expect(bodies.withLock { $0 }.count == 2)
    }

    @Test func `what went out over a stale connection may have arrived, even if nobody can be reached after it`() async throws {
        let isClosed = Event()
        let peer = try Peer { connection in
            _ = connection.request()
            connection.answer()
            _ = connection.request()
            isClosed.block()
        }
        _ = try await client.send(.init("GET", peer.url))
        async let sent = client.failure(.init("POST", peer.url, body: .bytes([1])))
        await client.reaches(running: 1)
        peer.close()
        // The listener is gone once a connection is refused.
        let other = HTTPClient()
        while await other.failure(.init("GET", peer.url, idleTimeout: .milliseconds(100)))?.cause != .cannotConnect {}
        isClosed.happen()
        let failure = await sent
        #expect(failure?.cause == .cannotConnect && failure?.mayHaveArrived == true)
    }
}
