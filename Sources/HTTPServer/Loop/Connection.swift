import Glibc

/// One socket, from accept to close, with the deadlines of its own clock. Only its loop's thread touches it.
///
/// libmicrohttpd's timers restart with every byte, so a client that sends a byte now and then is never late for them. These do not.
final class Connection {
    let id: UInt64
    let socket: Int32
    let peer: PeerAddress
    unowned let loop: EventLoop
    /// The request under way, from its request line to the end of its response.
    var exchange: Exchange?
    private(set) var deadline: UInt64
    /// When the deadline was put off because the handler did not want more of the body.
    private var pausedAt: UInt64?
    /// A request is awaited, or its head, and nobody has looked since whether the client has ended its side.
    private var mayHaveEnded = true

    init(id: UInt64, socket: Int32, peer: PeerAddress, loop: EventLoop) {
        self.id = id
        self.socket = socket
        self.peer = peer
        self.loop = loop
        deadline = loop.now &+ loop.deadlines.header
    }

    /// The request line is here.
    func beginHead() { set(loop.now &+ loop.deadlines.header, mayHaveEnded: true) }

    /// The headers are here, and a body follows.
    func beginBody() { set(loop.now &+ loop.deadlines.body) }

    /// The request is here, and the client waits for us.
    func beginResponse() { set(MonotonicTime.never) }

    /// The response is sent, and the next request may come.
    func beginIdle() { set(loop.now &+ loop.deadlines.idle, mayHaveEnded: true) }

    /// An early answer is out; what still comes is thrown away, but not for long.
    func beginLingering() { set(loop.now &+ min(loop.deadlines.body, loop.deadlines.lingering)) }

    private func set(_ deadline: UInt64, mayHaveEnded: Bool = false) {
        self.deadline = deadline
        self.mayHaveEnded = mayHaveEnded
        pausedAt = nil
    }

    func pauseClock() {
        if pausedAt == nil, deadline != MonotonicTime.never { pausedAt = loop.now }
    }

    func continueClock() {
        guard let pausedAt else { return }
        deadline &+= loop.now &- pausedAt
        self.pausedAt = nil
    }

    func isLate(_ now: UInt64) -> Bool { pausedAt == nil && now >= deadline }

    /// Whether the client has ended its side while a request is awaited: none can come any more. Looks once in each such wait; a system call.
    ///
    /// libmicrohttpd 0.9.75 takes a read that did not fill its buffer for the last one until the next event, and so never sees an end that came in
    /// the same event as the bytes before it. It would keep the socket until a deadline.
    func hasEnded() -> Bool {
        guard mayHaveEnded else { return false }
        mayHaveEnded = false
        var byte: UInt8 = 0
        return recv(socket, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT)) == 0
    }

    /// Makes libmicrohttpd find the socket closed, which ends the connection at its next run.
    func hangUp() {
        shutdown(socket, Int32(SHUT_RDWR))
        deadline = MonotonicTime.never
    }
}
