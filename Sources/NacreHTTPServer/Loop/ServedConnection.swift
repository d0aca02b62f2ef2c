import CNacreSockets
import Glibc
import NacreTelemetry

/// One socket, from accept to close: its unused input, the request under way, and its deadlines. Only its loop's thread
/// touches it. The socket's events are edge-triggered. The connection therefore remembers what the socket can do, and
/// makes no needless system calls.
final class ServedConnection {
    enum Input {
        /// Bytes came, and the taker took part of them or all.
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
    /// Whether the last answer is out. Further input is thrown away for a moment, so that the answer is not lost in a
    /// reset (RFC 9112 §9.6).
    private(set) var isLingering = false
    private var lingeredBytes = 0
    /// Whether the connection waits for its turn in the loop.
    var isReady = false
    /// Whether the connection has its turn.
    private(set) var isAdvancing = false
    private(set) var isClosed = false

    /// The bytes that were read. From `firstPending` on they are not taken yet.
    private var pending: [UInt8] = []
    private var firstPending = 0
    private var headEnd = HeadEnd()
    /// Whether no request has begun. The first head has its time from the accept on.
    private var isFirst = true
    /// Whether the socket may have unread bytes.
    private var mayRead = true
    /// Whether the client has ended its side. Earlier bytes may still be unread.
    private(set) var hasPeerEnded = false

    private(set) var deadline: UInt64
    /// The moment since when only the client is awaited: its next request, more of a body, or that it reads on.
    /// `MonotonicTime.never` while it waits for the server.
    private(set) var awaitsClientSince: UInt64
    /// The start of the client's time for a piece of a large answer, and the bytes sent by then.
    private var piece: (since: UInt64, sent: Int)?
    /// The moment at which the clock stopped because the handler wanted no more of the body.
    private var pausedAt: UInt64?
    /// The receipts of sent answers that the client's kernel has not acknowledged.
    private var receipts: [AnswerReceipt] = []
    /// The moment since when a caller waits for a receipt.
    private var demandedAt: UInt64?
    /// The holder of the connection's bytes before a credential was looked at.
    private(set) lazy var stranger = Holder(.stranger, IPAddress.customer(peer.text))

    /// The number of requests of one connection that are handled before others have their turn.
    private static let requestsAtOnce = 8
    /// The capacity that is kept between requests, in bytes: room for a usual head.
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

    /// Notes the changes that the kernel reports.
    func noteEvents(_ events: UInt32) {
        settleReceipts()
        if events & (EPOLLIN.rawValue | EPOLLRDHUP.rawValue | EPOLLHUP.rawValue | EPOLLERR.rawValue) != 0 { mayRead = true }
        if events & (EPOLLRDHUP.rawValue | EPOLLHUP.rawValue | EPOLLERR.rawValue) != 0 { hasPeerEnded = true }
    }

    /// Reads, has requests handled and sends, as far as possible without waiting.
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

    /// Reads more of the next request's head, and begins the request once its head is complete.
    /// - Returns: Whether the connection can go on.
    private func readHead() -> Bool {
        var problem: HTTPError?
        var found = HeadEnd.Found.not
        dropEmptyLines()
        // A single byte may be the beginning of an empty line.
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

    /// Skips empty lines before a request line (RFC 9112 §2.2).
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

    /// - Returns: Whether there may be more bytes.
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

    /// Whether no request is under way, and no byte of one has come.
    var isIdle: Bool { exchange == nil && !hasPending && !isLingering }

    /// Whether the client may have sent bytes that are not taken.
    var mayHaveInput: Bool { hasPending || mayRead }

    /// Hands out the bytes read before, or those that can be read now.
    /// - Parameter body: Returns the number of bytes that it takes. The others come again.
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
        /// Bytes in the loop's buffer, valid until the next call.
        case bytes(UnsafeRawBufferPointer)
        case nothing
        case ended
    }

    private func receive() -> Received {
        while mayRead {
            let room = loop.room
            let count = recv(socket, room.baseAddress, room.count, 0)
            if count > 0 {
                loop.metrics.received.add(UInt64(count))
                // A short read has emptied the socket. Later bytes bring another event.
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

    /// Sends an interim response. The socket's buffer is empty then, so it takes all bytes, or the connection is
    /// broken.
    func sendInterim(_ text: StaticString) {
        let count = send(socket, text.utf8Start, text.utf8CodeUnitCount, Int32(MSG_NOSIGNAL))
        if count != text.utf8CodeUnitCount { loop.close(self) }
    }

    // MARK: - Receipts

    var awaitsReceipt: Bool { !receipts.isEmpty }

    /// Keeps the receipt of an answer that is sent, until the client's kernel has it.
    func expect(_ receipt: AnswerReceipt) {
        receipts.append(receipt)
        let id = id
        receipt.expect { [weak loop = loop] in
            guard let loop else { return }
            loop.perform { loop.demandReceipts(of: id) }
        }
        settleReceipts()
    }

    /// Settles the receipts if all bytes are acknowledged. The kernel does not report acknowledgements, so this asks at
    /// other events and at each tick.
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

    /// Starts the time for a body, because the head is complete.
    func beginBody() { awaitClient(until: loop.now &+ loop.deadlines.body) }

    /// Notes that a part of the body has come.
    func clientGoesOn() {
        if awaitsClientSince != MonotonicTime.never { awaitsClientSince = loop.now }
    }

    /// Stops the clock, because the request is complete and the client waits for the server.
    func beginResponse() { set(MonotonicTime.never) }

    /// Starts the time for the client to read on, because the socket takes no more. `sent` bytes of the response are
    /// sent.
    /// - Parameter hasPieces: Whether each piece has its own time, so that a byte now and then is not enough.
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

    /// Starts the time for the next request, because the response is sent.
    func beginIdle() { awaitClient(until: loop.now &+ loop.deadlines.idle) }

    private func awaitClient(until deadline: UInt64) {
        set(deadline)
        awaitsClientSince = loop.now
    }

    /// Ends the sending side after the last response. Further input is thrown away for a short time.
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
        return exchange.ledger.isShort
    }

    // MARK: - The end

    /// Gives away the socket, which stays open.
    func giveSocket() -> Int32 {
        isClosed = true
        return socket
    }

    /// Closes the socket. Only the loop calls this, and forgets the connection.
    func close() {
        guard !isClosed else { return }
        isClosed = true
        settleReceipts()
        if awaitsReceipt {
            // The receipt says that the answer was not taken. The reset makes sure that the client does not get it
            // later.
            var end = Glibc.linger(l_onoff: 1, l_linger: 0)
            setsockopt(socket, SOL_SOCKET, SO_LINGER, &end, socklen_t(MemoryLayout<Glibc.linger>.size))
            for receipt in receipts { receipt.settle(isTaken: false) }
            receipts = []
        }
        Glibc.close(socket)
    }
}
