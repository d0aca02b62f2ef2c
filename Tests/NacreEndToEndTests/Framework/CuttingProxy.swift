import Dispatch
import Foundation
import Glibc
import NacreCloudTestSupport
import NacreLocks

/// Passes bytes on between clients and a server, counts what clients send, and cuts the connection over which a certain byte would go. Two threads a
/// connection, blocking. Ends with `close`.
final class CuttingProxy: Sendable {
    private struct State {
        var server = 0
        var sent = 0
        var back = 0
        var cuts: [Int] = []
    }

    let port: Int
    private let listener: Int32
    private let state = Locked(State())

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
    /// Bytes that clients have sent and that were passed on.
    var sent: Int { state.withLock { $0.sent } }

    /// Bytes that the server has sent and that were passed on.
    var back: Int { state.withLock { $0.back } }

    func lead(to port: Int) { state.withLock { $0.server = port } }

    /// Counts from nought, and cuts connections after so many bytes in all.
    func reset(cuts: [Int] = []) { state.withLock { ($0.sent, $0.back, $0.cuts) = (0, 0, cuts.sorted()) } }

    func close() {
        shutdown(listener, Int32(SHUT_RDWR))
        Glibc.close(listener)
    }

    private func serve(_ client: Int32) {
        defer { Glibc.close(client) }
        guard let server = try? LoopbackSocket.make() else { return }
        defer { Glibc.close(server) }
        guard (try? LoopbackSocket.connect(server, state.withLock { $0.server })) != nil else { return }
        let isBack = DispatchSemaphore(value: 0)
        Thread.detachNewThread { [state] in
            Self.pump(server, client) { count in
                state.withLock { $0.back += count }
                return count
            }
            isBack.signal()
        }
        Self.pump(client, server) { [state] count in
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
        isBack.wait()
    }

    /// - Parameter allowed: how many of the bytes are passed on; fewer than all cut the connection.
    private static func pump(_ source: Int32, _ target: Int32, _ allowed: (Int) -> Int) {
        var buffer = [UInt8](repeating: 0, count: 64 * 1024)
        while true {
            let count = recv(source, &buffer, buffer.count, 0)
            guard count > 0 else { break }
            let passed = allowed(count)
            var done = 0
            while done < passed {
                let got = buffer[done..<passed].withUnsafeBytes { send(target, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
                guard got > 0 else { break }
                done += got
            }
            if done < count { break }
        }
        shutdown(source, Int32(SHUT_RDWR))
        shutdown(target, Int32(SHUT_RDWR))
    }
}
