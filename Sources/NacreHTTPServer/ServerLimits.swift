/// The limits of a server, each with its source. Those that somebody may want to change are defaults of `HTTPServerConfiguration`.
package enum ServerLimits {
    /// Request line and headers together, as in Node.js (`--max-http-header-size`); beyond is 431. Our longest headers and tokens take 2 KB.
    package static let headerBytesMax = 16 * 1024
    /// Parameters of a query; beyond is 414. Each is looked through for a parameter's value, and CloudKit's requests have two.
    package static let parametersMax = 128
    /// A request body without a limit of its own: CloudKit's batches end at 2 MB of values, and decisions cap HTTP bodies at 8 MB; beyond is 413.
    package static let bodyBytesMax = 8 * 1024 * 1024
    /// A body of a declared length up to this is gathered before its handler starts.
    package static let gatheredBodyBytesMax = 64 * 1024
    /// What of an answer may wait in memory between a task and a socket; half of it wakes the task that stopped. Two socket buffers' worth.
    package static let bufferedBytesMax = 256 * 1024
    /// The same of a body that comes, for which the socket has room of its own: many large ones may come at once.
    package static let bufferedBodyBytesMax = 128 * 1024
    /// What is read of a socket at once: a task gets a body that streams in pieces of this size where they come faster than it takes them.
    package static let handedBodyBytes = 64 * 1024
    /// A route that takes longer bodies than others gives `bodyDeadline` for each piece of this size: 17 KB/s.
    package static let bodyPieceBytes = 1024 * 1024
    /// A refused body of a known length up to this is read to its end, so that the connection survives; else the connection closes.
    package static let discardedBodyBytesMax = 256 * 1024
    /// What is still read and thrown away after an early answer to a longer body, so that the answer is not lost in a reset (RFC 9112 §9.6).
    package static let lingeringBytesMax = 4 * 1024 * 1024
    /// What a client's kernel has to say that it has an answer, once somebody waits to know. Kernels put an acknowledgement off by 200 ms at most.
    package static let receiptWait: Duration = .milliseconds(250)
    /// Bodies and answers up to this are not counted in a budget: a connection with its request takes as much anyway.
    package static let uncountedBytesMax = 4 * 1024
    /// Request bodies that may lie in memory together, from before their first byte until they are handled. Sized for a machine with 512 MB: the
    /// values made of a body take a few times its size, for a moment.
    package static let bodyBudget = Budget.Parts(stranger: 8 * 1024 * 1024, guest: 24 * 1024 * 1024, user: 64 * 1024 * 1024)
    /// Answers that may wait in memory for clients to read them, together.
    package static let answerBudget = Budget.Parts(stranger: 8 * 1024 * 1024, guest: 24 * 1024 * 1024, user: 64 * 1024 * 1024)
    /// Requests whose handlers may work together. Those that wait, for a change or for their client, are none of them. Bounds memory: each may hold its
    /// body and its answer. Everybody is a stranger until a credential was looked at.
    package static let placeBudget = Budget.Parts(stranger: 768, guest: 256, user: 1024)
    /// A client that sends a body keeps its turn among those that are awaited by so many bytes more.
    package static let paceBytes = 4 * 1024
    /// A larger answer is handed to its client in pieces of this size.
    package static let answerPieceBytes = 64 * 1024
    /// When a client has taken so much of a large answer, its memory goes back. A few times what a socket takes at once, and 20 µs of work.
    package static let returnedAnswerBytes = 256 * 1024
    /// Descriptors that connections leave to the store, the log and the admin listener.
    package static let descriptorsKept = 256
    /// Bodies below this are not worth compressing: they fit a packet anyway.
    package static let compressionBytesMin = 1024
    /// Bodies from this on are compressed beside the loop: 0.2 ms of work where they hardly shrink.
    package static let compressionOffLoopBytesMin = 8 * 1024
    /// Bodies from this on are long work (`LongWork`): up to 1.6 ms.
    package static let compressionLongBytesMin = 64 * 1024
}

/// How a server listens and what it bears.
package struct HTTPServerConfiguration: Sendable {
    /// A numeric address. `::` takes IPv4 too.
    package var host = "127.0.0.1"
    /// 0 for any free port.
    package var port = 0
    /// Threads that serve, each with its own share of connections.
    package var loopCount = 1
    /// Open connections together; those beyond wait in the kernel's backlog. From seven eighths of them on, those whose client is awaited longest are
    /// closed: for a request, for more of a body, or to read on.
    package var connectionsMax = 16_384
    /// For request line and headers, from the connection's first moment, or from a request's first bytes on a connection that served before.
    package var headerDeadline: Duration = .seconds(10)
    /// For the whole body from its start, or each `ServerLimits.bodyPieceBytes` of a long one, not counting the time in which the handler did not want more. 8 MB at 140 KB/s.
    package var bodyDeadline: Duration = .seconds(60)
    /// For a handler, from the end of a request's body to its answer, without the time in which it only waits; then it is cancelled, and the answer is
    /// 503. nginx gives an upstream as much (`proxy_read_timeout`).
    package var workDeadline: Duration = .seconds(60)
    /// From the end of a response to the next request line. Longer than nginx keeps connections to an upstream (60 s), so that the proxy closes first
    /// and never sends a request into a connection that is just being closed.
    package var idleTimeout: Duration = .seconds(75)
    /// While a client takes nothing of a response.
    package var stallTimeout: Duration = .seconds(90)
    /// For each piece of a large answer, so that taking a byte now and then is not enough: 64 KB in this time.
    package var pieceDeadline: Duration = .seconds(30)
    /// The same while answers fill more than half of their share of memory.
    package var shortPieceDeadline: Duration = .seconds(5)
    /// A client that ends its side before it is answered counts as gone after this long: some end it with their last request, and read on.
    package var hangUpDelay: Duration = .milliseconds(50)
    package var headerBytesMax = ServerLimits.headerBytesMax
    package var bodyBytesMax = ServerLimits.bodyBytesMax
    /// Memory for bodies and answers, and places for requests under way; beyond is 503 with `Retry-After`.
    package var budgets = Budgets()
    /// Whose `X-Forwarded-For` is believed.
    package var trustedProxies = TrustedProxies()

    package init() {}
}
