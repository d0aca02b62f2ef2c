import Glibc
import NacreLocks
package import NacreTelemetry

/// HTTP/1.1 on one address: accepts connections, has the router answer their requests, and bears what clients do.
///
/// Each of its loops is a thread with its own listening socket and its own connections. Handlers run on their connection's loop.
package final class HTTPServer: Sendable {
    private enum State {
        case new
        case running([EventLoop])
        /// Until the last loop has ended; then those who wait go on.
        case stopping(left: Int, waiting: [CheckedContinuation<Void, Never>])
        case stopped
    }

    private let configuration: HTTPServerConfiguration
    private let router: Router
    private let telemetry: Telemetry
    private let logger: Logger
    private let state = Locked(State.new)

    package init(_ configuration: HTTPServerConfiguration, router: Router, telemetry: Telemetry = Telemetry(), logger: Logger = .silent) {
        self.configuration = configuration
        self.router = router
        self.telemetry = telemetry
        self.logger = logger
    }

    /// Binds and serves; returns when connections are accepted. Once in a server's life. SIGPIPE is ignored from here on in the whole process, or a
    /// client that closes early could end it.
    /// - Returns: the host as configured, and the port, which the system has chosen where 0 was configured.
    /// - Throws: `ServerStartError`, where the address is taken or is none of this machine.
    @discardableResult
    package func start() async throws -> (host: String, port: Int) {
        signal(SIGPIPE, SIG_IGN)
        let count = max(configuration.loopCount, 1)
        let (sockets, port) = try ListenSockets.open(host: configuration.host, port: configuration.port, count: count)
        try begin(try makeLoops(sockets))
        logger.log(.info, "listening", [.host: .string(configuration.host), .port: .int(port)])
        return (configuration.host, port)
    }

    /// A loop for each socket, which belongs to it from then on.
    private func makeLoops(_ sockets: [Int32]) throws -> [EventLoop] {
        let metrics = ServerMetrics(telemetry)
        let overload = OverloadLog(logger, telemetry)
        var loops: [EventLoop] = []
        do {
            for socket in sockets {
                loops.append(
                    try EventLoop(configuration, router: router, socket: socket, metrics: metrics, logger: logger, overload: overload) {
                        [weak self] in
                        self?.loopStopped()
                    })
            }
            return loops
        } catch {
            // The loop that failed has closed its own.
            for socket in sockets.dropFirst(loops.count + 1) { close(socket) }
            throw error
        }
    }

    private func begin(_ loops: [EventLoop]) throws {
        let isNew = state.withLock { state in
            guard case .new = state else { return false }
            state = .running(loops)
            return true
        }
        guard isNew else { throw ServerStartError(.alreadyStarted, code: EALREADY) }
        do {
            for loop in loops { try loop.start() }
        } catch {
            state.withLock { $0 = .stopped }
            for loop in loops { loop.drain(until: MonotonicTime.now) }
            throw error
        }
    }

    /// Accepts nothing more, lets the requests under way finish for at most `grace`, cancels the rest, closes all and returns. Idle connections close
    /// at once. May be called more than once; every call returns when the server has stopped, and a shorter grace counts from its own call.
    package func shutdown(grace: Duration) async {
        let deadline = MonotonicTime.now &+ grace.nanoseconds
        await withCheckedContinuation { continuation in
            let loops = state.withLock { state -> [EventLoop]? in
                switch state {
                case .new, .stopped:
                    state = .stopped
                    return nil
                case .running(let loops):
                    state = .stopping(left: loops.count, waiting: [continuation])
                    return loops
                case .stopping(let left, let waiting):
                    state = .stopping(left: left, waiting: waiting + [continuation])
                    return []
                }
            }
            guard let loops else { return continuation.resume() }
            for loop in loops { loop.drain(until: deadline) }
        }
    }

    private func loopStopped() {
        let waiting = state.withLock { state -> [CheckedContinuation<Void, Never>] in
            guard case .stopping(let left, let waiting) = state else { return [] }
            state = left == 1 ? .stopped : .stopping(left: left - 1, waiting: waiting)
            return left == 1 ? waiting : []
        }
        for continuation in waiting { continuation.resume() }
    }
}
