import Foundation
import NacreLocks

/// What a client sees of one response.
struct RawResponse: Sendable {
    let status: Int
    let headers: [(name: String, value: String)]
    let body: [UInt8]

    func header(_ name: String) -> String? { headers.first { $0.name.lowercased() == name.lowercased() }?.value }
    func count(_ name: String) -> Int { headers.count { $0.name.lowercased() == name.lowercased() } }
    var text: String { String(decoding: body, as: UTF8.self) }
}

enum RawClientError: Error {
    case refused(Int32)
    /// The server has closed the connection.
    case closed
    case silence
}

/// A client that says exactly the bytes it is told. Its calls block threads of their own, never those of Swift's pool.
final class RawClient: Sendable {
    private let socket: Int32
    private let isOpen = Locked(true)
    private let unread = Locked<[UInt8]>([])

    /// Connects to a port of this machine. Reading gives up after four minutes, so that a fault is a failure and not a hang.
    init(port: Int, sendBuffer: Int32? = nil, receiveBuffer: Int32? = nil) async throws {
        socket = try await onThread {
            let socket = Foundation.socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
            var limit = timeval(tv_sec: 240, tv_usec: 0)
            setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
            if var sendBuffer { setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &sendBuffer, 4) }
            if var receiveBuffer { setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &receiveBuffer, 4) }
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = UInt16(port).bigEndian
            address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            let connected = withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
            }
            guard connected == 0 else {
                close(socket)
                throw RawClientError.refused(errno)
            }
            return socket
        }
    }

    deinit { hangUp() }

    func send(_ text: String) async throws { try await send(Array(text.utf8)) }

    func send(_ bytes: [UInt8]) async throws {
        try await onThread { [socket] in
            var sent = 0
            while sent < bytes.count {
                let count = bytes[sent...].withUnsafeBytes { Foundation.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
                guard count > 0 else { throw RawClientError.closed }
                sent += count
            }
        }
    }

    /// Sends what the socket takes now, and answers how much that was.
    func sendNow(_ bytes: [UInt8]) -> Int {
        max(0, bytes.withUnsafeBytes { Foundation.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT)) })
    }

    /// Sends a few bytes and the end of all sending in one segment, and can still read.
    func sendLast(_ text: String) {
        let bytes = Array(text.utf8)
        // MSG_MORE keeps the bytes back until the end takes them along.
        _ = bytes.withUnsafeBytes { Foundation.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL | MSG_MORE)) }
        shutdown(socket, Int32(SHUT_WR))
    }

    /// Closes the connection, as a process that ends does; nothing may be asked of the client after that.
    func hangUp() {
        let wasOpen = isOpen.withLock { isOpen in
            defer { isOpen = false }
            return isOpen
        }
        if wasOpen { close(socket) }
    }

    /// The next response. `toHead` expects no body, whatever the headers say.
    func response(toHead: Bool = false) async throws -> RawResponse {
        try await onThread { [self] in
            let head = try readHead()
            var lines = head.components(separatedBy: "\r\n")
            let status = Int(lines.removeFirst().split(separator: " ").dropFirst().first ?? "") ?? 0
            let headers = lines.filter { !$0.isEmpty }.map { line -> (name: String, value: String) in
                let parts = line.split(separator: ":", maxSplits: 1)
                return (String(parts[0]), parts.count > 1 ? parts[1].trimmingCharacters(in: .whitespaces) : "")
            }
            let response = RawResponse(status: status, headers: headers, body: [])
            if toHead || status == 204 || status == 304 || status < 200 { return response }
            let body: [UInt8]
            if response.header("Transfer-Encoding") == "chunked" {
                body = try readChunks()
            } else if let length = response.header("Content-Length").flatMap({ Int($0) }) {
                body = try read(length)
            } else {
                body = try readRest()
            }
            return RawResponse(status: status, headers: headers, body: body)
        }
    }

    /// Waits for the server to close, and answers what came before that.
    func rest() async throws -> [UInt8] {
        try await onThread { [self] in try readRest() }
    }

    private func readHead() throws -> String {
        var head: [UInt8] = []
        while !head.suffix(4).elementsEqual("\r\n\r\n".utf8) { head += try read(1) }
        return String(decoding: head.dropLast(2), as: UTF8.self)
    }

    private func readChunks() throws -> [UInt8] {
        var body: [UInt8] = []
        while true {
            var line: [UInt8] = []
            while !line.suffix(2).elementsEqual("\r\n".utf8) { line += try read(1) }
            let size = Int(String(decoding: line.dropLast(2), as: UTF8.self), radix: 16) ?? 0
            body += try read(size)
            _ = try read(2)
            if size == 0 { return body }
        }
    }

    private func read(_ count: Int) throws -> [UInt8] {
        while unread.withLock({ $0.count }) < count {
            guard try fill() else { throw RawClientError.closed }
        }
        return unread.withLock { unread in
            defer { unread.removeFirst(count) }
            return Array(unread.prefix(count))
        }
    }

    private func readRest() throws -> [UInt8] {
        while try fill() {}
        return unread.withLock { unread in
            defer { unread = [] }
            return unread
        }
    }

    /// False at the end of the connection, orderly or not.
    private func fill() throws -> Bool {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = recv(socket, &buffer, buffer.count, 0)
        if count < 0, errno == EAGAIN || errno == EWOULDBLOCK { throw RawClientError.silence }
        if count > 0 { unread.withLock { $0 += buffer[..<count] } }
        return count > 0
    }
}

/// Runs a body that blocks on a thread of its own.
func onThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Result { try body() }) }
    }
}
