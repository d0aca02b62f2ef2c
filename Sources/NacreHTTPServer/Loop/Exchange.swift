import CNacreMicroHTTPD
import NacreTelemetry

/// One request and its response on a connection: where libmicrohttpd's calls, the handler's task and the body meet.
final class Exchange: @unchecked Sendable {
    // Sendable: every stored property is touched on the loop's thread alone. Tasks that run elsewhere reach it through `EventLoop.perform`.

    /// What libmicrohttpd's next call means.
    enum Stage {
        /// The headers are complete.
        case head
        /// The handler runs already; the body is not fetched before it asks.
        case held
        /// A small body, or none, is collected before the handler starts.
        case gathering
        /// The body goes to the handler as it comes.
        case streaming
        /// The handler has answered before the body's end: the rest is thrown away, then the answer goes out.
        case discarding
        /// The answer is out before the body's end: the rest is thrown away, then the connection closes.
        case lingering
        /// The request is complete, the answer is awaited or being sent.
        case answering
    }

    let loop: EventLoop
    let connection: ServedConnection
    let raw: OpaquePointer
    var stage = Stage.head
    /// The target's bytes as they came, until the head is made.
    var target: [UInt8]
    var isHead = false
    var reader: HeadReader?
    var match: RouteMatch?
    var head: RequestHead?
    var gathered: [UInt8] = []
    var channel: ByteChannel?
    /// What has come of a body that streams, and the handler's task has not been given yet.
    var arrived: [UInt8] = []
    var writer: HTTPStreamWriter?
    /// The writer's bytes have a known length: a client takes them in pieces, each in its time.
    var hasPieces = false
    var bodyBytesMax = 0
    var receivedBytes = 0
    var discardedBytes = 0
    var bodyLength: Int?
    var closesAfter = false
    /// The handler has asked for the body.
    var isBodyWanted = false
    var task: Task<Void, Never>?
    var response: PreparedResponse?
    var isSuspended = false
    var isWatched = false
    /// libmicrohttpd has forgotten the request: nothing here may touch `raw` any more.
    var isOver = false
    /// The response goes out past libmicrohttpd, which is to forget the request.
    private(set) var isTaken = false
    let startedAt: UInt64
    /// What the request takes of the server. It tells of waits as long as the handler's task runs, which keeps this.
    private(set) lazy var account = RequestAccount(loop.budgets, connection.stranger, loop.overload) { [weak self] isWaiting in
        guard let exchange = self else { return }
        exchange.loop.perform { exchange.setWaiting(isWaiting) }
    }
    private var isWaiting = false
    /// Since when the handler was seen to work at the answer; nil: it does not, or only waits.
    private var worksSince: UInt64?

    init(_ connection: ServedConnection, raw: OpaquePointer, target: [UInt8]) {
        loop = connection.loop
        self.connection = connection
        self.raw = raw
        self.target = target
        startedAt = MonotonicTime.now
    }

    // MARK: - Suspending

    /// Stops libmicrohttpd from going on until `resume`. Only inside its calls.
    func suspend() {
        guard !isSuspended else { return }
        isSuspended = true
        connection.pauseClock()
        MHD_suspend_connection(raw)
        loop.watchLater(self)
    }

    func resume() {
        guard isSuspended, !isOver else { return }
        isSuspended = false
        connection.continueClock()
        loop.unwatch(self)
        MHD_resume_connection(raw)
        loop.mustServe = true
    }

    // MARK: - The handler's task

    /// Runs middleware and handler, or the refusal in the handler's place, and answers when that is done. What does not wait is done on return.
    func start(_ body: HTTPBody, refusal: HTTPError? = nil) {
        guard let head else { return }
        var refusal = refusal
        if refusal == nil, loop.inFlight >= loop.inFlightMax, match?.route?.isAlwaysAnswered != true {
            loop.overload.tell(.requests)
            refusal = .busy
        }
        var request = HTTPRequest(
            head: head, body: body, peer: connection.peer, identity: loop.nextRequestID(), account: account, proxies: loop.trustedProxies,
            isAmongMany: loop.begins())
        request.match = match
        loop.inFlight += 1
        loop.metrics.inFlight.add(1)
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
        let writer = HTTPStreamWriter { if lasting?.push() != true { loop.perform { self.resume() } } }
        guard let lasting else {
            loop.perform { self.complete(prepared, writer) }
            return await stream(body, writer)
        }
        // A task of its own: this one keeps the room of its deepest call. And a connection is taken while it is suspended, as it is when libmicrohttpd's call
        // returns in which this may be.
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
        resume()
    }

    /// Takes the connection from libmicrohttpd, where that can be: it is left a dead socket in its place, which it closes.
    private func takeOver(_ lasting: LastingStream, _ writer: HTTPStreamWriter) {
        // A suspended connection is in no epoll of libmicrohttpd, which finds out nothing.
        guard stage == .answering, isSuspended, reader?.isNewest == true, let response,
            let head = EarlyAnswer.head(of: response, framing: "Transfer-Encoding: chunked")
        else { return }
        loop.unwatch(self)
        guard let socket = loop.takeSocket(of: connection, for: lasting, of: self) else { return }
        isTaken = true
        reader = nil
        self.response?.body = .none
        lasting.begin(socket, head: head, writer)
    }

    private func endTask() {
        setWaiting(false)
        task = nil
        account.endBody()
        loop.inFlight -= 1
        loop.metrics.inFlight.add(-1)
    }

    /// The handler's task begins to wait for what is no work, or goes on.
    private func setWaiting(_ isWaiting: Bool) {
        guard task != nil, isWaiting != self.isWaiting else { return }
        self.isWaiting = isWaiting
        let change = isWaiting ? 1 : -1
        loop.waiting += change
        loop.metrics.waiting.add(change)
        loop.inFlight -= change
        loop.metrics.inFlight.add(-change)
    }

    /// The handler reads, or may read on.
    func bodyWanted() {
        isBodyWanted = true
        if stage == .held || stage == .streaming { resume() }
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

    /// The client is gone while the connection is suspended: the handler is told, and the connection ends with its answer.
    func clientHungUp() {
        loop.metrics.abandoned.add()
        abandon()
        if stage == .answering, response != nil { resume() }
    }

    /// Cancels the handler and ends its streams.
    func abandon() {
        task?.cancel()
        channel?.fail(CancellationError())
        writer?.abandon()
    }

    /// libmicrohttpd is done with the request.
    func end(_ reason: MHD_RequestTerminationCode) {
        isOver = true
        connection.exchange = nil
        loop.endHead(on: connection)
        if isTaken { return }
        if reason == .REQUEST_TERMINATED_COMPLETED_OK {
            connection.beginIdle()
            // The head of a stream was sent before anybody knew that the server would end.
            if loop.isDraining {
                connection.hangUp()
                loop.mustServe = true
            }
        } else if task != nil {
            loop.metrics.abandoned.add()
        }
        abandon()
        forget()
    }

    /// A response that went out past libmicrohttpd is over, whole or not.
    func endLasting() {
        if task != nil { loop.metrics.abandoned.add() }
        abandon()
        forget()
    }

    private func forget() {
        account.endAnswer()
        // A handler that runs still has the body.
        if task == nil { account.endBody() }
        if let response { loop.metrics.record(response.status, since: startedAt, until: MonotonicTime.now) }
        // All call back into this exchange, a streamed response through the request that it reads: kept, they would keep it for ever.
        channel = nil
        writer = nil
        response = nil
    }
}
