import Foundation
import Glibc
import NacreCloudTestSupport
import NacreLocks

/// A proxy between a client and the server that loses answers of the server.
///
/// One thread a connection, blocking; a request goes on to the server over a connection of its own. Every answer ends
/// its connection: when one that was used before dies under a request, URLSession on Linux cannot send the body again
/// and waits for its timeout. Ends with `close`.
final class LossyProxy: Sendable {
    enum Fate: Sendable {
        case deliver
        /// The client's connection ends without a byte of the answer, which the server has sent completely.
        case lose
    }

    struct Passed: Sendable {
        /// `POST /path HTTP/1.1`
        var line: String
        var body: Data
        var fate: Fate
    }

    let port: Int
    private let listener: Int32
    private let server: Int
    private let fate: @Sendable (_ line: String, _ earlier: Int) -> Fate
    private let passedRequests = Locked<[Passed]>([])

    /// Makes the proxy.
    /// - Parameters:
    ///   - server: The port of the server.
    ///   - fate: Returns the fate of an answer, by the request's first line and the number of earlier requests with
    ///     the same line.
    init(to server: Int, fate: @escaping @Sendable (_ line: String, _ earlier: Int) -> Fate) throws {
        self.server = server
        self.fate = fate
        listener = try LoopbackSocket.make()
        try LoopbackSocket.bind(listener, 0)
        guard listen(listener, 64) == 0 else { throw POSIXFault(call: "listen", code: errno) }
        port = LoopbackSocket.port(of: listener)
        Thread.detachNewThread { [self] in
            while true {
                let client = accept(listener, nil, nil)
                guard client >= 0 else { return }
                _ = fcntl(client, F_SETFD, FD_CLOEXEC)
                Thread.detachNewThread { [self] in serve(client) }
            }
        }
    }

    var url: String { "http://127.0.0.1:\(port)" }

    /// All requests that the server has answered, in their order.
    var passed: [Passed] { passedRequests.withLock { $0 } }

    func close() {
        shutdown(listener, Int32(SHUT_RDWR))
        Glibc.close(listener)
    }

    private func serve(_ client: Int32) {
        defer { Glibc.close(client) }
        var stream = SocketStream(client)
        guard let request = stream.message(), let answer = ask(request) else { return }
        let line = request.firstLine
        let fate = passedRequests.withLock { passed in
            let fate = self.fate(line, passed.count { $0.line == line })
            passed.append(Passed(line: line, body: request.body, fate: fate))
            return fate
        }
        if fate == .deliver { _ = stream.write(answer.lastOfItsConnection) }
        shutdown(client, Int32(SHUT_RDWR))
    }

    /// Returns the server's whole answer; nil when it gives none.
    private func ask(_ request: HTTPMessage) -> HTTPMessage? {
        guard let socket = try? LoopbackSocket.make() else { return nil }
        defer { Glibc.close(socket) }
        guard (try? LoopbackSocket.connect(socket, server)) != nil else { return nil }
        var stream = SocketStream(socket)
        guard stream.write(request.bytes) else { return nil }
        return stream.message()
    }
}

/// The head and body of a request or an answer, unchanged.
struct HTTPMessage {
    var head: Data
    var body: Data

    var bytes: Data { head + body }
    /// The bytes with a header that no other request follows.
    var lastOfItsConnection: Data { head.dropLast(2) + Data("Connection: close\r\n\r\n".utf8) + body }
    var firstLine: String { String(decoding: head.prefix { $0 != 13 }, as: UTF8.self) }
}

/// Splits a socket's bytes into messages with a Content-Length; nothing here uses chunks.
private struct SocketStream {
    private let socket: Int32
    private var buffer = Data()

    init(_ socket: Int32) {
        self.socket = socket
    }

    mutating func message() -> HTTPMessage? {
        let end = Data("\r\n\r\n".utf8)
        var found = buffer.range(of: end)
        while found == nil {
            guard fill() else { return nil }
            found = buffer.range(of: end)
        }
        guard let found else { return nil }
        let head = Data(buffer[..<found.upperBound])
        let length = Self.contentLength(of: head)
        while buffer.count < head.count + length {
            guard fill() else { return nil }
        }
        let body = Data(buffer.dropFirst(head.count).prefix(length))
        buffer = Data(buffer.dropFirst(head.count + length))
        return HTTPMessage(head: head, body: body)
    }

    func write(_ bytes: Data) -> Bool {
        var rest = [UInt8](bytes)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    private mutating func fill() -> Bool {
        var bytes = [UInt8](repeating: 0, count: 64 * 1024)
        let count = recv(socket, &bytes, bytes.count, 0)
        guard count > 0 else { return false }
        buffer.append(contentsOf: bytes.prefix(count))
        return true
    }

    private static func contentLength(of head: Data) -> Int {
        for line in String(decoding: head, as: UTF8.self).split(separator: "\r\n") {
            let parts = line.split(separator: ":", maxSplits: 1)
            guard parts.count == 2, parts[0].lowercased() == "content-length" else { continue }
            return Int(parts[1].trimmingCharacters(in: .whitespaces)) ?? 0
        }
        return 0
    }
}
