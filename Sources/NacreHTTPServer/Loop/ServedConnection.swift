import CNacreSockets
import Glibc

/// One socket, from accept to close: what was read of it and belongs to nobody yet, the request under way, and the deadlines of its own clock. Only its loop's
/// thread touches it.
///
/// The socket's events come once for each change, so what it is good for is remembered here, and asked of the kernel no more often than needed.
final class ServedConnection {
    /// What there is to be read.
    enum Input {
        /// Bytes, and all that were taken of them.
        case taken
        case nothing
        /// The client has ended its side, or the connection broke.
        case ended
    }

    let id: UInt64
    let socket: Int32
    let peer: PeerAddress
    unowned let loop: EventLoop
    /// The request under way, from the end of its head to the end of its response.
    var exchange: Exchange?
    /// The last answer is out; what the client still sends is thrown away for a moment, so that the answer is not lost in a reset (RFC 9112 §9.6).
    private(set) var isLingering = false
    private var lingeredBytes = 0
    /// It waits for its turn in the loop.
    var isReady = false
    /// It has its turn.
    private(set) var isAdvancing = false
    private(set) var isClosed = false

    /// What was read and not taken, from `firstPending` on.
    private var pending: [UInt8] = []
    private var firstPending = 0
    private var headEnd = HeadEnd()
    /// No request has begun: the first one's head has its time from the connection's first moment.
    private var isFirst = true
    /// The socket may have bytes that were not read.
    private var mayRead = true
    /// The client has said that it ends its side; what it sent before may still be there.
    private(set) var hasPeerEnded = false

    private(set) var deadline: UInt64
    /// Since when only the client is awaited: its next request, more of a body, or that it reads on. Never while it waits for us.
    private(set) var awaitsClientSince: UInt64
    /// Since when the client is to take a piece of a large answer, and how much had been sent then.
    private var piece: (since: UInt64, sent: Int)?
    /// When the deadline was put off because the handler did not want more of the body.
    private var pausedAt: UInt64?
    /// Of answers that are sent, until the client's kernel has said that it has them.
    private var receipts: [AnswerReceipt] = []
    /// Since when somebody waits to know.
    private var demandedAt: UInt64?
    /// Whose bytes the connection's are before a credential was looked at.
    private(set) lazy var stranger = Holder(.stranger, IPAddress.customer(peer.text))

    /// Requests of one connection that are handled before others have their turn.
    private static let requestsAtOnce = 8
    /// Room for a usual head that is kept between requests.
    private static let keptBytes = 2 * 1024

    init(id: UInt64, socket: Int32, peer: PeerAddress, loop: EventLoop) {
        self.id = id
        self.socket = socket
        self.peer = peer
        self.loop = loop
        deadline = loop.now &+ loop.deadlines.header
        awaitsClientSince = loop.now
    }

    // MARK: - Going on

    /// The kernel tells of a change.
    func noteEvents(_ events: UInt32) {
        settleReceipts()
        if events & (EPOLLIN.rawValue | EPOLLRDHUP.rawValue | EPOLLHUP.rawValue | EPOLLERR.rawValue) != 0 { mayRead = true }
        if events & (EPOLLRDHUP.rawValue | EPOLLHUP.rawValue | EPOLLERR.rawValue) != 0 { hasPeerEnded = true }
    }

    /// Reads, has requests handled and sends, as far as that goes without waiting.
    func advance() {
        isAdvancing = true
        defer { isAdvancing = false }
        var requests = 0
        while !isClosed {
            if let exchange {
                switch exchange.advance() {
                case .over: requests += 1
                case .goesOn: continue
                case .waits:
                    if hasPeerEnded, exchange.waitsForHandler { loop.doubt(exchange) }
                    return
                case .pauses: return loop.advanceLater(self)
                }
            } else if isLingering {
                guard linger() else { return }
            } else if requests >= Self.requestsAtOnce {
                return loop.advanceLater(self)
            } else {
                guard readHead() else { return }
            }
        }
    }

