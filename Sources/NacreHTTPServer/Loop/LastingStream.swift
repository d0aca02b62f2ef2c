import CNacreSockets
import Glibc
import NacreLocks

/// The socket of a response that goes on for long and mostly waits, and what waits to be sent there. While it waits it holds its descriptor, and a piece is one
/// call on the thread that writes it, without a turn of the loop.
final class LastingStream: Sendable {
    private enum Place: Equatable {
        /// The connection has it still.
        case elsewhere
        case open
        /// All that is to be sent was, or nothing more can be.
        case over
    }

    private struct State {
        var place = Place.elsewhere
        var socket: Int32 = -1
        var sender: AnswerSender?
        /// All of the body is sent.
        var isWhole = false
        /// Since when the client takes nothing.
        var stalledSince: UInt64?
    }

    let id: UInt64
    private let onOver: @Sendable (LastingStream) -> Void
    private let state = Locked(State())

    /// - Parameter onOver: told once, on any thread, when the socket is of no use any more.
    init(id: UInt64, onOver: @escaping @Sendable (LastingStream) -> Void) {
        self.id = id
        self.onOver = onOver
    }

    deinit { close() }

    /// Takes a socket, which is closed with it, and sends the head.
    func begin(_ socket: Int32, head: [UInt8], _ writer: HTTPStreamWriter) {
        state.withLock { state in
            (state.place, state.socket, state.sender) = (.open, socket, AnswerSender(head, .stream(writer, .chunked)))
        }
        push()
    }

    /// Sends what the writer has, as far as the socket takes it. On any thread; never blocks.
    /// - Returns: whether the stream has its socket, or had it.
    @discardableResult func push() -> Bool {
        let (before, after) = state.withLock { state -> (Place, Place) in
            let before = state.place
            if before == .open { Self.push(&state) }
            return (before, state.place)
        }
        if before == .open, after == .over { onOver(self) }
        return before != .elsewhere
    }

    private static func push(_ state: inout State) {
        while let before = state.sender?.sentBytes, let progress = state.sender?.send(to: state.socket) {
            if state.sender?.sentBytes != before { state.stalledSince = nil }
            switch progress {
            case .pausing: break
            case .starved: return
            case .full:
                if state.stalledSince == nil { state.stalledSince = MonotonicTime.now }
                return
            case .done, .failed:
                (state.place, state.isWhole) = (.over, progress == .done)
                return
            }
        }
    }

    /// Whether the client has taken nothing for so long, of what there is.
    func isStalled(_ now: UInt64, for duration: UInt64) -> Bool {
        state.withLock { state in state.stalledSince.map { now >= $0 &+ duration } ?? false }
    }

    /// Ends it at once, whatever waits.
    func close() {
        let (socket, isWhole) = state.withLock { state -> (Int32, Bool) in
            defer {
                (state.place, state.socket) = (.over, -1)
                state.sender = nil
            }
            return (state.socket, state.isWhole)
        }
        guard socket >= 0 else { return }
        if isWhole { shutdown(socket, Int32(SHUT_WR)) }
        Glibc.close(socket)
    }
}
