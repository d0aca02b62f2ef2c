import Dispatch
import Foundation
import Glibc
import NacreCloudTestSupport
import NacreLocks

/// Passes bytes between clients and a server, counts the clients' bytes, and cuts the connection at a given byte. The
/// client is cut off once the server has ended its side. Two blocking threads per connection. Ends with `close`.
final class CuttingProxy: Sendable {
    private struct State {
        var server = 0
        var sent = 0
        var back = 0
        var cuts: [Int] = []
        /// After so many bytes of answers no connection is passed on.
        var endBack = Int.max
    }

    let port: Int
    private let listener: Int32
    private let state = Locked(State())
    /// Passed by each connection before its first byte.
    private let gate = DispatchSemaphore(value: 1)

    init() throws {
        listener = try LoopbackSocket.listener(backlog: 64)
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
    /// Bytes of clients that were passed on.
    var sent: Int { state.withLock { $0.sent } }

    /// Bytes of the server that were passed on.
    var back: Int { state.withLock { $0.back } }

    func lead(to port: Int) { state.withLock { $0.server = port } }

    /// Resets the counts, and cuts connections after so many bytes in all.
    /// - Parameter endBack: After so many bytes of answers their connection ends, and no other is passed on until
    ///   `lead`.
    func reset(cuts: [Int] = [], endBack: Int = .max) {
        state.withLock { ($0.sent, $0.back, $0.cuts, $0.endBack) = (0, 0, cuts.sorted(), endBack) }
    }

    /// Runs `body` while new connections are accepted, but their bytes are held back.
    func holding<Value>(_ body: () async throws -> Value) async rethrows -> Value {
        hold()
        defer { gate.signal() }
        return try await body()
    }

    private func hold() { gate.wait() }

    func close() {
        shutdown(listener, Int32(SHUT_RDWR))
        Glibc.close(listener)
    }

    private func serve(_ client: Int32) {
        defer { Glibc.close(client) }
        gate.wait()
        gate.signal()
        guard let server = try? LoopbackSocket.make() else { return }
        defer { Glibc.close(server) }
        guard (try? LoopbackSocket.connect(server, state.withLock { $0.server })) != nil else { return }
        let isBack = DispatchSemaphore(value: 0)
        let isOver = Locked(false)
        Thread.detachNewThread { [state] in
            Self.pump(server, client) { count in
                // The server's answer to the cut is dropped.
                if isOver.withLock({ $0 }) { return 0 }
                return state.withLock { state in
                    let passed = min(count, state.endBack - state.back)
                    state.back += passed
                    if passed < count { state.server = 0 }
                    return passed
                }
            }
            if !isOver.withLock({ $0 }) { Self.end(server, client) }
            isBack.signal()
        }
        let isCut = Self.pump(client, server) { [state] count in
            state.withLock { state in
                guard let cut = state.cuts.first, state.sent + count > cut else {
                    state.sent += count
                    return count
                }
                let last = max(0, cut - state.sent)
                state.sent += last
                state.cuts.removeFirst()
                return last
            }
        }
        if isCut {
            // The server sees the end behind the last byte, and ends the connection.
            isOver.withLock { $0 = true }
            shutdown(server, Int32(SHUT_WR))
            isBack.wait()
            shutdown(client, Int32(SHUT_RDWR))
        } else {
            Self.end(client, server)
            isBack.wait()
        }
    }

    private static func end(_ sockets: Int32...) {
        for socket in sockets { shutdown(socket, Int32(SHUT_RDWR)) }
    }

    /// Passes bytes on.
    /// - Parameter allowed: Returns how many of the bytes are passed on; fewer than all cut the connection.
    /// - Returns: Whether it was cut; false: it has ended.
    @discardableResult
    private static func pump(_ source: Int32, _ target: Int32, _ allowed: (Int) -> Int) -> Bool {
        var buffer = [UInt8](repeating: 0, count: 64 * 1024)
        while true {
            let count = recv(source, &buffer, buffer.count, 0)
            guard count > 0 else { return false }
            let passed = allowed(count)
            var done = 0
            while done < passed {
                let got = buffer[done..<passed].withUnsafeBytes { send(target, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
                guard got > 0 else { return false }
                done += got
            }
            if passed < count { return true }
        }
    }
}
