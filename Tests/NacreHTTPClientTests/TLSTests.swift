import Foundation
import NacreCloudTestSupport
import Testing

@testable import NacreHTTPClient

/// Tests of HTTPS against OpenSSL's own server, with certificates made for each test.
struct TLSTests {
    private let authority: Authority

    init() throws {
        authority = try Authority()
    }

    private func server(_ names: [String], days: Int = 2) throws -> ServerProcess {
        let files = try authority.certificate(for: names, days: days)
        return try ServerProcess(
            "/usr/bin/openssl", ["s_server", "-accept", "127.0.0.1:0", "-cert", files.certificate, "-key", files.key, "-www"],
            listening: "ACCEPT ")
    }

    @Test func `a server of a trusted authority is spoken to, by name and by address`() async throws {
        let server = try server(["DNS:localhost", "IP:127.0.0.1"])
        let client = HTTPClient(.init(authorityFile: authority.file))
        for host in ["localhost", "127.0.0.1"] {
            let answer = try await client.send(.init("GET", "https://\(host):\(server.port)/"))
            #expect(answer.status == 200 && answer.body.count > 100)
        }
    }

    @Test func `an authority that nobody trusts is refused, before anything was sent`() async throws {
        let server = try server(["DNS:localhost", "IP:127.0.0.1"])
        let failure = await HTTPClient().failure(.init("POST", "https://localhost:\(server.port)/", body: .bytes([1])))
        #expect(failure?.cause == .tls(.unknownAuthority) && failure?.mayHaveArrived == false)
    }

    @Test(arguments: [["DNS:other.example"], ["DNS:localhost.example", "IP:127.0.0.2"], ["DNS:*.localhost"]])
    func `a certificate for another host is refused, before anything was sent`(names: [String]) async throws {
        let server = try server(names)
        let client = HTTPClient(.init(authorityFile: authority.file))
        for host in ["localhost", "127.0.0.1"] {
            let failure = await client.failure(.init("POST", "https://\(host):\(server.port)/", body: .bytes([1])))
            #expect(failure?.cause == .tls(.wrongName) && failure?.mayHaveArrived == false)
        }
    }

    @Test func `a certificate whose time is over is refused`() async throws {
        let server = try server(["DNS:localhost"], days: -1)
        let client = HTTPClient(.init(authorityFile: authority.file))
        let failure = await client.failure(.init("GET", "https://localhost:\(server.port)/"))
        #expect(failure?.cause == .tls(.expired) && failure?.mayHaveArrived == false)
    }

    @Test func `a file of authorities that is not there is named as the fault`() async throws {
        let server = try server(["DNS:localhost"])
        let client = HTTPClient(.init(authorityFile: authority.folder + "/nothing.pem"))
        let failure = await client.failure(.init("GET", "https://localhost:\(server.port)/"))
        #expect(failure?.cause == .tls(.authorityFile) && failure?.mayHaveArrived == false)
    }

    @Test func `a server that does not speak TLS is refused, and hears nothing of the request`() async throws {
        let heard = Event()
        let peer = try Peer { connection in
            connection.write("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
            var text = ""
            while let byte = connection.read(1) { text += byte }
            #expect(!text.contains("Bearer"))
            heard.happen()
        }
        let client = HTTPClient()
        let failure = await client.failure(.init("GET", "https://127.0.0.1:\(peer.port)/", headers: [.init("Authorization", "Bearer t")]))
        #expect(failure?.cause == .tls(.handshake) && failure?.mayHaveArrived == false)
        await heard.wait()
    }
}
