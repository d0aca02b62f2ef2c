/// The limits of a server, each with its source. Limits that an operator may want to change are defaults of
/// `HTTPServerConfiguration`.
package enum ServerLimits {
    /// Bytes of request line and headers together, as in Node.js (`--max-http-header-size`); beyond is 431. Our longest
    /// headers and tokens take 2 KB.
    package static let headerBytesMax = 16 * 1024
    /// Parameters of a query; beyond is 414. Each lookup scans them all, and CloudKit's requests have two.
    package static let parametersMax = 128
    /// Bytes of a request body on a route without a limit of its own; beyond is 413. CloudKit's batches end at 2 MB of
    /// values, and decisions cap HTTP bodies at 8 MB.
    package static let bodyBytesMax = 8 * 1024 * 1024
    /// The longest body of a declared length that is collected before its handler starts, in bytes.
    package static let gatheredBodyBytesMax = 64 * 1024
    /// Bytes of an answer that may wait in memory between a task and a socket: two socket buffers' worth. The writing
    /// task goes on once half of them are left.
    package static let bufferedBytesMax = 256 * 1024
    /// Bytes of a request body that may wait in memory between a socket and a task. Less, because the socket has a
    /// buffer of its own, and many large bodies may come at once.
    package static let bufferedBodyBytesMax = 128 * 1024
    /// Bytes that are read of a socket at once. A streamed body that comes faster than its task reads arrives in pieces
    /// of this size.
    package static let handedBodyBytes = 64 * 1024
    /// Bytes of a piece. A route with a larger body limit than others gives `bodyDeadline` for each piece: 17 KB/s.
    package static let bodyPieceBytes = 1024 * 1024
    /// The longest rest of a refused body, of a known length, that is read to its end so that the connection survives.
    /// After a longer one the connection closes.
    package static let discardedBodyBytesMax = 256 * 1024
    /// Bytes that are read and thrown away after an early answer to a longer body. Otherwise a reset could lose the
    /// answer (RFC 9112 §9.6).
    package static let lingeringBytesMax = 4 * 1024 * 1024
    /// The time in which a client's kernel must acknowledge an answer once a caller waits for that. Kernels delay an
    /// acknowledgement by 200 ms at most.
    package static let receiptWait: Duration = .milliseconds(250)
    /// The largest body or answer that is not counted in a budget: a connection with its request takes as much anyway.
    package static let uncountedBytesMax = 4 * 1024
    /// Bytes of request bodies that may be in memory together, from before their first byte until they are handled.
    /// Sized for a machine with 512 MB: the values made of a body take a few times its size, for a moment.
    package static let bodyBudget = Budget.Parts(stranger: 8 * 1024 * 1024, guest: 24 * 1024 * 1024, user: 64 * 1024 * 1024)
    /// Bytes of answers that may wait in memory together for their clients.
    package static let answerBudget = Budget.Parts(stranger: 8 * 1024 * 1024, guest: 24 * 1024 * 1024, user: 64 * 1024 * 1024)
    /// Requests whose handlers may work together. Requests that wait, for a change or for their client, do not count.
    /// Bounds memory, because each may hold its body and its answer. Every caller is a stranger until a credential was
    /// looked at.
    package static let placeBudget = Budget.Parts(stranger: 768, guest: 256, user: 1024)
    /// Bytes of a body with which a client renews its position among the awaited clients.
    package static let paceBytes = 4 * 1024
    /// The largest answer without pieces, and the size of the pieces in which a larger one is handed to its client.
    package static let answerPieceBytes = 64 * 1024
    /// Sent bytes of a large answer after which their memory goes back to the system: a few times what a socket takes
    /// at once, and 20 µs of work.
    package static let returnedAnswerBytes = 256 * 1024
    /// Descriptors that connections leave to the store, the log and the admin listener.
    package static let descriptorsKept = 256
    /// The smallest body that is compressed. A smaller one fits a packet anyway.
    package static let compressionBytesMin = 1024
    /// The smallest body that is compressed beside the loop: 0.2 ms of work if it hardly shrinks.
    package static let compressionOffLoopBytesMin = 8 * 1024
    /// The smallest body whose compression is long work (`LongWork`): up to 1.6 ms.
    package static let compressionLongBytesMin = 64 * 1024
}

/// The address, the limits and the deadlines of a server.
package struct HTTPServerConfiguration: Sendable {
    /// A numeric address. `::` takes IPv4, too.
    package var host = "127.0.0.1"
    /// The port; 0 for any free one.
    package var port = 0
    /// The number of threads that serve, each with its own share of connections.
    package var loopCount = 1
    /// Open connections together; further ones wait in the kernel's backlog. From seven eighths on, the connections
    /// that have waited longest for their client are closed: for a request, for more of a body, or to read on.
    package var connectionsMax = 16_384
    /// Time for request line and headers, from the accept on, or from a request's first bytes on a connection that
    /// served before.
    package var headerDeadline: Duration = .seconds(10)
    /// Time for the whole body from its start, or for each `ServerLimits.bodyPieceBytes` of a long one. The time in
    /// which the handler wants no more does not count. 8 MB at 140 KB/s.
    package var bodyDeadline: Duration = .seconds(60)
    /// Time for a handler, from the end of a request's body to its answer, without the time in which it only waits.
    /// Then it is cancelled, and the answer is 503. nginx gives an upstream as much (`proxy_read_timeout`).
    package var workDeadline: Duration = .seconds(60)
    /// Time from the end of a response to the first bytes of the next request. Longer than nginx keeps connections to
    /// an upstream (60 s): the proxy closes first and never sends a request into a closing connection.
    package var idleTimeout: Duration = .seconds(75)
    /// Time in which a client may take nothing of a response.
    package var stallTimeout: Duration = .seconds(90)
    /// Time for each piece of a large answer, 64 KB, so that taking a byte now and then is not enough.
    package var pieceDeadline: Duration = .seconds(30)
    /// Time for each piece while answers fill more than half of their share of memory.
    package var shortPieceDeadline: Duration = .seconds(5)
    /// Time after which a client that ended its side before its answer counts as gone. Some clients end it with their
    /// last request, and read on.
    package var hangUpDelay: Duration = .milliseconds(50)
    package var headerBytesMax = ServerLimits.headerBytesMax
    package var bodyBytesMax = ServerLimits.bodyBytesMax
    /// Memory for bodies and answers, and slots for requests under way; beyond is 503 with `Retry-After`.
    package var budgets = Budgets()
    /// The proxies whose `X-Forwarded-For` is trusted.
    package var trustedProxies = TrustedProxies()

    package init() {}
}
