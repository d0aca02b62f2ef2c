import Foundation
import NacreCloudTestSupport
import NacreLocks
import Testing

@testable import NacreHTTPClient

/// HTTP/2 against `nghttpd`, of Debian's package nghttp2-server, where it is installed.
@Suite(.enabled(if: mayRun(FileManager.default.isExecutableFile(atPath: "/usr/sbin/nghttpd")), "nghttp2-server is not installed"))
struct HTTP2Tests {
    private let authority: Authority

    init() throws {
        authority = try Authority()
    }

    /// Sends back what it is sent, and files of the authority's folder.
    private func server(_ files: (certificate: String, key: String)? = nil) throws -> ServerProcess {
        // It does not say which port it was given, so it is told one that was free a moment ago.
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
