import Foundation
import NacreCloudTestSupport
import NacreHTTPServer
import Testing

/// Tests that requests which two parsers could split differently are refused, and their connection closed.
@Suite(.timeLimit(.minutes(5))) struct FramingTests {
    static let refused: [(String, Int)] = [
        ("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
        ("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n", 400),
        ("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello", 400),
        ("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello", 400),
        ("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5, 5\r\n\r\nhello", 400),
        ("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: +5\r\n\r\nhello", 400),
        ("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: -5\r\n\r\nhello", 400),
        ("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 0x5\r\n\r\nhello", 400),
        ("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\nhello", 413),
        ("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999999999\r\n\r\nhello", 413),
        ("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5x\r\n\r\nhello", 400),
        ("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\nhello", 501),
        ("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501),
        ("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
        ("POST /echo HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
        ("GET /ping HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
        ("GET /ping HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400),
        ("GET /ping HTTP/1.1\r\n\r\n", 400),
        ("GET /ping HTTP/1.1\r\nHost: a\r\nBad Name: b\r\n\r\n", 400),
        ("GET /ping HTTP/1.1\r\nHost: a\r\nBad(Name: b\r\n\r\n", 400),
        ("GET /ping HTTP/1.1\r\nHost: a\r\nName : b\r\n\r\n", 400),
        ("GET /ping HTTP/1.1\r\nHost: a\r\nX: b\u{1}c\r\n\r\n", 400),
        ("GET /ping HTTP/1.1\r\nHost: a\r\nX: b\u{7F}c\r\n\r\n", 400),
        ("GET ping HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET ftp://a/ping HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET /ping HTTP/1.2\r\nHost: a\r\n\r\n", 505),
        ("GET /ping HTTP/2.0\r\nHost: a\r\n\r\n", 505),
        ("GET /ping HTTP/1.10\r\nHost: a\r\n\r\n", 400),
        ("GET /ping\r\nHost: a\r\n\r\n", 400),
        ("GET /ping  HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET /pi\u{0}ng HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        (" GET /ping HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("G(T /ping HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        // Requests in which another parser could see one line more, or one less.
        ("GET /ping HTTP/1.1\nHost: a\r\n\r\n", 400),
        ("GET /ping HTTP/1.1\r\nHost: a\nX: b\r\n\r\n", 400),
        ("GET /ping HTTP/1.1\r\nHost: a\r\nX: b\n\r\n", 400),
        ("GET /ping HTTP/1.1\r\nHost: a\r\nX: b\n\n", 400),
        ("GET /ping HTTP/1.1\r\nHost: a\r\nX: b\rY: c\r\n\r\n", 400),
        ("GET /ping HTTP/1.1\r\nHost: a\r\nX: b\r\r\n\r\n", 400),
        ("GET /ping HTTP/1.1\r\nHost: a\r\nX: b\r\n c\r\n\r\n", 400),
        ("GET /ping HTTP/1.1\r\nHost: a\r\nX: b\r\n\tc\r\n\r\n", 400),
        ("GET /ping HTTP/1.1\r\n Host: a\r\n\r\n", 400),
        ("GET /ping HTTP/1.1\r\nHost: a\r\nX\r\n\r\n", 400),
        ("GET /ping HTTP/1.1\r\nHost: a\r\n: b\r\n\r\n", 400),
        ("GET /ping HTTP/1.1\r\nHost: a\r\nX: b\u{0}c\r\n\r\n", 400),
    ]

    @Test(arguments: refused)
    func `ambiguous framing is refused and the connection closes`(_ request: String, _ status: Int) async throws {
        try await withServer(routes: routing { $0.post("/echo") { request, _ in .text("\(try await request.body.collect().count)") } }) { server in
            let client = try await server.client()
            // The following bytes must never be parsed as a request.
            try await client.send(request + "GET /ping HTTP/1.1\r\nHost: a\r\n\r\n")
            let response = try await client.response()
            #expect(response.status == status)
            #expect(response.count("Content-Length") == 1 && response.count("Date") == 1)
            #expect(!response.text.hasPrefix("HTTP/"), "the head stands twice: \(response.text)")
            #expect(try await client.rest().isEmpty)
        }
    }

    @Test func `a head that comes in pieces, behind a good request, is refused once too, and others are not disturbed`() async throws {
        try await withServer(routes: routing { _ in }) { server in
            let other = try await server.client()
            try await other.send("GET /ping HTTP/1.1\r\nHost: a\r\n")
            let client = try await server.client()
            try await client.send("GET /ping HTTP/1.1\r\nHost: a\r\n\r\nPOST /ping HTTP/1.1\r\nContent-")
            #expect(try await client.response().text == "pong")
            try await client.send("Length: 5x\r\nHost: a\r\n\r\nhello")
            let refusal = try await client.response()
            #expect(refusal.status == 400 && refusal.text == "Content-Length is malformed.\n")
            #expect(refusal.header("Connection") == "close")
            #expect(try await client.rest().isEmpty)
            try await other.send("\r\n")
            #expect(try await other.response().text == "pong")
        }
    }

    @Test(arguments: [
        "zz\r\nhello\r\n0\r\n\r\n", "ffffffffffffffffff\r\nhello", "5\r\nhellozz\r\n", "5\nhello\r\n0\r\n\r\n", "5\r\nhello\n0\r\n\r\n", "\r\n",
        "-5\r\nhello", "0x5\r\nhello", " 5\r\nhello", "5\r\nhello\r\n0\r\n\n", "5;a\u{0}b\r\nhello\r\n0\r\n\r\n", "5\r\nhello\r\n0\r\nX: a\n\r\n",
    ])
    func `a chunk that cannot be read is refused once`(_ body: String) async throws {
        try await withServer(routes: routing { $0.post("/echo") { request, _ in .text("\(try await request.body.collect().count)") } }) { server in
            let client = try await server.client()
            try await client.send("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + body)
            let answer = try await client.rest()
            let text = String(decoding: answer, as: UTF8.self)
            #expect(text.hasPrefix("HTTP/1.1 4"), "\(text)")
            #expect(text.components(separatedBy: "HTTP/1.1").count == 2, "\(text)")
            #expect(text.components(separatedBy: "Content-Length:").count == 2, "\(text)")
        }
    }

    @Test func `the host of an absolute target counts, whatever Host says, and one with a user or without a name is refused`() async throws {
        let routes = routing { router in
            router.get("/host") { request, _ in .text("\(request.headerValues("Host")) \(request.header("X") ?? "") \(request.target)") }
        }
        try await withServer(routes: routes) { server in
            for (target, host) in [
                ("http://evil.example/host?q=/", "evil.example"), ("HTTPS://evil.example:8443/host?q=/", "evil.example:8443"),
                ("http://[::1]:80/host?q=/", "[::1]:80"), ("/host?q=/", "a"),
            ] {
                for (version, field) in [("1.1", "Host: a\r\n"), ("1.1", "hOST:a\r\n"), ("1.0", ""), ("1.0", "Host: a\r\n")] {
                    if target.hasPrefix("/"), field.isEmpty { continue }
                    let response = try await server.exchange("GET \(target) HTTP/\(version)\r\n\(field)X: y\r\n\r\n")
                    #expect(response.text == "[\"\(host)\"] y /host?q=/", "\(target) \(field)")
                }
            }
            for target in ["http:///host", "https://?q", "http://", "http://a@b/host", "http://a:b@c/host"] {
                #expect(try await server.exchange("GET \(target) HTTP/1.1\r\nHost: a\r\n\r\n").status == 400, "\(target)")
            }
        }
    }

    @Test func `usual requests are not refused`() async throws {
        try await withServer(routes: routing { $0.post("/echo") { request, _ in .text("\(try await request.body.collect().count)") } }) { server in
            for (request, text) in [
                ("POST /echo HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\n\r\nhello", "5"),
                ("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n", "1"),
                ("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n00A;n=\"v\"\r\n0123456789\r\n0\r\nX: a\r\n\r\n", "10"),
                ("\r\n\r\nGET /ping HTTP/1.1\r\nHost: a\r\n\r\n", "pong"),
                ("GET http://a/ping HTTP/1.1\r\nHost: a\r\n\r\n", "pong"),
                ("POST /echo HTTP/1.1\r\nHost: a\r\n\r\n", "0"),
                ("GET /ping HTTP/1.0\r\n\r\n", "pong"),
                ("GET /ping HTTP/1.1\r\nHost: a\r\nX: \t caf\u{E9} \r\nEmpty:\r\n\r\n", "pong"),
            ] {
                let response = try await server.exchange(request)
                #expect(response.status == 200 && response.text == text, "\(request)")
            }
        }
    }
}
