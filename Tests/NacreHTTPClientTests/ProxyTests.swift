import NacreLocks
import Testing

@testable import NacreHTTPClient

struct ProxyTests {
    @Test(arguments: [
        ("http://127.0.0.1/", true), ("http://127.255.0.9:8080/a", true), ("http://localhost:1/", true), ("https://LOCALHOST./", true),
        ("http://nacre.localhost/", true), ("http://[::1]:80/", true), ("http://[0:0:0:0:0:0:0:1]/", true), ("http://[::ffff:127.0.0.1]/", true),
        ("http://128.0.0.1/", false), ("http://10.0.0.1/", false), ("http://localhost.example.com/", false), ("http://notlocalhost/", false),
        ("http://[::2]/", false), ("http://127.0.0.1.example.com/", false), ("https://example.com/127.0.0.1", false),
    ])
    func `this machine is known by its names and addresses`(url: String, isLoopback: Bool) throws {
        #expect(try #require(Target(url)).isLoopback == isLoopback)
    }

    @Test(arguments: [
        ("http://A.example", "http://a.example:80"), ("https://a.example/b?c", "https://a.example:443"),
        ("http://a.example:8080/", "http://a.example:8080"),
        ("HTTP://[::1]/", "http://[::1]:80"),
    ])
    func `transfers to one scheme, host and port share their turns`(url: String, authority: String) throws {
        #expect(try #require(Target(url)).authority == authority)
    }

    @Test func `a proxy is asked for other machines, and never for this one`() async throws {
        let lines = Locked<[String]>([])
        let script: Peer.Script = { connection in
            while let request = connection.request() {
                lines.withLock { $0.append(String(request.prefix { $0 != "\r\n" })) }
                connection.answer("\(connection.peer.port)")
            }
        }
        let proxy = try Peer(script)
        let server = try Peer(script)
        let client = HTTPClient(.init(proxy: proxy.url))
        #expect(try await client.send(.init("GET", "http://nobody.invalid/a")).body == Array("\(proxy.port)".utf8))
        for host in ["127.0.0.1", "localhost"] {
            #expect(try await client.send(.init("GET", "http://\(host):\(server.port)/b")).body == Array("\(server.port)".utf8))
        }
        #expect(lines.withLock { $0 } == ["GET http://nobody.invalid/a HTTP/1.1", "GET /b HTTP/1.1", "GET /b HTTP/1.1"])
        #expect(proxy.accepted == 1)
    }
}
