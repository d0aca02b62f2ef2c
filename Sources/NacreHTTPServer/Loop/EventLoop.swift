import CNacreSockets
import Glibc
import NacreLocks
import NacreTelemetry
import Synchronization

/// One thread that serves its share of connections: their sockets, the tasks of their handlers, and the deadlines. It
/// is the handlers' task executor, so a request whose handler does not wait is answered without changing threads. A
/// long computation holds up all connections of its loop; blocking work must run on other threads.
final class EventLoop: TaskExecutor, @unchecked Sendable {
    // Sendable: `inbox`, `thread` and the constants may be reached from any thread. All other state is touched on the
    // loop's thread alone.
    private enum Message {
        case job(UnownedJob)
        case call(@Sendable () -> Void)
    }

    private struct Inbox {
        var messages: [Message] = []
        var isWoken = false
        var isClosed = false
    }

    /// The source of an epoll event. From `firstConnection` on it is a connection's id.
    private enum Source {
        static let wake: UInt64 = 0
        static let newcomers: UInt64 = 1
        static let firstConnection: UInt64 = 2
    }

    /// The events of a connection, edge-triggered: the socket is registered once in its life.
    private static let connectionEvents = EPOLLIN.rawValue | EPOLLOUT.rawValue | EPOLLRDHUP.rawValue | EPOLLET.rawValue
    /// The number of jobs that run before sockets get their turn again.
    private static let jobsAtOnce = 1024
    /// On this server: requests begun together from which on each is one of many. Fewer are faster one by one.
    private static let crowd = 4
    /// The number of rounds of connections that go on without an event before the kernel is asked again.
    private static let roundsAtOnce = 16
    /// Nanoseconds for those rounds. On this server: a small request does not wait noticeably.
    private static let turnsNanoseconds: UInt64 = 2_000_000
    /// The number of connections that are accepted before existing ones get their turn.
    private static let newcomersAtOnce = 64

    let router: Router
    let logger: Logger
    let metrics: ServerMetrics
    let deadlines: Deadlines
    let budgets: Budgets
    let overload: OverloadLog
    let trustedProxies: TrustedProxies
    private let connectionsMax: Int
    let bodyBytesMax: Int
    let headerBytesMax: Int
    private let inbox = Locked(Inbox())
    private let thread = Atomic<UInt>(0)
    private let wakeDescriptor: Int32
    private let pollDescriptor: Int32
    /// The buffer that every socket is read into first, so that a waiting connection holds no memory.
    let room: UnsafeMutableRawBufferPointer
    private let onStopped: @Sendable () -> Void

    /// The listening socket; -1 once the loop drains.
    private var listenSocket: Int32
    /// Whether the kernel reports new connections. False while there is no room for them.
    private var isAccepting = false
    private var jobs: [UnownedJob] = []
    private var nextJob = 0
    private var connections: [UInt64: ServedConnection] = [:]
    /// The connections that go on without an event.
    private var ready: [ServedConnection] = []
    /// The streams that own their connections' sockets, by the former connections' ids.
    private var lasting: [UInt64: (stream: LastingStream, exchange: Exchange)] = [:]
    private var nextConnectionID = Source.firstConnection
    /// Exchanges whose clients ended their side while a handler works, oldest first. From `due` on a client counts as
    /// gone.
    private var doubted: [(exchange: Exchange, due: UInt64)] = []
    private var requestIDs = RequestIDSource()
    private var responseDate = ResponseDate()
    private var nextTick: UInt64 = 0
    private var drainDeadline: UInt64?
    private(set) var now: UInt64 = MonotonicTime.now
    private var isStopping = false
    var requests: RequestCounts
    /// Requests whose handlers were started since the loop last waited, and between that and the time before.
    private var begun = (now: 0, before: 0)
    /// There are so many connections that idle ones must go.
    private var mustMakeRoom = false
    /// Whether room was made since the last tick, as far as possible.
    private var roomIsMade = false
    private var places: Int { connections.count + lasting.count }
    private var isShortOfConnections: Bool { places * 8 >= connectionsMax * 7 }
    var isDraining: Bool { drainDeadline != nil }

