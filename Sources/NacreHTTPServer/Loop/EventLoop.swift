import CNacreMicroHTTPD
import Glibc
import NacreLocks
import NacreTelemetry
import Synchronization

/// One thread that serves its share of connections: libmicrohttpd's sockets, the tasks of their handlers, and the deadlines.
///
/// It is the task executor of the handlers, so a request that needs nobody else is read, handled and answered without changing threads. A handler
/// that computes for long holds up all connections of its loop; work that blocks belongs elsewhere.
final class EventLoop: TaskExecutor, @unchecked Sendable {
    // Sendable: `inbox`, `thread` and the constants may be reached from any thread; all else is touched on the loop's thread alone.
    private enum Message {
        case job(UnownedJob)
        case call(@Sendable () -> Void)
    }

    private struct Inbox {
        var messages: [Message] = []
        var isWoken = false
        var isClosed = false
    }

    /// What an event of the loop's epoll is about; from `firstConnection` on it is a connection's id.
    private enum Source {
        static let wake: UInt64 = 0
        static let daemon: UInt64 = 1
        static let firstConnection: UInt64 = 2
    }

    /// Jobs that run before sockets get their turn again.
    private static let jobsAtOnce = 1024
    /// Requests that come together from which on each is one of many. On this server: two or three are answered faster one after the other.
    private static let crowd = 4
    /// Rounds of libmicrohttpd before the wake-up descriptor gets its turn again.
    private static let roundsAtOnce = 16

    let router: Router
    let logger: Logger
    let metrics: ServerMetrics
    let deadlines: Deadlines
    let budgets: ByteBudgets
    let overload: OverloadLog
    let trustedProxies: TrustedProxies
    private let connectionsMax: Int
    let inFlightMax: Int
    let bodyBytesMax: Int
    let headerBytesMax: Int
    private let inbox = Locked(Inbox())
    private let thread = Atomic<UInt>(0)
    private let wakeDescriptor: Int32
    private let pollDescriptor: Int32
    /// One whose other end is closed: reading finds its end.
    private let deadSocket: Int32
    private let onStopped: @Sendable () -> Void

    private var daemon: OpaquePointer?
    private var jobs: [UnownedJob] = []
    private var nextJob = 0
    private(set) var connections: [UInt64: ServedConnection] = [:]
    /// What was taken from libmicrohttpd, by the ids of its connections. It is no part of `connections`: those end when libmicrohttpd says so, which it
    /// does of the dead socket that it was left, while these live on.
    private var lasting: [UInt64: (stream: LastingStream, exchange: Exchange)] = [:]
    /// Of which the request line is here and the rest of the head is awaited, by their connections.
    private var heads: [UInt64: Exchange] = [:]
    var stuckChunks = StuckChunks()
    private var nextConnectionID = Source.firstConnection
    /// Suspended exchanges whose sockets are not watched yet, oldest first, with the moment from which they should be.
    private var unwatched: [(exchange: Exchange, due: UInt64)] = []
    /// Exchanges that have gathered of a body what their handlers' tasks wait for.
    private var gathering: [Exchange] = []
    private var requestIDs = RequestIDSource()
    private var nextTick: UInt64 = 0
    private var drainDeadline: UInt64?
    private(set) var now: UInt64 = MonotonicTime.now
    private(set) var isStopping = false
    var inFlight = 0
    /// Requests whose handlers were started since the loop last waited, and between that and the time before.
    private var begun = (now: 0, before: 0)
    /// Requests whose tasks only wait.
    var waiting = 0
    /// There are so many connections that idle ones must go.
    private var mustMakeRoom = false
    /// Since the last tick, as far as could be.
    private var roomIsMade = false
    private var places: Int { connections.count + lasting.count }
    private var isShortOfConnections: Bool { places * 8 >= connectionsMax * 7 }
    /// A connection was resumed: libmicrohttpd must run before the loop waits, or the connection stalls.
    var mustServe = false
    var isDraining: Bool { drainDeadline != nil }