    /// Reads on in the head of the next request, and begins it where it is complete.
    /// - Returns: whether something was read.
    private func readHead() -> Bool {
        var problem: HTTPError?
        var found = HeadEnd.Found.not
        dropEmptyLines()
        // Of one byte nobody knows yet whether it begins an empty line.
        if pending.count - firstPending > 1 {
            if headEnd.isNew, !isFirst { deadline = loop.now &+ loop.deadlines.header }
            found = pending.withUnsafeBytes { headEnd.find(in: UnsafeRawBufferPointer(rebasing: $0[firstPending...])) }
            let length = pending.count - firstPending
            switch found {
            case .at(let end): if end > loop.headerBytesMax { problem = HTTPError(.headersTooLarge, "The headers are too large.") }
            case .bareLineFeed: problem = HTTPError(.badRequest, "A line ends with a line feed alone.")
            case .not where length > loop.headerBytesMax:
                problem =
                    headEnd.hasLine
                    ? HTTPError(.headersTooLarge, "The headers are too large.") : HTTPError(.uriTooLong, "The request line is too long.")
            case .not: break
            }
        }
        if let problem {
            begin(HeadReader(refused: problem))
            return true
        }
        if case .at(let end) = found {
            let reader = pending.withUnsafeBytes { HeadReader(UnsafeRawBufferPointer(rebasing: $0[firstPending..<firstPending + end])) }
            drop(end)
            begin(reader)
            return true
        }
        return readMore()
    }

    /// Empty lines before a request line are read over (RFC 9112 §2.2).
    private func dropEmptyLines() {
        guard headEnd.isNew else { return }
        while pending.count - firstPending >= 2, pending[firstPending] == 0x0D, pending[firstPending + 1] == 0x0A { drop(2) }
    }

    private func readMore() -> Bool {
        switch receive() {
        case .bytes(let bytes):
            pending.append(contentsOf: bytes)
            return true
        case .nothing: return false
        case .ended:
            loop.close(self)
            return false
        }
    }

    private func begin(_ reader: HeadReader) {
        headEnd = HeadEnd()
        isFirst = false
        let exchange = Exchange(self, reader)
        self.exchange = exchange
        set(MonotonicTime.never)
        exchange.begin()
    }

    /// - Returns: whether there may be more.
    private func linger() -> Bool {
        let input = withInput { bytes in
            lingeredBytes += bytes.count
            return bytes.count
        }
        switch input {
        case .taken where lingeredBytes <= ServerLimits.lingeringBytesMax: return true
        case .nothing: return false
        case .taken, .ended:
            loop.close(self)
            return false
        }
    }

    // MARK: - Reading

    private var hasPending: Bool { firstPending < pending.count }

    /// Whether no request is under way, and nothing of one has come.
    var isIdle: Bool { exchange == nil && !hasPending && !isLingering }

    /// Whether the client may have sent what nobody has taken.
    var mayHaveInput: Bool { hasPending || mayRead }

