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
        var writer: HTTPStreamWriter?
        /// In chunks, as they are sent.
        var unsent: ArraySlice<UInt8> = []
        /// The body is over: nothing comes behind `unsent`.
        var isComplete = false
        /// Since when the client takes nothing.
        var stalledSince: UInt64?
    }

    /// Of what a writer has, bytes that are framed and sent at once.
    private static let pieceBytes = 16 * 1024

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
            (state.place, state.socket, state.writer) = (.open, socket, writer)
            state.unsent = head[...]
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
        while true {
            if !state.unsent.isEmpty, !sendUnsent(&state) { return }
            guard !state.isComplete, let writer = state.writer else { return end(&state) }
            let supply = withUnsafeTemporaryAllocation(byteCount: pieceBytes, alignment: 1) { buffer in
                let supply = writer.take(into: buffer)
                if case .bytes(let count) = supply { state.unsent = chunk(UnsafeRawBufferPointer(rebasing: buffer[..<count])) }
                return supply
            }
            switch supply {
            case .bytes: break
            case .empty: return
            case .end: (state.unsent, state.isComplete) = (Array("0\r\n\r\n".utf8)[...], true)
            case .failed: return end(&state)
            }
        }
    }

    private static func end(_ state: inout State) { state.place = .over }

    /// RFC 9112, 7.1.
    private static func chunk(_ bytes: UnsafeRawBufferPointer) -> ArraySlice<UInt8> {
        var framed: [UInt8] = []
        framed.reserveCapacity(bytes.count + 10)
        framed += String(bytes.count, radix: 16).utf8
        framed += [UInt8(ascii: "\r"), UInt8(ascii: "\n")]
        framed.append(contentsOf: bytes)
        framed += [UInt8(ascii: "\r"), UInt8(ascii: "\n")]
        return framed[...]
    }

    /// - Returns: whether nothing is left of it.
    private static func sendUnsent(_ state: inout State) -> Bool {
        while !state.unsent.isEmpty {
            let socket = state.socket
            let count = state.unsent.withUnsafeBytes { send(socket, $0.baseAddress, $0.count, Int32(MSG_DONTWAIT | MSG_NOSIGNAL)) }
            if count > 0 {
                state.unsent = state.unsent.dropFirst(count)
                state.stalledSince = nil
            } else if count < 0, errno == EINTR {
                continue
            } else if count < 0, errno == EAGAIN {
                if state.stalledSince == nil { state.stalledSince = MonotonicTime.now }
                return false
            } else {
                end(&state)
                return false
            }
        }
        // An empty slice would keep what was sent.
        state.unsent = []
        return true
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
                (state.writer, state.unsent) = (nil, [])
            }
            return (state.socket, state.isComplete && state.unsent.isEmpty)
        }
        guard socket >= 0 else { return }
        if isWhole { shutdown(socket, Int32(SHUT_WR)) }
        Glibc.close(socket)
    }
}