    /// Takes the listening socket, which is closed when the loop drains or this throws `ServerStartError`.
    init(
        _ configuration: HTTPServerConfiguration, router: Router, socket: Int32, metrics: ServerMetrics, logger: Logger, overload: OverloadLog,
        onStopped: @escaping @Sendable () -> Void
    ) throws {
        self.router = router
        self.logger = logger
        self.metrics = metrics
        self.overload = overload
        budgets = configuration.budgets
        trustedProxies = configuration.trustedProxies
        connectionsMax = max(configuration.connectionsMax / configuration.loopCount, 1)
        self.onStopped = onStopped
        deadlines = Deadlines(configuration)
        inFlightMax = configuration.requestsInFlightMax
        bodyBytesMax = configuration.bodyBytesMax
        headerBytesMax = configuration.headerBytesMax
        wakeDescriptor = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        pollDescriptor = epoll_create1(Int32(EPOLL_CLOEXEC))
        deadSocket = Self.makeDeadSocket()
        guard wakeDescriptor >= 0, pollDescriptor >= 0, deadSocket >= 0 else {
            close(socket)
            throw ServerStartError(.loop, code: errno)
        }
        let stall = max(configuration.stallTimeout, configuration.idleTimeout, configuration.headerDeadline, configuration.bodyDeadline)
        daemon = LoopCallbacks.startDaemon(
            for: self, socket: socket, connectionsMax: connectionsMax,
            memoryBytes: max(ServerLimits.connectionMemoryBytes, configuration.headerBytesMax * 3 / 2), stall: stall)
        guard let daemon else {
            close(socket)
            throw ServerStartError(.loop, code: errno)
        }
        watch(wakeDescriptor, EPOLLIN.rawValue, Source.wake)
        watch(nacre_mhd_epoll(daemon), EPOLLIN.rawValue, Source.daemon)
    }

    deinit {
        if let daemon { MHD_stop_daemon(daemon) }
        if wakeDescriptor >= 0 { close(wakeDescriptor) }
        if pollDescriptor >= 0 { close(pollDescriptor) }
        if deadSocket >= 0 { close(deadSocket) }
    }

