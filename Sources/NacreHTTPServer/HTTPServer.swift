import Glibc
import NacreLocks
package import NacreTelemetry

/// HTTP/1.1 on one address: accepts connections and has the router answer their requests. Each loop is a thread with
/// its own listening socket and its own connections. Handlers run on their connection's loop.
package final class HTTPServer: Sendable {
    private enum State {
        case new
        case running([EventLoop])
        /// The state until the last of `left` loops has ended; then the `waiting` callers of `shutdown` go on.
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

    /// Binds and serves; returns when connections are accepted. Call it once in a server's life. From here on SIGPIPE
    /// is ignored in the whole process, because a client that closes early could end it.
    /// - Returns: The host as configured, and the port. The system chooses the port if 0 is configured.
    /// - Throws: `ServerStartError`, for example if the address is taken or does not belong to this machine.
    @discardableResult
    package func start() async throws -> (host: String, port: Int) {
        signal(SIGPIPE, SIG_IGN)
        let count = max(configuration.loopCount, 1)
        let (sockets, port) = try ListenSockets.open(host: configuration.host, port: configuration.port, count: count)
        try begin(try makeLoops(sockets))
        logger.log(.info, "listening", [.host: .string(configuration.host), .port: .int(port)])
        return (configuration.host, port)
    }

    /// Makes a loop for each socket. The loop owns the socket from then on.
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
            // The loop that failed has closed its own socket.
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

    /// Stops accepting, lets the requests under way finish for at most `grace`, cancels the rest, and returns when all
    /// connections are closed. Idle connections close at once. May be called more than once; a shorter grace counts
    /// from its own call.
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
