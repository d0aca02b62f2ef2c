import Foundation
import Glibc
import Testing

@testable import CloudKit

/// HTTP as it goes over a real socket.
@Suite struct URLSessionTransportTests {
    /// Takes one connection after another and gives each the next answer; an empty one hangs up.
    private final class Peer: @unchecked Sendable {
        // Sendable: the socket is a constant, and `received` is behind `lock`.
        private let listener: Int32
        private let lock = NSLock()
        private var received: [String] = []
        let port: UInt16

        var requests: [String] { lock.withLock { received } }

        init(answers: [String]) throws {
            let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            self.listener = listener
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_addr.s_addr = inet_addr("127.0.0.1")
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            let bound = withUnsafeMutablePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                    bind(listener, pointer, length) == 0 && listen(listener, 8) == 0 && getsockname(listener, pointer, &length) == 0
                }
            }
            try #require(bound)
            port = UInt16(bigEndian: address.sin_port)
            Thread.detachNewThread { [self] in
                for answer in answers { serve(answer) }
                close(listener)
            }
        }

        private func serve(_ answer: String) {
            let connection = accept(listener, nil, nil)
            var text = ""
            var buffer = [UInt8](repeating: 0, count: 65536)
            while !text.hasSuffix("}") && !text.hasPrefix("GET") {
                let count = read(connection, &buffer, buffer.count)
                guard count > 0 else { break }
                text += String(decoding: buffer[..<count], as: UTF8.self)
            }
            lock.withLock { received.append(text) }
            if !answer.isEmpty { _ = answer.withCString { write(connection, $0, strlen($0)) } }
            close(connection)
        }
    }

    private func request(_ port: UInt16, method: TransportRequest.Method = .post) throws -> TransportRequest {
        let url = try #require(URL(string: "http://127.0.0.1:\(port)/database/1/x?ckAPIToken=a%2Bb"))
        return TransportRequest(
            method: method, url: url, headers: ["Authorization": "Bearer t", "Content-Type": "application/json"], body: Array("{\"a\":1}".utf8),
            timeout: 10)
    }

    private func answer(_ body: String, status: String = "200 OK", headers: String = "") -> String {
        "HTTP/1.1 \(status)\r\nContent-Length: \(body.utf8.count)\r\nConnection: close\r\n\(headers)\r\n\(body)"
    }

    @Test func `a request arrives with its path, headers and body, and its answer comes back`() async throws {
        let peer = try Peer(answers: [answer("{}", status: "503 Busy", headers: "Retry-After: 9\r\n")])
        let answer = try await URLSessionTransport.shared.send(try request(peer.port))
        #expect(answer.status == 503 && answer.headers["retry-after"] == "9" && answer.body == Array("{}".utf8))
        let seen = try #require(peer.requests.first)
        #expect(seen.hasPrefix("POST /database/1/x?ckAPIToken=a%2Bb HTTP/1.1\r\n"))
        #expect(seen.contains("Authorization: Bearer t\r\n") && seen.contains("Content-Type: application/json\r\n"))
        #expect(seen.hasSuffix("\r\n\r\n{\"a\":1}"))
    }

    @Test func `a server that hangs up may have got the request`() async throws {
        let peer = try Peer(answers: ["", ""])
        do {
            _ = try await URLSessionTransport.shared.send(try request(peer.port))
            Issue.record("there was no answer to give")
        } catch TransportFailure.answerLost {}
    }

    @Test func `a port that nobody listens on was not sent anything`() async throws {
        let peer = try Peer(answers: [answer("{}")])
        _ = try await URLSessionTransport.shared.send(try request(peer.port, method: .get))
        do {
            _ = try await URLSessionTransport.shared.send(try request(1))
            Issue.record("there was no answer to give")
        } catch TransportFailure.notSent {}
    }

    @Test func `a redirection is an answer, and is not followed with the tokens`() async throws {
        let target = try Peer(answers: [answer("{}")])
        let peer = try Peer(
            answers: [answer("", status: "302 Found", headers: "Location: http://127.0.0.1:\(target.port)/database/1/x\r\n")])
        let answer = try await URLSessionTransport.shared.send(try request(peer.port, method: .get))
        #expect(answer.status == 302)
        #expect(target.requests.isEmpty)
    }

    @Test func `cancelling ends the call`() async throws {
        let listener = try Peer(answers: [])
        let request = try request(listener.port)
        let task = Task { try await URLSessionTransport.shared.send(request) }
        task.cancel()
        let result = await task.result
        #expect(throws: TransportFailure.self) { try result.get() }
    }

    @Test(.timeLimit(.minutes(1))) func `cancelling in the moment in which a request fails ends the call, and not the process`() async throws {
        let count = 400
        let peer = try Peer(answers: Array(repeating: "", count: count))
        let request = try request(peer.port)
        for round in 0..<count {
            let task = Task { try await URLSessionTransport.shared.send(request) }
            // Each round cancels a little later, over the time that a request takes to fail.
            for _ in 0..<(round % 40) { await Task.yield() }
            task.cancel()
            let result = await task.result
            #expect(throws: TransportFailure.self) { try result.get() }
        }
    }
}
