import CNacreMicroHTTPD
import Glibc

/// One socket, from accept to close, with the deadlines of its own clock. Only its loop's thread touches it.
///
/// libmicrohttpd's timers restart with every byte, so a client that sends a byte now and then is never late for them. These do not.
final class ServedConnection {
    let id: UInt64
    let socket: Int32
    let peer: PeerAddress
    unowned let loop: EventLoop
    /// The request under way, from its request line to the end of its response.
    var exchange: Exchange?
    private(set) var deadline: UInt64
    /// Since when no request is under way; never while one is.
    private(set) var idleSince: UInt64
    /// When the piece of a large answer that the client is to take was handed out.
    private var pieceSince: UInt64?
    /// Whose bytes the connection's are before a credential was looked at.
    private(set) lazy var stranger = ByteHolder(.stranger, IPAddress.customer(peer.text))
    /// When the deadline was put off because the handler did not want more of the body.
    private var pausedAt: UInt64?
    /// Whether it is worth to look if the client has ended its side.
    private var endWatch = EndWatch.always

    private enum EndWatch {
        /// A part of a request is here, and the rest is awaited.
        case always
        /// A request is awaited, and nobody has looked since. What comes later comes in an event of its own.
        case once
        case never
    }

    init(id: UInt64, socket: Int32, peer: PeerAddress, loop: EventLoop) {
        self.id = id
        self.socket = socket
        self.peer = peer
        self.loop = loop
        deadline = loop.now &+ loop.deadlines.header
        idleSince = loop.now
    }

    /// The request line is here.
    func beginHead() { set(loop.now &+ loop.deadlines.header, .always) }

    /// The headers are here, and a body follows.
    func beginBody() { set(loop.now &+ loop.deadlines.body, .always) }

    /// The request is here, and the client waits for us.
    func beginResponse() { set(MonotonicTime.never) }

    /// A piece of a large response is handed out, and the client is to take it.
    func beginPiece() {
        set(loop.now &+ loop.deadlines.piece)
        pieceSince = loop.now
    }

    /// The response is sent, and the next request may come.
    func beginIdle() {
        set(loop.now &+ loop.deadlines.idle, .once)
        idleSince = loop.now
    }

    /// An early answer is out; what still comes is thrown away, but not for long.
    func beginLingering() { set(loop.now &+ min(loop.deadlines.body, loop.deadlines.lingering)) }

    private func set(_ deadline: UInt64, _ endWatch: EndWatch = .never) {
        self.deadline = deadline
        self.endWatch = endWatch
        pausedAt = nil
        pieceSince = nil
        idleSince = MonotonicTime.never
    }

    func pauseClock() {
        if pausedAt == nil, deadline != MonotonicTime.never { pausedAt = loop.now }
    }

    func continueClock() {
        guard let pausedAt else { return }
        deadline &+= loop.now &- pausedAt
        self.pausedAt = nil
    }

    func isLate(_ now: UInt64) -> Bool {
        if pausedAt == nil, now >= deadline { return true }
        guard let pieceSince, let exchange, now >= pieceSince &+ loop.deadlines.shortPiece else { return false }
        return exchange.account.isShort
    }

    /// Whether the client has ended its side before the end of a request: the rest cannot come any more. A system call, where it is worth it.
    ///
    /// libmicrohttpd 0.9.75 takes a read that did not fill its buffer for the last one until the next event, and so never sees an end that came in
    /// the same event as the bytes before it. It would keep the socket until a deadline.
    func hasEnded() -> Bool {
        guard endWatch != .never, pausedAt == nil else { return false }
        if endWatch == .once { endWatch = .never }
        return peek() == 0
    }

    /// Whether the socket has bytes that nobody has read. A system call.
    func hasUnread() -> Bool { peek() > 0 }

    /// 1: there is something to read; 0: the client has ended its side; below: neither.
    private func peek() -> Int {
        var byte: UInt8 = 0
        return recv(socket, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT))
    }

    /// Makes libmicrohttpd find the socket closed, which ends the connection at its next run.
    func hangUp() {
        shutdown(socket, Int32(SHUT_RDWR))
        set(MonotonicTime.never)
    }
}
