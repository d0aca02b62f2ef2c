import Foundation
import NacreLocks

/// A response as a client sees it.
package struct RawResponse: Sendable {
    package let status: Int
    package let headers: [(name: String, value: String)]
    package let body: [UInt8]

    package func header(_ name: String) -> String? { headers.first { $0.name.lowercased() == name.lowercased() }?.value }
    package func count(_ name: String) -> Int { headers.count { $0.name.lowercased() == name.lowercased() } }
    package var text: String { String(decoding: body, as: UTF8.self) }
}

package enum RawClientError: Error {
    /// The server has closed the connection.
    case closed
    case silence
}

/// A client that sends exactly the bytes that it is given. Its calls block threads of their own.
package final class RawClient: Sendable {
    private let socket: Int32
    private let isOpen = Locked(true)
    private let unread = Locked<[UInt8]>([])

    /// Connects to a port of this machine. Reads time out after four minutes, so that a fault is not a hang.
    package init(port: Int, sendBuffer: Int32? = nil, receiveBuffer: Int32? = nil) async throws {
        socket = try await onThread { try Self.connected(to: port, sendBuffer: sendBuffer, receiveBuffer: receiveBuffer) }
    }

    private init(connectedTo port: Int) throws {
        socket = try Self.connected(to: port)
    }

    private static func connected(to port: Int, sendBuffer: Int32? = nil, receiveBuffer: Int32? = nil) throws -> Int32 {
        let socket = try LoopbackSocket.make()
        var limit = timeval(tv_sec: 240, tv_usec: 0)
        setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        if var sendBuffer { setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &sendBuffer, 4) }
        if var receiveBuffer { setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &receiveBuffer, 4) }
        do {
            try LoopbackSocket.connect(socket, port)
        } catch {
            close(socket)
            throw error
        }
        return socket
    }

    deinit { hangUp() }

    /// Returns the response to a request that asks to close the connection, once the server has closed it. All of it
    /// runs on one thread: on a loaded machine no pause between connecting and sending counts toward the server's
    /// deadlines.
    package static func response(to bytes: [UInt8], port: Int, toHead: Bool = false) async throws -> RawResponse {
        try await onThread {
            let client = try RawClient(connectedTo: port)
            // A server may answer before it has read all, and close.
            try? client.sendAll(bytes)
            let response = try client.readResponse(toHead: toHead)
            _ = try client.readRest()
            return response
        }
    }

    package func send(_ text: String) async throws { try await send(Array(text.utf8)) }

    package func send(_ bytes: [UInt8]) async throws {
        try await onThread { [self] in try sendAll(bytes) }
    }

    private func sendAll(_ bytes: [UInt8]) throws {
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes { Foundation.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { throw RawClientError.closed }
            sent += count
        }
    }

    /// Sends as much as the socket takes now, and returns the number of bytes.
    package func sendNow(_ bytes: [UInt8]) -> Int {
        max(0, bytes.withUnsafeBytes { Foundation.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT)) })
    }

    /// Sends a few bytes and the end of the stream in one segment, and can still read.
    package func sendLast(_ text: String) {
        let bytes = Array(text.utf8)
        // MSG_MORE delays the bytes until the end is sent with them.
        _ = bytes.withUnsafeBytes { Foundation.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL | MSG_MORE)) }
        shutdown(socket, Int32(SHUT_WR))
    }

    /// Closes the connection, as a process that ends does; the client must not be used after that.
    package func hangUp() {
        let wasOpen = isOpen.withLock { isOpen in
            defer { isOpen = false }
            return isOpen
        }
        guard wasOpen else { return }
        // A process that another test is starting may have a copy of the descriptor, which `close` alone leaves open.
        shutdown(socket, Int32(SHUT_RDWR))
        close(socket)
    }

    /// Returns the next response. With `toHead` it has no body, whatever the headers say.
    package func response(toHead: Bool = false) async throws -> RawResponse {
        try await onThread { [self] in try readResponse(toHead: toHead) }
    }

    private func readResponse(toHead: Bool) throws -> RawResponse {
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

    /// Waits until the server closes, and returns the bytes before that.
    package func rest() async throws -> [UInt8] {
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

    /// Returns the bytes up to the end of `marker`; all of them where the connection ends before.
    package func text(through marker: String) async throws -> String {
        try await onThread { [self] in
            while true {
                let found = unread.withLock { unread -> String? in
                    let text = String(decoding: unread, as: UTF8.self)
                    guard let place = text.firstRange(of: marker) else { return nil }
                    let taken = text[..<place.upperBound]
                    unread.removeFirst(taken.utf8.count)
                    return String(taken)
                }
                if let found { return found }
                guard try fill() else {
                    return unread.withLock { unread in
                        defer { unread = [] }
                        return String(decoding: unread, as: UTF8.self)
                    }
                }
            }
        }
    }

    /// Reads more bytes. Returns false at the end of the connection, orderly or not.
    private func fill() throws -> Bool {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = recv(socket, &buffer, buffer.count, 0)
        if count < 0, errno == EAGAIN || errno == EWOULDBLOCK { throw RawClientError.silence }
        if count > 0 { unread.withLock { $0 += buffer[..<count] } }
        return count > 0
    }
}

/// Runs a blocking body on a thread of its own.
package func onThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Result { try body() }) }
    }
}
