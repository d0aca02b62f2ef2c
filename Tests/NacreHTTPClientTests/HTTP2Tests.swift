import Foundation
import NacreCloudTestSupport
import NacreLocks
import Testing

@testable import NacreHTTPClient

/// Tests of HTTP/2 against `nghttpd`, of Debian's package nghttp2-server, where it is installed.
@Suite(.enabled(if: mayRun(FileManager.default.isExecutableFile(atPath: "/usr/sbin/nghttpd")), "nghttp2-server is not installed"))
struct HTTP2Tests {
    private let authority: Authority

    init() throws {
        authority = try Authority()
    }

    /// Starts a server that echoes bodies, and serves the files of the authority's folder.
    private func server(_ files: (certificate: String, key: String)? = nil) throws -> ServerProcess {
        // The server does not print its port, so it gets one that was free a moment ago.
        let listener = try LoopbackSocket.listener(backlog: 1)
        let port = LoopbackSocket.port(of: listener)
        close(listener)
        let arguments = ["-v", "-a", "127.0.0.1", "-d", authority.folder, "--echo-upload"]
        let rest = files.map { ["\(port)", $0.key, $0.certificate] } ?? ["--no-tls", "\(port)"]
        return try ServerProcess("/usr/sbin/nghttpd", arguments + rest, listening: "IPv4: listen ")
    }

    @Test func `with prior knowledge, requests and answers go over one connection at once`() async throws {
        let server = try server()
        let client = HTTPClient(.init(transfersPerHostMax: 64))
        let body = (0..<200_000).map { UInt8(truncatingIfNeeded: $0) }
        try await withThrowingTaskGroup(of: HTTPClient.Answer.self) { group in
            for _ in 0..<32 {
                group.addTask {
                    try await client.send(.init("POST", "http://127.0.0.1:\(server.port)/echo", body: .bytes(body), version: .http2))
                }
            }
            for try await answer in group {
                #expect(answer.status == 200 && answer.head.version == "2" && answer.body == body)
            }
        }
        #expect(await client.census() == Census(running: 0, queued: 0, handles: 0, transfers: 0))
    }

    /// Debian's libcurl cannot reuse a connection of prior knowledge, and says so before it has sent anything.
    @Test func `with prior knowledge, requests one after another are answered, over a new connection each where libcurl needs one`() async throws {
        let server = try server()
        let client = HTTPClient()
        for body in ["one", "two", "three"] {
            let sent = HTTPClient.Request("POST", "http://127.0.0.1:\(server.port)/echo", body: .bytes(Array(body.utf8)), version: .http2)
            #expect(try await client.send(sent).body == Array(body.utf8))
        }
    }

    @Test func `over TLS the handshake finds HTTP 2`() async throws {
        let files = try authority.certificate(for: ["DNS:localhost"])
        let server = try server(files)
        let client = HTTPClient(.init(authorityFile: authority.file))
        let answer = try await client.send(.init("GET", "https://localhost:\(server.port)/ca.pem"))
        #expect(answer.head.version == "2" && answer.status == 200)
        let missing = try await client.send(.init("GET", "https://localhost:\(server.port)/missing"))
        #expect(missing.head.version == "2" && missing.status == 404)
    }

    @Test func `a stream of a body and a stream of an answer go over HTTP 2`() async throws {
        let server = try server()
        let client = HTTPClient()
        let pieces = Locked(100)
        let request = HTTPClient.Request(
            "POST", "http://127.0.0.1:\(server.port)/echo",
            body: .stream(length: nil) {
                let isThere = pieces.withLock { pieces in
                    pieces -= 1
                    return pieces >= 0
                }
                return isThere ? [UInt8](repeating: 67, count: 10_000) : nil
            }, version: .http2)
        var count = 0
        for try await bytes in try await client.open(request) { count += bytes.count { $0 == 67 } }
        #expect(count == 1_000_000)
    }
}

/// Tests of HTTP/2 connections that the server closes under a request. OpenSSL's own server carries the bytes, the
/// test makes the frames.
struct StaleHTTP2Tests {
    private let authority: Authority

    init() throws {
        authority = try Authority()
    }

    private func server() throws -> ServerProcess {
        let files = try authority.certificate(for: ["DNS:localhost"])
        return try ServerProcess(
            "/usr/bin/openssl", ["s_server", "-accept", "127.0.0.1:0", "-cert", files.certificate, "-key", files.key, "-alpn", "h2"],
            listening: "ACCEPT ")
    }

    /// RFC 9113, "HTTP Frames".
    private enum Frame {
        static let settings: [UInt8] = [0, 0, 0, 4, 0, 0, 0, 0, 0]
        static let settingsTaken: [UInt8] = [0, 0, 0, 4, 1, 0, 0, 0, 0]

        /// Status 200, the eighth entry of HPACK's own table, and no body.
        static func answer(stream: UInt8) -> [UInt8] { [0, 0, 1, 1, 5, 0, 0, 0, stream, 0x88] }
    }

    @Test func `a request that such a connection has swallowed goes out again at once`() async throws {
        let server = try server()
        let client = HTTPClient(.init(authorityFile: authority.file))
        let url = "https://localhost:\(server.port)/"
        async let first = client.send(.init("POST", url, body: .bytes(Array("the first body".utf8))))
        await server.prints("the first body")
        server.write(Frame.settings + Frame.settingsTaken + Frame.answer(stream: 1))
        #expect(try await first.head.version == "2")
        async let second = client.failure(.init("POST", url, body: .bytes(Array("the second body".utf8))))
        await server.prints("the second body")
        // The server closes the connection in order, then its port, and ends. A retry finds no listener, or is cut off
        // before it has a connection.
        server.endInput()
        let failure = await second
        let causes: [HTTPClient.Failure.Cause] = [.cannotConnect, .tls(.handshake)]
        #expect(failure.map { causes.contains($0.cause) && $0.mayHaveArrived } == true)
    }

    @Test func `one that a new connection has swallowed is an error, and does not go out again`() async throws {
        let server = try server()
        let client = HTTPClient(.init(authorityFile: authority.file))
        async let only = client.failure(.init("POST", "https://localhost:\(server.port)/", body: .bytes(Array("the only body".utf8))))
        await server.prints("the only body")
        server.write(Frame.settings + Frame.settingsTaken)
        server.endInput()
        let failure = await only
        #expect(failure?.cause != nil && failure?.cause != .cannotConnect && failure?.mayHaveArrived == true)
    }
}