    private static func makeDeadSocket() -> Int32 {
        var pair: [Int32] = [-1, -1]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0, &pair) == 0 else { return -1 }
        close(pair[1])
        return pair[0]
    }

    // MARK: - From any thread

    /// Starts the thread. Once.
    func start() throws {
        var started = pthread_t()
        let context = Unmanaged.passRetained(self)
        let code = pthread_create(
            &started, nil,
            { context in
                guard let context else { return nil }
                Unmanaged<EventLoop>.fromOpaque(context).takeRetainedValue().run()
                return nil
            }, context.toOpaque())
        guard code == 0 else {
            context.release()
            throw ServerStartError(.loop, code: code)
        }
        pthread_detach(started)
    }

    var isCurrent: Bool { thread.load(ordering: .relaxed) == UInt(pthread_self()) }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        if isCurrent {
            jobs.append(job)
        } else if !send(.job(job)) {
            // The loop has ended; what its tasks still have to do, they do elsewhere.
            globalConcurrentExecutor.enqueue(ExecutorJob(job))
        }
    }

    /// Runs the body on the loop's thread: at once if this is it, soon if not, never after the loop has ended.
    func perform(_ body: @escaping @Sendable () -> Void) {
        if isCurrent { body() } else { _ = send(.call(body)) }
    }

    /// Runs the body on the loop's thread, and never inside this call.
    func performLater(_ body: @escaping @Sendable () -> Void) { _ = send(.call(body)) }

    private func send(_ message: Message) -> Bool {
        let (isSent, mustWake) = inbox.withLock { inbox -> (Bool, Bool) in
            guard !inbox.isClosed else { return (false, false) }
            inbox.messages.append(message)
            defer { inbox.isWoken = true }
            return (true, !inbox.isWoken)
        }
        if mustWake { eventfd_write(wakeDescriptor, 1) }
        return isSent
    }

    /// Accepts nothing more, lets what is under way finish until the deadline, then ends the loop.
    func drain(until deadline: UInt64) {
        // Never at once: a handler may ask for it, inside a call of libmicrohttpd, which must not be run in there.
        performLater { self.beginDraining(until: deadline) }
    }

    // MARK: - The thread

    private func run() {
        thread.store(UInt(pthread_self()), ordering: .relaxed)
        nacre_name_thread("http loop")
        var all = sigset_t()
        sigfillset(&all)
        // Signals are the process's business, not a loop's.
        pthread_sigmask(SIG_BLOCK, &all, nil)
        var events = [epoll_event](repeating: epoll_event(), count: 64)
        while !isStopping {
            let count = epoll_wait(pollDescriptor, &events, Int32(events.count), waitMilliseconds())
            now = MonotonicTime.now
            for index in 0..<Int(max(count, 0)) { handle(events[index].data.u64, events[index].events) }
            serve()
            if stuckChunks.mayBe(isAsked: hasReady) { stuckChunks.end(of: connections) }
            if mustMakeRoom { makeRoom() }
            if now >= nextTick { tick() }
            watchDue()
            endIfDrained()
        }
        stop()
    }

    private func handle(_ source: UInt64, _ events: UInt32) {
        switch source {
        case Source.wake: takeInbox()
        case Source.daemon: break
        default:
            if let (stream, exchange) = lasting[source] {
                let isGone = events & (EPOLLRDHUP.rawValue | EPOLLHUP.rawValue | EPOLLERR.rawValue) != 0
                if isGone { endLasting(stream, exchange) } else { stream.push() }
                return
            }
            guard let exchange = connections[source]?.exchange, exchange.isWatched else { return }
            unwatch(exchange)
            exchange.clientHungUp()
        }
    }

    private func takeInbox() {
        var count: eventfd_t = 0
        eventfd_read(wakeDescriptor, &count)
        let messages = inbox.withLock { inbox in
            inbox.isWoken = false
            defer { inbox.messages = [] }
            return inbox.messages
        }
        for message in messages {
            switch message {
            case .job(let job): jobs.append(job)
            case .call(let body): body()
            }
        }
    }

    private func serve() {
        begun = (0, begun.now)
        var rounds = 0
        runJobs { false }
        repeat {
            mustServe = false
            MHD_run(daemon)
            runJobs { false }
            rounds += 1
        } while (mustServe || hasReady) && rounds < Self.roundsAtOnce
        guard !gathering.isEmpty else { return }
        for exchange in gathering { exchange.handOver() }
        gathering = []
        runJobs { false }
    }

    /// Runs the jobs that are due, those too that they add, until `isDone` or there have been many.
    func runJobs(until isDone: () -> Bool) {
        var count = 0
        while nextJob < jobs.count, count < Self.jobsAtOnce, !isDone() {
            let job = jobs[nextJob]
            nextJob += 1
            if nextJob == jobs.count {
                jobs.removeAll(keepingCapacity: true)
                nextJob = 0
            }
            job.runSynchronously(on: asUnownedTaskExecutor())
            count += 1
        }
    }

    /// Whether libmicrohttpd has connections that it can go on with at once: of a socket that is ready it reads or writes one buffer in a run.
    private var hasReady: Bool {
        var milliseconds: UInt64 = 0
        return MHD_get_timeout(daemon, &milliseconds) == .YES && milliseconds == 0
    }

    private func waitMilliseconds() -> Int32 {
        if mustServe || nextJob < jobs.count || hasReady { return 0 }
        var next = MonotonicTime.never
        if places > 0 { next = nextTick }
        if let due = unwatched.first?.due { next = min(next, due) }
        if let drainDeadline { next = min(next, drainDeadline) }
        guard next != MonotonicTime.never else { return -1 }
        guard next > now else { return 0 }
        return Int32(clamping: (next - now + 999_999) / 1_000_000)
    }

    /// Ends the connections that are late, and those whose client has ended its side.
    private func tick() {
        nextTick = now &+ deadlines.tick
        roomIsMade = false
        if isShortOfConnections { mustMakeRoom = true }
        for connection in connections.values {
            connection.exchange?.endOverdueWork(now)
            let isLate = connection.isLate(now)
            guard isLate || connection.hasEnded() else { continue }
            if isLate { metrics.late.add() }
            connection.hangUp()
            mustServe = true
        }
        for (stream, exchange) in lasting.values where stream.isStalled(now, for: deadlines.stall) {
            metrics.late.add()
            endLasting(stream, exchange)
        }
    }

    // MARK: - Connections

    func opened(_ raw: OpaquePointer) -> ServedConnection {
        let connection = ServedConnection(id: nextConnectionID, socket: nacre_mhd_socket(raw), peer: PeerAddress(nacre_mhd_peer(raw)), loop: self)
        nextConnectionID += 1
        if places == 0 { nextTick = min(nextTick, now &+ deadlines.tick) }
        connections[connection.id] = connection
        metrics.connections.add(1)
        if isShortOfConnections, !roomIsMade { mustMakeRoom = true }
        // libmicrohttpd does not count those that were taken from it.
        if places > connectionsMax {
            overload.tell(.connections)
            connection.hangUp()
        }
        return connection
    }

    /// Closes connections without a request, those that idled longest first, until a quarter of all places is free or none idles. At the limit
    /// libmicrohttpd accepts nothing more, and who comes would wait for somebody's deadline.
    private func makeRoom() {
        mustMakeRoom = false
        let count = places - connectionsMax * 3 / 4
        guard isShortOfConnections else { return }
        // The newest is who came just now.
        let idle = connections.values.filter { $0.exchange == nil && $0.idleSince < now }.sorted { $0.idleSince < $1.idleSince }
        for connection in idle.prefix(count) { connection.hangUp() }
        // Where fewer were idle than must go, the next tick looks again, and not each that comes.
        roomIsMade = idle.count < count
        overload.tell(.connections, count: min(count, idle.count))
        mustServe = true
    }

    func closed(_ connection: ServedConnection) {
        connections[connection.id] = nil
        // At the limit of connections libmicrohttpd stops listening, and begins again only in a run after the one that closed.
        mustServe = true
        metrics.connections.add(-1)
    }

    /// For a response of the exchange; where its connection cannot be taken from libmicrohttpd, nothing comes of it. On any thread.
    func lastingStream(of exchange: Exchange) -> LastingStream {
        LastingStream(id: exchange.connection.id) { [weak self] stream in
            guard let self else { return }
            self.perform { self.endLasting(stream, exchange) }
        }
    }

    /// Takes the socket of a suspended connection from libmicrohttpd, which is left one whose other end is closed.
    /// - Returns: nil where the system gives none.
    func takeSocket(of connection: ServedConnection, for stream: LastingStream, of exchange: Exchange) -> Int32? {
        let socket = fcntl(connection.socket, F_DUPFD_CLOEXEC, 0)
        guard socket >= 0 else { return nil }
        guard dup2(deadSocket, connection.socket) >= 0 else {
            close(socket)
            return nil
        }
        _ = fcntl(connection.socket, F_SETFD, FD_CLOEXEC)
        lasting[stream.id] = (stream, exchange)
        metrics.connections.add(1)
        // Edges alone: that there is room again, and that the client is gone. What it still sends is read by nobody.
        watch(socket, EPOLLOUT.rawValue | EPOLLRDHUP.rawValue | EPOLLET.rawValue, stream.id)
        return socket
    }

    private func endLasting(_ stream: LastingStream, _ exchange: Exchange) {
        guard lasting.removeValue(forKey: stream.id) != nil else { return }
        stream.close()
        metrics.connections.add(-1)
        exchange.endLasting()
    }

    /// libmicrohttpd has something to log, which it does before it answers by itself, and for each connection that breaks: so few are looked at. If it is
    /// about to refuse a head, that is answered here.
    func mayRefuseHead() {
        for exchange in heads.values where exchange.refuseHead() { return }
    }

    func beginHead(of exchange: Exchange, on connection: ServedConnection) {
        heads[connection.id] = exchange
    }

    func endHead(on connection: ServedConnection) {
        heads[connection.id] = nil
    }

    /// A handler is started. Returns whether it is one of many.
    func begins() -> Bool {
        begun.now += 1
        return max(begun.now, begun.before) >= Self.crowd
    }

    func nextRequestID() -> RequestID { requestIDs.next() }

    /// Has what an exchange gathers of a body handed to its handler's task, at the latest before the loop waits.
    func handOverSoon(_ exchange: Exchange) { gathering.append(exchange) }

    /// Has the socket of a suspended exchange watched for a hang-up, which libmicrohttpd does not see. Not at once: most answers come before that
    /// is worth two system calls.
    func watchLater(_ exchange: Exchange) {
        unwatched.append((exchange, now &+ deadlines.hangUpWatchDelay))
    }

    private func watchDue() {
        guard let first = unwatched.first, first.due <= now else { return }
        let count = unwatched.firstIndex { $0.due > now } ?? unwatched.count
        for (exchange, _) in unwatched[..<count] where exchange.isSuspended && !exchange.isOver && !exchange.isWatched {
            exchange.isWatched = true
            watch(exchange.connection.socket, EPOLLRDHUP.rawValue | EPOLLONESHOT.rawValue, exchange.connection.id)
        }
        unwatched.removeFirst(count)
    }

    func unwatch(_ exchange: Exchange) {
        guard exchange.isWatched else { return }
        exchange.isWatched = false
        epoll_ctl(pollDescriptor, EPOLL_CTL_DEL, exchange.connection.socket, nil)
    }

    private func watch(_ descriptor: Int32, _ events: UInt32, _ source: UInt64) {
        var event = epoll_event(events: events, data: epoll_data_t(u64: source))
        epoll_ctl(pollDescriptor, EPOLL_CTL_ADD, descriptor, &event)
    }

    // MARK: - The end

    private func beginDraining(until deadline: UInt64) {
        drainDeadline = min(drainDeadline ?? deadline, deadline)
        // What the kernel has accepted already is served.
        MHD_run(daemon)
        let socket = MHD_quiesce_daemon(daemon)
        if socket >= 0 { close(socket) }
        for connection in connections.values where connection.exchange == nil { connection.hangUp() }
        mustServe = true
    }

    private func endIfDrained() {
        guard let drainDeadline else { return }
        if now >= drainDeadline || (places == 0 && inFlight == 0 && waiting == 0) { isStopping = true }
    }

    /// libmicrohttpd aborts if it is stopped while a connection is suspended: all are cancelled and resumed first, and it runs once to notice.
    private func stop() {
        for connection in connections.values {
            connection.exchange?.abandon()
            connection.exchange?.resume()
        }
        for (stream, exchange) in lasting.values { endLasting(stream, exchange) }
        MHD_run(daemon)
        if let daemon { MHD_stop_daemon(daemon) }
        daemon = nil
        unwatched = []
        // What outlives the loop is not counted any more.
        metrics.inFlight.add(-inFlight)
        metrics.waiting.add(-waiting)
        let messages = inbox.withLock { inbox in
            inbox.isClosed = true
            defer { inbox.messages = [] }
            return inbox.messages
        }
        for case .job(let job) in messages { jobs.append(job) }
        for job in jobs[nextJob...] { globalConcurrentExecutor.enqueue(ExecutorJob(job)) }
        jobs = []
        nextJob = 0
        thread.store(0, ordering: .relaxed)
        onStopped()
    }
}
