import Foundation
import Glibc
import NacreCloudTestSupport
import NacreLocks

/// A push service on its own port: it keeps its requests, and gives scripted answers. A connection is for one
/// request.
final class PushService: Sendable {
    struct Headers: Sendable {
        fileprivate var values: [String: String] = [:]

        subscript(name: String) -> String? { values[name.lowercased()] }
    }

    struct Seen: Sendable {
        var target: String
        var headers: Headers
        var body: [UInt8]
    }

    struct Answer: Sendable {
        var status: Int
        var headers: [String: String] = [:]
        var body = ""
    }

    private struct State {
        var seen: [Seen] = []
        var answers: [Answer] = []
        var isClosed = false
    }

    private let state = Locked(State())
    private let listener: Int32
    let url: String

    init() throws {
        let listener = try LoopbackSocket.listener(backlog: 16)
        self.listener = listener
        url = "http://127.0.0.1:\(LoopbackSocket.port(of: listener))"
        Thread.detachNewThread { [state] in
            while true {
                let socket = accept(listener, nil, nil)
                guard socket >= 0 else { break }
                if let seen = Self.request(on: socket) {
                    let answer = state.withLock { state in
                        state.seen.append(seen)
                        return state.answers.isEmpty ? Answer(status: 200) : state.answers.removeFirst()
                    }
                    Self.send(answer, on: socket)
                }
                Glibc.close(socket)
            }
            Glibc.close(listener)
        }
    }

    /// Accepts no connection from now on.
    func close() {
        let isFirst = state.withLock { state in
            defer { state.isClosed = true }
            return !state.isClosed
        }
        // Later the descriptor may belong to another file.
        if isFirst { shutdown(listener, Int32(SHUT_RDWR)) }
    }

    var seen: [Seen] { state.withLock { $0.seen } }
    func answerNext(_ answers: Answer...) { state.withLock { $0.answers += answers } }

    // MARK: A connection

    private static func request(on socket: Int32) -> Seen? {
        var bytes: [UInt8] = []
        while !bytes.suffix(4).elementsEqual("\r\n\r\n".utf8) {
            guard let byte = read(1, from: socket) else { return nil }
            bytes += byte
        }
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\r\n")
        guard let target = lines.first?.split(separator: " ").dropFirst().first else { return nil }
        var headers = Headers()
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            guard parts.count == 2 else { return nil }
            headers.values[parts[0].lowercased()] = parts[1].trimmingCharacters(in: .whitespaces)
        }
        guard let body = read(headers["content-length"].flatMap { Int($0) } ?? 0, from: socket) else { return nil }
        return Seen(target: String(target), headers: headers, body: body)
    }

    private static func read(_ count: Int, from socket: Int32) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        var have = 0
        while have < count {
            let got = bytes.withUnsafeMutableBytes { recv(socket, $0.baseAddress?.advanced(by: have), count - have, 0) }
            guard got > 0 else { return nil }
            have += got
        }
        return bytes
    }

    private static func send(_ answer: Answer, on socket: Int32) {
        let headers = answer.headers.map { "\($0.key): \($0.value)\r\n" }.joined()
        let text = "HTTP/1.1 \(answer.status) -\r\n\(headers)Content-Length: \(answer.body.utf8.count)\r\nConnection: close\r\n\r\n\(answer.body)"
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }
}