    /// Takes the listening socket. The loop closes it when it drains, or when this throws `ServerStartError`.
    init(
        _ configuration: HTTPServerConfiguration, router: Router, socket: Int32, metrics: ServerMetrics, logger: Logger, overload: OverloadLog,
        onStopped: @escaping @Sendable () -> Void
    ) throws {
        self.router = router
        self.logger = logger
        self.metrics = metrics
        requests = RequestCounts(metrics)
        self.overload = overload
        budgets = configuration.budgets
        trustedProxies = configuration.trustedProxies
        connectionsMax = max(configuration.connectionsMax / configuration.loopCount, 1)
        self.onStopped = onStopped
        deadlines = Deadlines(configuration)
        bodyBytesMax = configuration.bodyBytesMax
        headerBytesMax = configuration.headerBytesMax
        listenSocket = socket
        wakeDescriptor = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        pollDescriptor = epoll_create1(Int32(EPOLL_CLOEXEC))
        room = UnsafeMutableRawBufferPointer.allocate(byteCount: ServerLimits.handedBodyBytes, alignment: 16)
        guard wakeDescriptor >= 0, pollDescriptor >= 0, watch(wakeDescriptor, EPOLLIN.rawValue, Source.wake) else {
            throw ServerStartError(.loop, code: errno)
        }
        accept(true)
    }

    deinit {
        for descriptor in [listenSocket, wakeDescriptor, pollDescriptor] where descriptor >= 0 { Glibc.close(descriptor) }
        room.deallocate()
    }

    // MARK: - From any thread

