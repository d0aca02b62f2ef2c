import Foundation
import NacreLocks
import Testing

@testable import NacreHTTPClient

/// Tests of HTTP/1.1 over a real socket.
struct ExchangeTests {
    private let client = HTTPClient()

    @Test func `a request arrives with its method, path, headers and body, and its answer comes back`() async throws {
        let seen = Locked<String?>(nil)
        let peer = try Peer { connection in
            let request = connection.request()
            seen.withLock { $0 = request }
            connection.answer("{}", status: "503 Busy", headers: "Retry-After: 9\r\nX-A: 1\r\nx-a:  2 \r\n")
        }
        let answer = try await client.send(
            .init(
                "PATCH", peer.url + "/a%2Fb/../c?d=e%2Bf",
                headers: [.init("X-Name", "value"), .init("X-Empty", ""), .init("Content-Type", "application/json")],
                body: .bytes(Array("{\"a\":1}".utf8))))
        #expect(answer.status == 503 && answer.body == Array("{}".utf8) && answer.head.version == "1.1")
        #expect(answer.head["retry-after"] == "9" && answer.head["x-a"] == "1, 2" && answer.head["x-b"] == nil)
        let request = try #require(seen.withLock { $0 })
        #expect(request.hasPrefix("PATCH /a%2Fb/../c?d=e%2Bf HTTP/1.1\r\n"))
        #expect(request.contains("\r\nX-Name: value\r\n") && request.contains("\r\nX-Empty:\r\n") && request.contains("\r\nContent-Length: 7\r\n"))
        #expect(request.contains("\r\nContent-Type: application/json\r\n") && request.hasSuffix("\r\n\r\n{\"a\":1}"))
        #expect(!request.contains("Expect") && !request.contains("User-Agent"))
    }

    @Test(
        arguments: [
            ("0", 0), ("120", 120), ("Sun, 06 Nov 1994 08:49:37 GMT", 60), ("Sun, 06 Nov 1994 08:48:00 GMT", 0), ("-1", nil), ("", nil),
            ("soon", nil), ("Sun, 06 Nov 1994 08:49:37 GMT+1", nil), ("1.5", nil), (nil, nil),
        ] as [(String?, Double?)])
    func `a server asks to wait for seconds or until a date`(text: String?, seconds: Double?) {
        let headers = text.map { [HTTPClient.Header("retry-after", $0)] } ?? []
        let head = HTTPClient.Head(status: 503, headers: headers, version: "1.1")
        #expect(head.retryAfter(at: 784_111_717) == seconds)
    }

    @Test(arguments: ["GET", "HEAD", "DELETE", "OPTIONS"])
    func `a request without a body says nothing of one`(method: String) async throws {
        let seen = Locked<String?>(nil)
        let peer = try Peer { connection in
            let request = connection.request()
            seen.withLock { $0 = request }
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: \(method == "HEAD" ? 5 : 0)\r\n\r\n")
        }
        let answer = try await client.send(.init(method, peer.url))
        #expect(answer.body.isEmpty)
        let request = try #require(seen.withLock { $0 })
        #expect(request.hasPrefix("\(method) / HTTP/1.1\r\n"))
        #expect(!request.contains("Content-") && !request.contains("Transfer-Encoding"))
    }

    @Test func `an empty body has a length of zero, and no type that nobody gave it`() async throws {
        let seen = Locked<String?>(nil)
        let peer = try Peer { connection in
            let request = connection.request()
            seen.withLock { $0 = request }
            connection.answer()
        }
        _ = try await client.send(.init("POST", peer.url, body: .bytes([])))
        let request = try #require(seen.withLock { $0 })
        #expect(request.contains("\r\nContent-Length: 0\r\n") && !request.contains("Content-Type"))
    }

    @Test func `answers that only say to go on are passed over`() async throws {
        let peer = try Peer { connection in
            _ = connection.request()
            connection.write("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")
            connection.answer("b", status: "201 Created")
        }
        let answer = try await client.send(.init("POST", peer.url, body: .bytes([1])))
        #expect(answer.status == 201 && answer.head["link"] == nil && answer.body == Array("b".utf8))
    }

    @Test func `a connection serves one request after another`() async throws {
        let peer = try Peer { connection in
            while connection.request() != nil { connection.answer("\(connection.number)") }
        }
        for _ in 0..<20 {
            let answer = try await client.send(.init("POST", peer.url, body: .bytes([1, 2])))
            #expect(answer.body == Array("1".utf8))
        }
        #expect(peer.accepted == 1)
    }

    @Test func `a redirection is an answer, and nobody else is asked`() async throws {
        let target = try Peer { $0.awaitEnd() }
        let peer = try Peer { connection in
            _ = connection.request()
            connection.answer(status: "302 Found", headers: "Location: \(target.url)\r\n")
        }
        let answer = try await client.send(.init("GET", peer.url, headers: [.init("Authorization", "Bearer t")]))
        #expect(answer.status == 302 && answer.head["location"] == target.url)
        #expect(target.accepted == 0)
    }

    /// "hello", as gzip makes it.
    private static let gzipped: [UInt8] = [
        0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0xcb, 0x48, 0xcd, 0xc9, 0xc9, 7, 0, 0x86, 0xa6, 0x10, 0x36, 5, 0, 0, 0,
    ]

