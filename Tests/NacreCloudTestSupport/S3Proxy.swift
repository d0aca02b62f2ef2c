import Foundation
import Glibc
import NacreLocks

/// A proxy before an S3 server with faults of networks and servers. One request per connection; each on a blocking
/// thread. Ends with `close`.
package final class S3Proxy: Sendable {
    package enum Fault: Equatable, Sendable {
        /// Answers by itself, without asking the server.
        case answer(status: String, headers: String = "", body: String = "")
        /// Takes the request, and does not answer until the client goes.
        case silent
        /// Ends the connection before the server gets the request.
        case dead
        /// Lets the server carry the request out, and ends the connection without an answer.
        case lost
        /// Announces the whole body and sends half of it.
        case short
        /// Sends other bytes than the server's.
        case altered
    }

    package struct Asked: Hashable, Sendable {
        package var method: String
        package var path: String
    }

    private struct State {
        var faults: [(fault: Fault, count: Int, applies: @Sendable (Asked) -> Bool)] = []
        var asked: [Asked] = []
        var atOnce = 0
        var mostAtOnce = 0
    }

    package let port: Int
    private let server: Int
    private let listener: Int32
    private let state = Locked(State())

    package init(before server: Int) throws {
        self.server = server
        listener = try LoopbackSocket.listener(backlog: 128)
        port = LoopbackSocket.port(of: listener)
        Thread.detachNewThread { [self] in
            while true {
                let client = accept(listener, nil, nil)
                guard client >= 0 else { return }
                _ = fcntl(client, F_SETFD, FD_CLOEXEC)
                Thread.detachNewThread { [self] in
                    serve(client)
                    Glibc.close(client)
                }
            }
        }
    }

    package func close() {
        shutdown(listener, Int32(SHUT_RDWR))
        Glibc.close(listener)
    }

    /// The requests, in their order.
    package var asked: [Asked] { state.withLock { $0.asked } }
    package var mostAtOnce: Int { state.withLock { $0.mostAtOnce } }
    package func forget() { state.withLock { ($0.asked, $0.mostAtOnce) = ([], 0) } }

    /// Applies a fault to the next requests of a kind.
    package func fail(_ fault: Fault, times: Int = .max, where applies: @escaping @Sendable (Asked) -> Bool = { _ in true }) {
        state.withLock { $0.faults.append((fault, times, applies)) }
    }

    package func mend() { state.withLock { $0.faults = [] } }

    private func serve(_ client: Int32) {
        guard let (head, body) = Self.message(client) else { return }
        let words = head.prefix { $0 != "\r\n" }.split(separator: " ", maxSplits: 2).map(String.init)
        guard words.count > 1 else { return }
        let asked = Asked(method: words[0], path: words[1])
        let fault = state.withLock { state -> Fault? in
            state.asked.append(asked)
            guard let index = state.faults.firstIndex(where: { $0.count > 0 && $0.applies(asked) }) else { return nil }
            state.faults[index].count -= 1
            return state.faults[index].fault
        }
        switch fault {
        case .dead: return
        case .silent:
            var byte: UInt8 = 0
            while recv(client, &byte, 1, 0) > 0 {}
            return
        case .answer(let status, let headers, let body):
            let head = "HTTP/1.1 \(status)\r\n\(headers)Content-Length: \(body.utf8.count)\r\nConnection: close\r\n\r\n"
            Self.write(Array((head + body).utf8), to: client)
            return
        default: break
        }
        guard let (answerHead, answerBody) = passOn(head, body) else { return }
        switch fault {
        case .lost: return
        case .short: Self.write(Array(answerHead.utf8) + answerBody.prefix(answerBody.count / 2), to: client)
        case .altered:
            var other = answerBody
            if !other.isEmpty { other[other.count / 2] ^= 1 }
            Self.write(Array(answerHead.utf8) + other, to: client)
        default: Self.write(Array(answerHead.utf8) + answerBody, to: client)
        }
    }

    /// Passes a request on. The count ends with the server's answer, after which the next request may come.
    private func passOn(_ head: String, _ body: [UInt8]) -> (String, [UInt8])? {
        state.withLock { state in
            state.atOnce += 1
            state.mostAtOnce = max(state.mostAtOnce, state.atOnce)
        }
        defer { state.withLock { $0.atOnce -= 1 } }
        guard let socket = try? LoopbackSocket.make() else { return nil }
        defer { Glibc.close(socket) }
        guard (try? LoopbackSocket.connect(socket, server)) != nil else { return nil }
        Self.write(Array(Self.closing(head).utf8) + body, to: socket)
        guard let (answer, bytes) = Self.message(socket) else { return nil }
        return (Self.closing(answer), bytes)
    }

    /// A line end is one character.
    private static func closing(_ head: String) -> String { head.dropLast() + "Connection: close\r\n\r\n" }

    /// Reads a head and a body with a length, or a body that ends with the connection.
    private static func message(_ socket: Int32) -> (String, [UInt8])? {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        let end = Array("\r\n\r\n".utf8)
        var body: Int?
        while body == nil {
            let got = recv(socket, &buffer, buffer.count, 0)
            guard got > 0 else { return nil }
            let from = max(0, bytes.count - 3)
            bytes += buffer.prefix(got)
            body = bytes[from...].firstRange(of: end)?.upperBound
        }
        guard let body else { return nil }
        let head = String(decoding: bytes[..<body], as: UTF8.self)
        let line = head.lowercased().split(separator: "\r\n").first { $0.hasPrefix("content-length:") }
        let length = line.flatMap { Int($0.dropFirst(15).drop { $0 == " " }) }
        let isOpen = length == nil && head.hasPrefix("HTTP/")
        while isOpen || bytes.count < body + (length ?? 0) {
            let got = recv(socket, &buffer, buffer.count, 0)
            if got == 0, isOpen { break }
            guard got > 0 else { return nil }
            bytes += buffer.prefix(got)
        }
        return (head, Array(bytes[body...]))
    }

    private static func write(_ bytes: [UInt8], to socket: Int32) {
        var done = 0
        while done < bytes.count {
            let count = bytes.withUnsafeBytes { send(socket, $0.baseAddress?.advanced(by: done), bytes.count - done, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { return }
            done += count
        }
    }
}
