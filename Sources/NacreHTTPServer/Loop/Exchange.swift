import NacreTelemetry

/// One request and its response on a connection: where the socket, the handler's task and the body meet.
final class Exchange: @unchecked Sendable {
    // Sendable: every stored property is touched on the loop's thread alone. Tasks that run elsewhere reach it through `EventLoop.perform`.

    enum Stage {
        /// The handler runs already; the body is not fetched before it asks.
        case held
        /// A small body is collected before the handler starts.
        case gathering
        /// The body goes to the handler as it comes.
        case streaming
        /// The handler has answered before the body's end: the rest is thrown away, then the answer goes out.
        case discarding
        /// The answer is awaited or being sent; nothing more is read.
        case answering
    }

    /// What comes next.
    enum Step {
        /// Something was done, and there may be more to do.
        case goesOn
        /// The socket, or the handler, will tell when there is.
        case waits
        /// Others have their turn before it goes on.
        case pauses
        /// The response is sent.
        case over
    }

    /// How the end of the body is found.
    enum Framing {
        /// So many bytes are missing.
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
    /// All that the handler has written is sent.
    var isStarved = false
    /// The answer lies in memory while it is sent, and what is left of it is counted.
    var countsAnswer = false
    var receivedBytes = 0
    var discardedBytes = 0
    /// What follows the head cannot be told, or is not read.
    var closesAfter: Bool
    /// The answer goes out before the body's end, and what still comes of it is not read.
    var leavesBody = false
    /// The client waits for "100 Continue" before it sends its body.
    var awaitsContinue: Bool
    /// The handler has asked for the body, and has not enough for now.
    var isBodyWanted = false
    var task: Task<Void, Never>?
    var response: PreparedResponse?
    /// The client has ended its side, and counts as gone if the answer takes long.
    var isDoubted = false
    /// The connection has forgotten the request.
    private(set) var isOver = false
    let startedAt: UInt64
    /// What the request takes of the server. It tells of waits as long as the handler's task runs, which keeps this.
    private(set) lazy var account = RequestAccount(loop.budgets, stranger, loop.overload) { [weak self] wait in
        guard let exchange = self else { return }
        exchange.loop.perform { exchange.setWait(wait) }
    }
    private var wait: RequestAccount.Wait?
    private var isWaiting: Bool { wait != nil }
    /// Whether the handler's task is kept while it only waits.
    var keepsTask: Bool { task != nil && isWaiting }
    /// Whose bytes and place the request's are before a credential was looked at.
    private var stranger: Holder {
        loop.trustedProxies.isEmpty
            ? connection.stranger : Holder(.stranger, IPAddress.customer(head.client(of: connection.peer, loop.trustedProxies)))
    }
    /// Since when the handler was seen to work at the answer; nil: it does not, or only waits.
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

    /// Whether the client is to wait for the handler, and nothing is read or sent meanwhile.
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

    /// Runs middleware and handler, or the refusal in the handler's place, and answers when that is done. What does not wait is done on return.
    func start(_ body: HTTPBody, refusal: HTTPError? = nil) {
        var refusal = refusal
        if refusal == nil, match.route?.isAlwaysAnswered != true, !account.hasTakenPlace() { refusal = .busy }
        var request = HTTPRequest(
            head: head, body: body, peer: connection.peer, identity: loop.nextRequestID(), account: account, proxies: loop.trustedProxies,
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
        if case .bytes(let bytes) = prepared.body { work.request.account.countAnswer(bytes.count) }
        guard let body = prepared.streamed, work.request.method != .head else {
            loop.perform { self.complete(prepared, nil) }
            return
        }
        let loop = loop
        let lasting = prepared.isLasting ? loop.lastingStream(of: self) : nil
        let writer = HTTPStreamWriter(account: work.request.account) { if lasting?.push() != true { loop.perform { self.goOn() } } }
        guard let lasting else {
            loop.perform { self.complete(prepared, writer) }
            return await stream(body, writer)
        }
        // A task of its own: this one keeps the room of its deepest call. And a connection gives its socket away outside its turn.
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

    /// Has the connection go on: there is something that it waited for.
    func goOn() {
        // A connection that has its turn finds out by itself.
        if !isOver, !connection.isAdvancing { loop.advanceLater(connection) }
    }

    /// Gives the connection's socket to a stream, where that can be.
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
        account.endWork()
        loop.requests.add(-1, waitingFor: nil)
    }

    /// The handler's task begins to wait for what is no work, or goes on.
    private func setWait(_ wait: RequestAccount.Wait?) {
        guard task != nil, wait != self.wait else { return }
        loop.requests.add(-1, waitingFor: self.wait)
        loop.requests.add(1, waitingFor: wait)
        self.wait = wait
    }

    /// The handler reads, or may read on.
    func bodyWanted() {
        isBodyWanted = true
        if stage == .held || stage == .streaming { goOn() }
    }

    /// Cancels a handler that has worked at its answer for too long.
    func endOverdueWork(_ now: UInt64) {
        guard stage == .answering, response == nil, task != nil, !isWaiting else {
            worksSince = nil
            return
        }
        let since = worksSince ?? now
        worksSince = since
        guard now &- since >= loop.deadlines.work, account.becomeOverdue() else { return }
        loop.metrics.late.add()
        task?.cancel()
    }

    // MARK: - The end

    /// The client is gone while the handler works: it is told, and the connection ends with its answer.
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

    /// The response is sent.
    func finish() -> Step {
        isOver = true
        connection.exchange = nil
        // The head of a stream was sent before anybody knew that the server would end.
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

    /// The connection is closed before that.
    func breakOff() {
        isOver = true
        connection.exchange = nil
        if task != nil { loop.metrics.abandoned.add() }
        abandon()
        forget()
    }

    /// A response that has its connection's socket is over, whole or not.
    func endLasting() {
        if task != nil { loop.metrics.abandoned.add() }
        abandon()
        forget()
    }

    private func forget() {
        account.endAnswer()
        // A handler that runs still has the body.
        if task == nil { account.endWork() }
        if let response { loop.metrics.record(response.status, since: startedAt, until: MonotonicTime.now) }
        // All call back into this exchange, a streamed response through the request that it reads: kept, they would keep it for ever.
        channel = nil
        writer = nil
        sender = nil
        response = nil
    }
}
