import Foundation
import Glibc
import NacreCloudTestSupport
import NacreLocks
import Testing

/// A server whose connections each follow a script, on a thread of their own.
final class Peer: Sendable {
    typealias Script = @Sendable (PeerConnection) -> Void

    let port: Int
    private let listener: Int32
    private let script: Script
    private let state = Locked(State())

    private struct State {
        var accepted = 0
        var open = 0
        var isClosed = false
        var onIdle: [CheckedContinuation<Void, Never>] = []
    }

    init(_ script: @escaping Script) throws {
        self.script = script
        listener = try LoopbackSocket.listener(backlog: 128)
        port = LoopbackSocket.port(of: listener)
        Thread.detachNewThread { [self] in
            while true {
                let socket = accept(listener, nil, nil)
                guard socket >= 0 else { break }
                _ = fcntl(socket, F_SETFD, FD_CLOEXEC)
                let number = state.withLock { state in
                    state.accepted += 1
                    state.open += 1
                    return state.accepted
                }
                Thread.detachNewThread { [self] in
                    self.script(PeerConnection(socket: socket, number: number, peer: self))
                    Glibc.close(socket)
                    closed()
                }
            }
            Glibc.close(listener)
        }
    }

    deinit { close() }

    var url: String { "http://127.0.0.1:\(port)" }
    /// Connections accepted so far.
    var accepted: Int { state.withLock { $0.accepted } }

    /// Accepts no connection from now on.
    func close() {
        let isFirst = state.withLock { state in
            defer { state.isClosed = true }
            return !state.isClosed
        }
        if isFirst { shutdown(listener, Int32(SHUT_RDWR)) }
    }

    /// Returns when every connection has ended.
    func idle() async {
        await withCheckedContinuation { continuation in
            let isIdle = state.withLock { state in
                if state.open > 0 { state.onIdle.append(continuation) }
                return state.open == 0
            }
            if isIdle { continuation.resume() }
        }
    }

    private func closed() {
        let waiting = state.withLock { state in
            state.open -= 1
            guard state.open == 0 else { return [CheckedContinuation<Void, Never>]() }
            defer { state.onIdle = [] }
            return state.onIdle
        }
        for continuation in waiting { continuation.resume() }
    }
}

/// One connection, as its script sees it. Every call blocks.
struct PeerConnection: Sendable {
    let socket: Int32
    /// The connection's number, from 1.
    let number: Int
    let peer: Peer

    /// Returns the next request: its head and its body, which has a length or comes in chunks; nil at the end of the
    /// connection.
    func request() -> String? {
        guard let head = head() else { return nil }
        let lowered = head.lowercased()
        if lowered.contains("transfer-encoding: chunked") {
            var body = ""
            while !body.hasSuffix("0\r\n\r\n") {
                guard let byte = read(1) else { return nil }
                body += byte
            }
            return head + body
        }
        let length = lowered.split(separator: "\r\n").first { $0.hasPrefix("content-length:") }.flatMap { Int($0.dropFirst(15).drop { $0 == " " }) }
        guard let length, length > 0 else { return head }
        return read(length).map { head + $0 }
    }

    /// Returns the head alone.
    func head() -> String? {
        var head = ""
        while !head.hasSuffix("\r\n\r\n") {
            guard let byte = read(1) else { return nil }
            head += byte
        }
        return head
    }

    func read(_ count: Int) -> String? {
        var bytes = [UInt8](repeating: 0, count: count)
        var have = 0
        while have < count {
            let got = bytes.withUnsafeMutableBytes { recv(socket, $0.baseAddress?.advanced(by: have), count - have, 0) }
            guard got > 0 else { return nil }
            have += got
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    @discardableResult
    func write(_ text: String) -> Bool { write(Array(text.utf8)) }

    @discardableResult
    func write(_ bytes: [UInt8]) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    /// Sends an answer with a length.
    @discardableResult
    func answer(_ body: String = "", status: String = "200 OK", headers: String = "") -> Bool {
        write("HTTP/1.1 \(status)\r\nContent-Length: \(body.utf8.count)\r\n\(headers)\r\n\(body)")
    }

    /// Returns when the client has closed the connection.
    func awaitEnd() {
        var byte: UInt8 = 0
        while recv(socket, &byte, 1, 0) > 0 {}
    }

    /// Sends nothing more, and can still read.
    func halfClose() {
        shutdown(socket, Int32(SHUT_WR))
    }

    /// Makes the script's end send a reset, and not an orderly end.
    func resetAtEnd() {
        var linger = linger(l_onoff: 1, l_linger: 0)
        setsockopt(socket, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<Glibc.linger>.size))
    }
}

/// An event that happens once on one side, and is awaited on the other.
final class Event: Sendable {
    private struct State {
        var hasHappened = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Locked(State())
    private let semaphore = DispatchSemaphore(value: 0)

    func happen() {
        let waiting = state.withLock { state in
            state.hasHappened = true
            defer { state.waiting = [] }
            return state.waiting
        }
        semaphore.signal()
        for continuation in waiting { continuation.resume() }
    }

    func wait() async {
        await withCheckedContinuation { continuation in
            let hasHappened = state.withLock { state in
                if !state.hasHappened { state.waiting.append(continuation) }
                return state.hasHappened
            }
            if hasHappened { continuation.resume() }
        }
    }

    /// Blocks a thread until the event, at most a minute, so that a fault is a failure and not a hang.
    func block() {
        _ = semaphore.wait(timeout: .now() + 60)
        semaphore.signal()
    }
}
