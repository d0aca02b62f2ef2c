import NacreTelemetry

/// One request and its response on a connection. It joins the socket, the handler's task and the body.
final class Exchange: @unchecked Sendable {
    // Sendable: every stored property is touched on the loop's thread alone. Tasks that run elsewhere reach it through
    // `EventLoop.perform`.

    enum Stage {
        /// The handler runs already; the body is not read before it asks.
        case held
        /// A small body is collected before the handler starts.
        case gathering
        /// The body goes to the handler as it comes.
        case streaming
        /// The handler has answered before the body's end. The rest is thrown away, then the answer goes out.
        case discarding
        /// The answer is awaited or being sent; nothing more is read.
        case answering
    }

    /// The next step of the connection's turn.
    enum Step {
        /// Progress was made, and more may be possible.
        case goesOn
        /// The socket or the handler wakes the connection.
        case waits
        /// Other connections have their turn first.
        case pauses
        /// The response is sent.
        case over
    }

    /// How the end of the body is found.
    enum Framing {
        /// The number of bytes that are missing.
        case length(Int)
        case chunks(ChunkReader)
    }

    let loop: EventLoop
    let connection: ServedConnection
    let reader: HeadReader
    let head: RequestHead
    let match: RouteMatch
    let bodyBytesMax: Int
    var isHead: Bool { head.method == .head }
    var stage = Stage.answering
    var framing = Framing.length(0)
    var gathered: [UInt8] = []
    var channel: ByteChannel?
    var writer: HTTPStreamWriter?
    var sender: AnswerSender?
    /// Whether all bytes that the handler has written are sent.
    var isStarved = false
    /// Whether the answer lies in memory while it is sent, so that its unsent bytes are counted.
    var countsAnswer = false
    var receivedBytes = 0
    var discardedBytes = 0
    /// Whether the connection closes after the answer: the next request cannot be found, or the client does not keep
    /// the connection.
    var closesAfter: Bool
    /// Whether the answer goes out before the body's end and the rest of the body is not read.
    var leavesBody = false
    /// Whether the client waits for "100 Continue" before it sends its body.
    var awaitsContinue: Bool
    /// Whether the handler has asked for the body and has not enough for now.
    var isBodyWanted = false
    var task: Task<Void, Never>?
    var response: PreparedResponse?
    /// Whether the client has ended its side. It counts as gone if the answer takes long.
    var isDoubted = false
    /// Whether the exchange has left its connection.
    private(set) var isOver = false
    let startedAt: UInt64
    /// The memory and the slot that the request takes. It reports waits as long as the exchange lives; the handler's
    /// task retains it.
    private(set) lazy var ledger = RequestLedger(loop.budgets, stranger, loop.overload) { [weak self] wait in
        guard let exchange = self else { return }
        exchange.loop.perform { exchange.setWait(wait) }
    }
    private var wait: RequestLedger.Wait?
    private var isWaiting: Bool { wait != nil }
    /// Whether the handler has a task that only waits.
    var keepsTask: Bool { task != nil && isWaiting }
    /// The holder of the request's bytes and slot before a credential was looked at.
    private var stranger: Holder {
        loop.trustedProxies.isEmpty
            ? connection.stranger : Holder(.stranger, IPAddress.customer(head.client(of: connection.peer, loop.trustedProxies)))
    }
    /// The first tick at which the handler was seen to work at the answer; nil if it does not, or only waits.
    private var worksSince: UInt64?

    init(_ connection: ServedConnection, _ reader: HeadReader) {
        loop = connection.loop
        self.connection = connection
        self.reader = reader
        head = reader.head()
        match = loop.router.match(head)
        bodyBytesMax = match.route?.bodyBytesMax ?? loop.bodyBytesMax
        closesAfter = reader.problem != nil || !reader.isKept
        awaitsContinue = reader.expectsContinue && reader.isNewest
        startedAt = MonotonicTime.now
    }

    /// Goes on as far as the socket and the handler allow.
    func advance() -> Step {
        switch stage {
        case .held: continueHeld()
        case .gathering, .streaming, .discarding: receive()
        case .answering: answer()
        }
    }

    /// Whether the connection waits for the handler alone, and nothing is read or sent meanwhile.
    var waitsForHandler: Bool {
        guard !isOver else { return false }
        return switch stage {
        case .held: response == nil
        case .streaming: !isBodyWanted
        case .gathering, .discarding: false
        case .answering: response == nil || isStarved
        }
    }

    // MARK: - The handler's task

    /// Runs middleware and handler, or the refusal in the handler's place, and answers. A handler that does not wait is
    /// done on return.
    func start(_ body: HTTPBody, refusal: HTTPError? = nil) {
        var refusal = refusal
        if refusal == nil, match.route?.isAlwaysAnswered != true, !ledger.hasTakenSlot() { refusal = .busy }
        var request = HTTPRequest(
            head: head, body: body, peer: connection.peer, identity: loop.nextRequestID(), ledger: ledger, proxies: loop.trustedProxies,
            isAmongMany: loop.begins())
        request.match = match
        loop.requests.add(1, waitingFor: nil)
        let work = Work(request: request, refusal: refusal, router: loop.router)
        task = Task(executorPreference: loop) { await self.run(work) }
        loop.runJobs { self.response != nil }
    }

    private struct Work: Sendable {
        let request: HTTPRequest
        let refusal: HTTPError?
        let router: Router
    }