    @Test func `what comes compressed is delivered plain, and only who asks for it is sent it`() async throws {
        let peer = try Peer { connection in
            while let request = connection.request() {
                if request.contains("\r\nAccept-Encoding: gzip, deflate\r\n") {
                    connection.write("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: \(Self.gzipped.count)\r\n\r\n")
                    connection.write(Self.gzipped)
                } else {
                    connection.answer("plain")
                }
            }
        }
        #expect(try await client.send(.init("GET", peer.url)).body == Array("hello".utf8))
        #expect(try await client.send(.init("GET", peer.url, takesCompression: false)).body == Array("plain".utf8))
    }

    @Test func `no more transfers than allowed go to one host, and the next begins when one ends`() async throws {
        let client = HTTPClient(.init(transfersPerHostMax: 2))
        let gate = Event()
        let peer = try Peer { connection in
            while connection.request() != nil {
                gate.block()
                connection.answer()
            }
        }
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<5 { group.addTask { #expect(await client.failure(.init("GET", peer.url)) == nil) } }
            await client.reaches(running: 2, queued: 3)
            gate.happen()
        }
        #expect(peer.accepted <= 2)
        #expect(await client.census() == Census(running: 0, queued: 0, handles: 0, transfers: 0))
    }

    @Test(arguments: [
        ("GET", "", [], HTTPClient.Failure.RequestFault.url), ("GET", "/path", [], .url), ("GET", "ftp://127.0.0.1/a", [], .url),
        ("GET", "file:///etc/passwd", [], .url), ("GET", "http://", [], .url), ("GET", "http://a b/", [], .url),
        ("GET", "http://127.0.0.1:99999/", [], .url), ("", "http://127.0.0.1/", [], .method), ("G ET", "http://127.0.0.1/", [], .method),
        ("GET", "http://127.0.0.1/", [HTTPClient.Header("A", "b\r\nC: d")], .header), ("GET", "http://127.0.0.1/", [.init("A b", "c")], .header),
        ("GET", "http://127.0.0.1/", [.init("", "c")], .header),
    ])
    func `what is no request is refused before anything is sent`(
        method: String, url: String, headers: [HTTPClient.Header], fault: HTTPClient.Failure.RequestFault
    ) async {
        let failure = await client.failure(.init(method, url, headers: headers))
        #expect(failure?.cause == .badRequest(fault) && failure?.mayHaveArrived == false)
    }

    @Test func `a port that nobody listens on was sent nothing`() async throws {
        let peer = try Peer { _ in }
        peer.close()
        let url = peer.url
        // The accepting thread closes the listener a moment later; until then it takes connections and ends them.
        var failure = await client.failure(.init("GET", url))
        while failure?.cause != .cannotConnect { failure = await client.failure(.init("GET", url)) }
        #expect(failure?.mayHaveArrived == false && failure?.code == 7)
    }

    @Test func `a name that nobody knows was sent nothing`() async {
        let failure = await client.failure(.init("GET", "http://nobody.invalid/"))
        #expect(failure?.cause == .cannotResolve && failure?.mayHaveArrived == false)
    }

    @Test func `a client that is gone ends what it carried, and its connections`() async throws {
        let arrived = Event()
        let peer = try Peer { connection in
            _ = connection.request()
            arrived.happen()
            connection.awaitEnd()
        }
        let loop = TransferLoop(.init())
        let transfer = Transfer(.init("GET", peer.url), loop: loop)
        let result: Result<HTTPClient.Answer, HTTPClient.Failure> = await withCheckedContinuation { continuation in
            transfer.delivery = .whole { continuation.resume(returning: $0) }
            loop.post(.start(transfer))
            Task {
                await arrived.wait()
                loop.close()
            }
        }
        #expect(throws: HTTPClient.Failure(.cancelled, mayHaveArrived: true)) { try result.get() }
        await peer.idle()
        let late = Transfer(.init("GET", peer.url), loop: loop)
        let end: Result<HTTPClient.Answer, HTTPClient.Failure> = await withCheckedContinuation { continuation in
            late.delivery = .whole { continuation.resume(returning: $0) }
            loop.post(.start(late))
        }
        #expect(throws: HTTPClient.Failure(.cancelled, mayHaveArrived: false)) { try end.get() }
    }

    @Test func `no child process inherits a connection`() async throws {
        let gate = Event()
        let peer = try Peer { connection in
            _ = connection.request()
            gate.block()
            connection.answer()
        }
        async let answer = client.send(.init("GET", peer.url))
        await client.reaches(running: 1)
        while peer.accepted == 0 { await Task.yield() }
        var isCloexec: [Bool] = []
        for name in try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd") {
            guard let descriptor = Int32(name) else { continue }
            var address = sockaddr_in()
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            let code = withUnsafeMutablePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getpeername(descriptor, $0, &length) }
            }
            if code == 0, Int(UInt16(bigEndian: address.sin_port)) == peer.port { isCloexec.append(fcntl(descriptor, F_GETFD) & FD_CLOEXEC != 0) }
        }
        #expect(isCloexec == [true])
        gate.happen()
        _ = try await answer
    }
}