    /// Gives out what was read before, or what can be read now.
    /// - Parameter body: returns how many bytes it takes; the others come again.
    func withInput(_ body: (UnsafeRawBufferPointer) -> Int) -> Input {
        if hasPending {
            let first = firstPending
            drop(pending.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[first...])) })
            return .taken
        }
        switch receive() {
        case .bytes(let bytes):
            let count = body(bytes)
            if count < bytes.count { pending.append(contentsOf: bytes[count...]) }
            return .taken
        case .nothing: return .nothing
        case .ended: return .ended
        }
    }

    private enum Received {
        /// In the loop's own room, up to the next call.
        case bytes(UnsafeRawBufferPointer)
        case nothing
        case ended
    }

    private func receive() -> Received {
        while mayRead {
            let room = loop.room
            let count = recv(socket, room.baseAddress, room.count, 0)
            if count > 0 {
                // Less than there is room for is all that there was, and what comes behind it is another event.
                if count < room.count, !hasPeerEnded { mayRead = false }
                return .bytes(UnsafeRawBufferPointer(rebasing: room[..<count]))
            }
            if count < 0, errno == EINTR { continue }
            if count < 0, errno == EAGAIN { mayRead = false } else { return .ended }
        }
        return .nothing
    }

    private func drop(_ count: Int) {
        firstPending += count
        guard firstPending == pending.count else { return }
        firstPending = 0
        pending.removeAll(keepingCapacity: pending.capacity <= Self.keptBytes)
    }

    /// Sends what precedes a response. The socket has nothing else to send then, so it takes it, or is broken.
    func sendInterim(_ text: StaticString) {
        let count = send(socket, text.utf8Start, text.utf8CodeUnitCount, Int32(MSG_NOSIGNAL))
        if count != text.utf8CodeUnitCount { loop.close(self) }
    }

    // MARK: - Receipts

    var awaitsReceipt: Bool { !receipts.isEmpty }

    /// All of an answer is sent, and its maker wants to know whether it arrives.
    func expect(_ receipt: AnswerReceipt) {
        receipts.append(receipt)
        let id = id
        receipt.expect { [weak loop = loop] in
            guard let loop else { return }
            loop.perform { loop.demandReceipts(of: id) }
        }
        settleReceipts()
    }

    /// The kernel tells of no acknowledgement by itself: it is asked whenever something else happens, and at each tick.
    func settleReceipts() {
        guard awaitsReceipt, nacre_unacknowledged(socket) == 0 else { return }
        for receipt in receipts { receipt.settle(isTaken: true) }
        (receipts, demandedAt) = ([], nil)
    }

    func demandReceipts() {
        settleReceipts()
        if awaitsReceipt, demandedAt == nil { demandedAt = loop.now }
    }

    // MARK: - The clock

    /// The headers are here, and a body follows.
    func beginBody() { awaitClient(until: loop.now &+ loop.deadlines.body) }

    /// A part of the body has come.
    func clientGoesOn() {
        if awaitsClientSince != MonotonicTime.never { awaitsClientSince = loop.now }
    }

    /// The request is here, and the client waits for us.
    func beginResponse() { set(MonotonicTime.never) }

    /// The socket takes no more of a response, of which so much is sent: the client is to read on.
    /// - Parameter hasPieces: a byte now and then is not enough: each piece has its time.
    func awaitReader(_ sent: Int, hasPieces: Bool) {
        guard hasPieces else {
            let since = min(awaitsClientSince, loop.now)
            awaitClient(until: loop.now &+ loop.deadlines.stall)
            awaitsClientSince = since
            return
        }
        if let piece, sent - piece.sent < ServerLimits.answerPieceBytes { return }
        awaitClient(until: loop.now &+ loop.deadlines.piece)
        piece = (loop.now, sent)
    }

    /// The response is sent, and the next request may come.
    func beginIdle() { awaitClient(until: loop.now &+ loop.deadlines.idle) }

    private func awaitClient(until deadline: UInt64) {
        set(deadline)
        awaitsClientSince = loop.now
    }

    /// The last response is sent: nothing more is, and what still comes is thrown away, but not for long.
    func beginLingering() {
        shutdown(socket, Int32(SHUT_WR))
        isLingering = true
        awaitClient(until: loop.now &+ min(loop.deadlines.body, loop.deadlines.lingering))
    }

    private func set(_ deadline: UInt64) {
        self.deadline = deadline
        pausedAt = nil
        piece = nil
        awaitsClientSince = MonotonicTime.never
    }

    func pauseClock() {
        awaitsClientSince = MonotonicTime.never
        if pausedAt == nil, deadline != MonotonicTime.never { pausedAt = loop.now }
    }

    func continueClock() {
        guard let pausedAt else { return }
        deadline &+= loop.now &- pausedAt
        awaitsClientSince = loop.now
        self.pausedAt = nil
    }

    func isLate(_ now: UInt64) -> Bool {
        if pausedAt == nil, now >= deadline { return true }
        if let demandedAt, now >= demandedAt &+ ServerLimits.receiptWait.nanoseconds { return true }
        guard let piece, let exchange, now >= piece.since &+ loop.deadlines.shortPiece else { return false }
        return exchange.account.isShort
    }

    // MARK: - The end

    /// Gives the socket away, which lives on.
    func giveSocket() -> Int32 {
        isClosed = true
        return socket
    }

    /// Only its loop calls this, which forgets it.
    func close() {
        guard !isClosed else { return }
        isClosed = true
        settleReceipts()
        if awaitsReceipt {
            // What the client has not taken it does not get later: it is told that it has not.
            var end = Glibc.linger(l_onoff: 1, l_linger: 0)
            setsockopt(socket, SOL_SOCKET, SO_LINGER, &end, socklen_t(MemoryLayout<Glibc.linger>.size))
            for receipt in receipts { receipt.settle(isTaken: false) }
            receipts = []
        }
        Glibc.close(socket)
    }
}