    /// Starts the thread. Call it once.
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
            // The loop has ended: its tasks finish on the global executor.
            globalConcurrentExecutor.enqueue(ExecutorJob(job))
        }
    }

    /// Runs the body on the loop's thread: at once if this is it, otherwise soon, never after the loop has ended.
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

    /// Stops accepting, lets requests under way finish until the deadline, then ends the loop.
    func drain(until deadline: UInt64) {
        // Never at once: a handler may call this during its connection's turn.
        performLater { self.beginDraining(until: deadline) }
    }

    // MARK: - The thread

    private func run() {
        thread.store(UInt(pthread_self()), ordering: .relaxed)
        nacre_name_thread("http loop")
        var all = sigset_t()
        sigfillset(&all)
        // Signals belong to the process, not to a loop.
        pthread_sigmask(SIG_BLOCK, &all, nil)
        var events = [epoll_event](repeating: epoll_event(), count: 128)
        while !isStopping {
            let count = epoll_wait(pollDescriptor, &events, Int32(events.count), waitMilliseconds())
            now = MonotonicTime.now
            begun = (0, begun.now)
            for index in 0..<Int(max(count, 0)) { handle(events[index].data.u64, events[index].events) }
            serve()
            if mustMakeRoom { makeRoom() }
            if now >= nextTick { tick() }
            endDoubted()
            endIfDrained()
        }
        stop()
    }

    private func handle(_ source: UInt64, _ events: UInt32) {
        switch source {
        case Source.wake: takeInbox()
        case Source.newcomers: acceptNewcomers()
        default:
            if let connection = connections[source] {
                connection.noteEvents(events)
                connection.advance()
            } else if let (stream, exchange) = lasting[source] {
                let isGone = events & (EPOLLRDHUP.rawValue | EPOLLHUP.rawValue | EPOLLERR.rawValue) != 0
                if isGone { endLasting(stream, exchange) } else { stream.push() }
            }
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
        var rounds = 0
        let end = MonotonicTime.now &+ Self.turnsNanoseconds
        runJobs { false }
        while !ready.isEmpty, rounds < Self.roundsAtOnce {
            let turns = ready
            ready.removeAll(keepingCapacity: true)
            for (index, connection) in turns.enumerated() {
                connection.isReady = false
                connection.advance()
                guard MonotonicTime.now < end else {
                    // The remaining turns come before connections that became ready meanwhile.
                    return ready.insert(contentsOf: turns[(index + 1)...], at: 0)
                }
            }
            runJobs { false }
            rounds += 1
        }
    }

    /// Runs the due jobs and the jobs that they add, until `isDone` or `jobsAtOnce` have run.
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

    private func waitMilliseconds() -> Int32 {
        if !ready.isEmpty || nextJob < jobs.count { return 0 }
        var next = MonotonicTime.never
        if places > 0 || (!isAccepting && !isDraining) { next = nextTick }
        if let due = doubted.first?.due { next = min(next, due) }
        if let drainDeadline { next = min(next, drainDeadline) }
        guard next != MonotonicTime.never else { return -1 }
        guard next > now else { return 0 }
        return Int32(clamping: (next - now + 999_999) / 1_000_000)
    }

    /// Closes late connections and cancels overdue handlers.
    private func tick() {
        nextTick = now &+ deadlines.tick
        roomIsMade = false
        if isShortOfConnections { mustMakeRoom = true }
        var tasks: [ServedConnection] = []
        for connection in connections.values {
            connection.exchange?.endOverdueWork(now)
            connection.settleReceipts()
            if connection.isLate(now) {
                metrics.late.add()
                close(connection)
            } else if connection.exchange?.keepsTask == true, connection.awaitsClientSince < now {
                tasks.append(connection)
            }
        }
        // A kept task is memory, and no slot bounds the number of these tasks.
        let tasksMax = budgets.slots.parts.sum
        if tasks.count > tasksMax { closeLongest(of: tasks, count: tasks.count - tasksMax * 3 / 4) }
        for (stream, exchange) in lasting.values where stream.isStalled(now, for: deadlines.stall) {
            metrics.late.add()
            endLasting(stream, exchange)
        }
        accept(true)
    }

    // MARK: - Connections

    /// Starts or stops the kernel's reports of new connections.
    private func accept(_ isWanted: Bool) {
        guard listenSocket >= 0, isWanted != isAccepting, !isWanted || places < connectionsMax else { return }
        if isWanted {
            isAccepting = watch(listenSocket, EPOLLIN.rawValue, Source.newcomers)
        } else {
            isAccepting = false
            epoll_ctl(pollDescriptor, EPOLL_CTL_DEL, listenSocket, nil)
        }
    }

    private func acceptNewcomers() {
        for _ in 0..<Self.newcomersAtOnce where listenSocket >= 0 {
            guard places < connectionsMax else {
                overload.report(.connections)
                // Stop accepting until a connection closes.
                return accept(false)
            }
            var peer = sockaddr_storage()
            let socket = nacre_accept(listenSocket, &peer)
            if socket >= 0 {
                open(socket, withUnsafePointer(to: &peer) { $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { PeerAddress($0) } })
                continue
            }
            switch errno {
            case EAGAIN: return
            case EMFILE, ENFILE, ENOBUFS, ENOMEM:
                overload.report(.connections)
                // Stop accepting until the next tick: the kernel would report the same error again and again.
                return accept(false)
            // The connection was gone before it was accepted (accept(2)).
            default: continue
            }
        }
    }

    private func open(_ socket: Int32, _ peer: PeerAddress) {
        let connection = ServedConnection(id: nextConnectionID, socket: socket, peer: peer, loop: self)
        nextConnectionID += 1
        guard watch(socket, Self.connectionEvents, connection.id) else { return connection.close() }
        if places == 0 { nextTick = min(nextTick, now &+ deadlines.tick) }
        connections[connection.id] = connection
        metrics.connections.add(1)
        if isShortOfConnections, !roomIsMade { mustMakeRoom = true }
    }

    /// Closes the connections that have waited longest for their client, until a quarter of all connections is free or
    /// none waits. Otherwise a new client would wait at the limit for another one's deadline.
    private func makeRoom() {
        mustMakeRoom = false
        let count = places - connectionsMax * 3 / 4
        guard isShortOfConnections else { return }
        // Keep connections that were accepted in this round.
        let idle = connections.values.filter { $0.awaitsClientSince < now }
        closeLongest(of: idle, count: count)
        // If fewer were idle than must close, look again at the next tick, not at each new connection.
        roomIsMade = idle.count < count
    }

    /// Closes `count` of the connections, longest wait for the client first. Requests of users go last.
    private func closeLongest(of awaited: [ServedConnection], count: Int) {
        func isOfUser(_ connection: ServedConnection) -> Bool { connection.exchange?.ledger.kind == .user }
        let ordered = awaited.map { (connection: $0, isOfUser: isOfUser($0)) }.sorted {
            $0.isOfUser == $1.isOfUser ? $0.connection.awaitsClientSince < $1.connection.awaitsClientSince : $1.isOfUser
        }
        for (connection, _) in ordered.prefix(count) { close(connection) }
        overload.report(.connections, count: min(count, ordered.count))
    }

    /// Closes a connection at once, even with a request under way.
    func close(_ connection: ServedConnection) {
        guard forget(connection) else { return }
        connection.close()
        metrics.connections.add(-1)
        connection.exchange?.breakOff()
        accept(true)
    }

    /// Somebody waits to know whether a connection's client has what was sent.
    func demandReceipts(of connection: UInt64) { connections[connection]?.demandReceipts() }

    private func forget(_ connection: ServedConnection) -> Bool { connections.removeValue(forKey: connection.id) != nil }

    /// Gives a connection a turn, after those that became ready before it.
    func advanceLater(_ connection: ServedConnection) {
        guard !connection.isReady else { return }
        connection.isReady = true
        ready.append(connection)
    }

    /// Returns a stream that can take over the connection's socket.
    func lastingStream(of exchange: Exchange) -> LastingStream {
        LastingStream(id: exchange.connection.id, sent: metrics.sent) { [weak self, weak exchange] stream in
            guard let self, let exchange else { return }
            perform { self.endLasting(stream, exchange) }
        }
    }

    /// Moves a connection's socket to a stream. The loop goes on watching it.
    func takeSocket(of connection: ServedConnection, for stream: LastingStream, of exchange: Exchange) -> Int32? {
        // Bytes that the client sends after the request are not read.
        var event = epoll_event(events: EPOLLOUT.rawValue | EPOLLRDHUP.rawValue | EPOLLET.rawValue, data: epoll_data_t(u64: stream.id))
        guard epoll_ctl(pollDescriptor, EPOLL_CTL_MOD, connection.socket, &event) == 0, forget(connection) else { return nil }
        lasting[stream.id] = (stream, exchange)
        return connection.giveSocket()
    }

    private func endLasting(_ stream: LastingStream, _ exchange: Exchange) {
        guard lasting.removeValue(forKey: stream.id) != nil else { return }
        stream.close()
        metrics.connections.add(-1)
        exchange.endLasting()
        accept(true)
    }

    /// Counts a handler that starts. Returns whether it is one of many.
    func begins() -> Bool {
        begun.now += 1
        return max(begun.now, begun.before) >= Self.crowd
    }

    func nextRequestID() -> RequestID { requestIDs.next() }

    func date() -> [UInt8] { responseDate.now() }

    /// Notes that a client ended its side while a handler works. Some do so after their last request, and still read.
    func doubt(_ exchange: Exchange) {
        guard !exchange.isDoubted else { return }
        exchange.isDoubted = true
        doubted.append((exchange, now &+ deadlines.hangUpDelay))
    }

    private func endDoubted() {
        guard let first = doubted.first, first.due <= now else { return }
        let count = doubted.firstIndex { $0.due > now } ?? doubted.count
        for (exchange, _) in doubted[..<count] {
            exchange.isDoubted = false
            if exchange.waitsForHandler { exchange.clientHungUp() }
        }
        doubted.removeFirst(count)
    }

    private func watch(_ descriptor: Int32, _ events: UInt32, _ source: UInt64) -> Bool {
        var event = epoll_event(events: events, data: epoll_data_t(u64: source))
        return epoll_ctl(pollDescriptor, EPOLL_CTL_ADD, descriptor, &event) == 0
    }

    // MARK: - The end

    private func beginDraining(until deadline: UInt64) {
        drainDeadline = min(drainDeadline ?? deadline, deadline)
        // Serve the connections that the kernel has accepted already.
        acceptNewcomers()
        accept(false)
        if listenSocket >= 0 { Glibc.close(listenSocket) }
        listenSocket = -1
        for connection in connections.values {
            connection.advance()
            if connection.isIdle { close(connection) }
        }
    }

    private func endIfDrained() {
        guard let drainDeadline else { return }
        if now >= drainDeadline || (places == 0 && requests.isEmpty) { isStopping = true }
    }

    private func stop() {
        for connection in connections.values { close(connection) }
        for (stream, exchange) in lasting.values { endLasting(stream, exchange) }
        ready = []
        doubted = []
        requests.end()
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