    private func run(_ work: Work) async {
        let response = await work.router.run(work.request, refusal: work.refusal)
        let prepared = await PreparedResponse.preparing(response, for: work.request)
        if case .bytes(let bytes) = prepared.body { work.request.ledger.countAnswer(bytes.count) }
        guard let body = prepared.streamed, work.request.method != .head else {
            loop.perform { self.complete(prepared, nil) }
            return
        }
        let loop = loop
        let lasting = prepared.isLasting ? loop.lastingStream(of: self) : nil
        let writer = HTTPStreamWriter(ledger: work.request.ledger) { if lasting?.push() != true { loop.perform { self.goOn() } } }
        guard let lasting else {
            loop.perform { self.complete(prepared, writer) }
            return await stream(body, writer)
        }
        // Use a new task, because this one keeps the memory of its deepest call. The socket moves outside the
        // connection's turn.
        loop.performLater {
            self.complete(prepared, writer, lasting)
            self.task = Task(executorPreference: loop) { await self.stream(body, writer) }
        }
    }

    private func stream(_ body: @Sendable (HTTPStreamWriter) async throws -> Void, _ writer: HTTPStreamWriter) async {
        do {
            try await body(writer)
            writer.end(complete: true)
        } catch {
            writer.end(complete: false)
        }
        loop.perform { self.endTask() }
    }

    private func complete(_ prepared: PreparedResponse, _ writer: HTTPStreamWriter?, _ lasting: LastingStream? = nil) {
        if writer == nil { endTask() }
        guard !isOver else {
            writer?.abandon()
            return
        }
        self.writer = writer
        response = prepared
        if closesAfter || loop.isDraining { response?.closes = true }
        if stage == .streaming { answerEarly() }
        if let lasting, let writer { takeOver(lasting, writer) }
        goOn()
    }

    /// Gives the connection a turn, because something that it waited for has happened.
    func goOn() {
        // A connection that has its turn finds out by itself.
        if !isOver, !connection.isAdvancing { loop.advanceLater(connection) }
    }

    /// Gives the connection's socket to a stream, if that is possible.
    private func takeOver(_ lasting: LastingStream, _ writer: HTTPStreamWriter) {
        guard stage == .answering, sender == nil, reader.isNewest, let response,
            let head = ResponseHead.bytes(of: response, .chunked, .closes, date: loop.date()),
            let socket = loop.takeSocket(of: connection, for: lasting, of: self)
        else { return }
        isOver = true
        connection.exchange = nil
        self.response?.body = .none
        lasting.begin(socket, head: head, writer)
    }

    private func endTask() {
        setWait(nil)
        task = nil
        ledger.endWork()
        loop.requests.add(-1, waitingFor: nil)
    }

    /// Records that the handler's task begins to wait, or goes on with nil.
    private func setWait(_ wait: RequestLedger.Wait?) {
        guard task != nil, wait != self.wait else { return }
        loop.requests.add(-1, waitingFor: self.wait)
        loop.requests.add(1, waitingFor: wait)
        self.wait = wait
    }

    /// Notes that the handler reads, or may read on.
    func bodyWanted() {
        isBodyWanted = true
        if stage == .held || stage == .streaming { goOn() }
    }

    /// Cancels a handler that has worked at its answer for longer than the deadline.
    func endOverdueWork(_ now: UInt64) {
        guard stage == .answering, response == nil, task != nil, !isWaiting else {
            worksSince = nil
            return
        }
        let since = worksSince ?? now
        worksSince = since
        guard now &- since >= loop.deadlines.work, ledger.becomeOverdue() else { return }
        loop.metrics.late.add()
        task?.cancel()
    }

    // MARK: - The end

    /// Cancels a handler whose client is gone. The connection ends with its answer.
    func clientHungUp() {
        loop.metrics.abandoned.add()
        abandon()
        goOn()
    }

    /// Cancels the handler and ends its streams.
    private func abandon() {
        task?.cancel()
        channel?.fail(CancellationError())
        writer?.abandon()
    }

    /// Ends the exchange, because the response is sent.
    func finish() -> Step {
        isOver = true
        connection.exchange = nil
        // The head of a stream may have been sent before the server began to drain.
        let closes = response?.closes == true || loop.isDraining
        let receipt = response?.receipt
        abandon()
        forget()
        if let receipt { connection.expect(receipt) }
        if !closes {
            connection.beginIdle()
        } else if reader.problem != nil || leavesBody || connection.mayHaveInput || connection.awaitsReceipt {
            connection.beginLingering()
        } else {
            loop.close(connection)
        }
        return .over
    }

    /// Ends the exchange, because its connection was closed before the response was sent.
    func breakOff() {
        isOver = true
        connection.exchange = nil
        if task != nil { loop.metrics.abandoned.add() }
        abandon()
        forget()
    }

    /// Ends an exchange whose stream owned the socket, whether the response is complete or not.
    func endLasting() {
        if task != nil { loop.metrics.abandoned.add() }
        abandon()
        forget()
    }

    private func forget() {
        ledger.endAnswer()
        // A handler that still runs keeps the body.
        if task == nil { ledger.endWork() }
        if let response { loop.metrics.record(response.status, since: startedAt, until: MonotonicTime.now) }
        // Each of these calls back into this exchange, which would be retained for ever.
        channel = nil
        writer = nil
        sender = nil
        response = nil
    }
}
