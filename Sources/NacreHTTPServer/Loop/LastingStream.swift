import CNacreSockets
import Glibc
import NacreLocks
import NacreTelemetry

/// The socket of a long response that mostly waits, and its unsent bytes. A waiting stream holds only its descriptor.
/// The thread that writes a piece sends it in one call, without a turn of the loop.
final class LastingStream: Sendable {
    private enum Phase: Equatable {
        /// The connection still has the socket.
        case elsewhere
        case open
        /// All bytes are sent, or no more can be.
        case over
    }

    private struct State {
        var phase = Phase.elsewhere
        var socket: Int32 = -1
        var sender: AnswerSender?
        /// Whether the whole body is sent.
        var isWhole = false
        /// The moment since when the client takes nothing.
        var stalledSince: UInt64?
    }

    let id: UInt64
    private let sent: Counter
    private let onOver: @Sendable (LastingStream) -> Void
    private let state = Locked(State())

    /// - Parameters:
    ///   - sent: counts the bytes sent.
    ///   - onOver: called once, on any thread, when the socket is of no use any more.
    init(id: UInt64, sent: Counter, onOver: @escaping @Sendable (LastingStream) -> Void) {
        self.id = id
        self.sent = sent
        self.onOver = onOver
    }

    deinit { close() }

    /// Takes a socket, which it closes at its end, and sends the head.
    func begin(_ socket: Int32, head: [UInt8], _ writer: HTTPStreamWriter) {
        state.withLock { state in
            (state.phase, state.socket, state.sender) = (.open, socket, AnswerSender(head, .stream(writer, .chunked)))
        }
        push()
    }

    /// Sends the writer's bytes as far as the socket takes them. On any thread; never blocks.
    /// - Returns: Whether the stream has its socket, or had it.
    @discardableResult func push() -> Bool {
        let (before, after) = state.withLock { state -> (Phase, Phase) in
            let before = state.phase
            if before == .open { push(&state) }
            return (before, state.phase)
        }
        if before == .open, after == .over { onOver(self) }
        return before != .elsewhere
    }

    private func push(_ state: inout State) {
        while let before = state.sender?.sentBytes, let progress = state.sender?.send(to: state.socket) {
            let count = (state.sender?.sentBytes ?? before) - before
            sent.add(UInt64(count))
            if count > 0 { state.stalledSince = nil }
            switch progress {
            case .pausing: break
            case .starved: return
            case .full:
                if state.stalledSince == nil { state.stalledSince = MonotonicTime.now }
                return
            case .done, .failed:
                (state.phase, state.isWhole) = (.over, progress == .done)
                return
            }
        }
    }

    /// Whether the client has taken none of the waiting bytes for the duration, in nanoseconds.
    func isStalled(_ now: UInt64, for duration: UInt64) -> Bool {
        state.withLock { state in state.stalledSince.map { now >= $0 &+ duration } ?? false }
    }

    /// Ends the stream at once, even with unsent bytes.
    func close() {
        let (socket, isWhole) = state.withLock { state -> (Int32, Bool) in
            defer {
                (state.phase, state.socket) = (.over, -1)
                state.sender = nil
            }
            return (state.socket, state.isWhole)
        }
        guard socket >= 0 else { return }
        if isWhole { shutdown(socket, Int32(SHUT_WR)) }
        Glibc.close(socket)
    }
}
