import NacreCloudTestSupport
import NacreHTTPServer
import Testing

/// Tests with bytes in any pieces, and clients that leave after any of them.
@Suite(.timeLimit(.minutes(5))) struct ArrivalTests {
    static let requests = [
        "POST /echo?q=1 HTTP/1.1\r\nHost: a\r\nX-Note: b\r\nContent-Length: 11\r\n\r\nhello world",
        "POST /echo?q=1 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n",
    ]

    private func echo(_ router: inout Router) {
        router.post("/echo") { request, _ in
            .text("\(request.query("q") ?? "")\(String(decoding: try await request.body.collect(upTo: 100), as: UTF8.self))")
        }
    }

    @Test(arguments: requests)
    func `a request cut at any byte is answered when its rest comes`(_ request: String) async throws {
        try await withServer(routes: routing(echo)) { server in
            let bytes = Array(request.utf8)
            for cut in 1..<bytes.count {
                let client = try await server.client()
                try await client.send(Array(bytes[..<cut]))
                try await server.settle()
                try await client.send(Array(bytes[cut...]))
                let response = try await client.response()
                #expect(response.status == 200 && response.text == "1hello world", "cut at \(cut)")
            }
        }
    }

    @Test(arguments: requests)
    func `a client that leaves after any byte does not disturb the next one`(_ request: String) async throws {
        try await withServer(routes: routing(echo)) { server in
            let bytes = Array(request.utf8)
            for cut in 0..<bytes.count {
                let client = try await server.client()
                try await client.send(Array(bytes[..<cut]))
                client.hangUp()
                try await server.settle()
            }
            #expect(try await server.exchange(request).text == "1hello world")
        }
    }

    @Test func `a connection serves one request after the other, also when they come at once`() async throws {
        try await withServer(routes: routing(echo)) { server in
            let client = try await server.client()
            for number in 0..<3 {
                try await client.send("POST /echo?q=\(number) HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx")
                #expect(try await client.response().text == "\(number)x")
            }
            try await client.send(
                (3..<9).map { "POST /echo?q=\($0) HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx" }.joined() + Self.requests[1]
                    + "GET /ping HTTP/1.1\r\nHost: a\r\n\r\n")
            for number in 3..<9 { #expect(try await client.response().text == "\(number)x") }
            #expect(try await client.response().text == "1hello world")
            #expect(try await client.response().text == "pong")
        }
    }

    @Test func `pipelined requests whose handlers wait are answered in order`() async throws {
        let gate = Gate()
        try await withServer(
            routes: routing { router in
                router.get("/wait") { _, _ in
                    await gate.pass()
                    return .text("waited")
                }
            }
        ) { server in
            let client = try await server.client()
            try await client.send("GET /wait HTTP/1.1\r\nHost: a\r\n\r\nGET /ping HTTP/1.1\r\nHost: a\r\n\r\n")
            try await server.settle()
            await gate.open()
            #expect(try await client.response().text == "waited")
            #expect(try await client.response().text == "pong")
        }
    }

    @Test func `HTTP 1_0 and Connection close end the connection after the response`() async throws {
        try await withServer(routes: routing(echo)) { server in
            for request in ["GET /ping HTTP/1.0\r\n\r\n", "GET /ping HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"] {
                let client = try await server.client()
                try await client.send(request)
                #expect(try await client.response().text == "pong")
                #expect(try await client.rest().isEmpty)
            }
        }
    }

    @Test func `a waiting client gets 100 Continue when the handler reads, and the answer alone when it does not`() async throws {
        try await withServer(
            routes: routing { router in
                router.post("/read") { request, _ in .text("\(try await request.body.collect().count)") }
                router.post("/refuse") { _, _ in throw HTTPError(.unauthorized, "No.") }
            }
        ) { server in
            let head = "HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 100000\r\n\r\n"
            let client = try await server.client()
            try await client.send("POST /read " + head)
            #expect(try await client.response().status == 100)
            try await client.send([UInt8](repeating: 65, count: 100_000))
            #expect(try await client.response().text == "100000")
            let refused = try await server.client()
            try await refused.send("POST /refuse " + head)
            #expect(try await refused.response().status == 401)
            #expect(try await refused.rest().isEmpty)
        }
    }
}
