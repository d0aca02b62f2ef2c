import CNacreSockets
import Glibc
import NacreLocks
import NacreTelemetry
import Synchronization

/// One thread that serves its share of connections: their sockets, the tasks of their handlers, and the deadlines.
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
        static let newcomers: UInt64 = 1
        static let firstConnection: UInt64 = 2
    }

    /// A connection's events come once for each change: it is asked for them once in its life.
    private static let connectionEvents = EPOLLIN.rawValue | EPOLLOUT.rawValue | EPOLLRDHUP.rawValue | EPOLLET.rawValue
    /// Jobs that run before sockets get their turn again.
    private static let jobsAtOnce = 1024
    /// Requests that come together from which on each is one of many. On this server: two or three are answered faster one after the other.
    private static let crowd = 4
    /// Turns of connections that go on by themselves before the kernel is asked again.
    private static let roundsAtOnce = 16
    /// Time for such turns, of which each may send much. On this server: who has asked something small does not wait noticeably.
    private static let turnsNanoseconds: UInt64 = 2_000_000
    /// Connections that are accepted before those that are there get their turn.
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
    /// What is read of a socket comes here first, so that a connection that waits holds no room.
    let room: UnsafeMutableRawBufferPointer
    private let onStopped: @Sendable () -> Void

    /// -1 once nobody is accepted any more.
    private var listenSocket: Int32
    /// Whether the kernel tells of newcomers. Not where there is no place for them.
    private var isAccepting = false
    private var jobs: [UnownedJob] = []
    private var nextJob = 0
    private var connections: [UInt64: ServedConnection] = [:]
    /// Those that go on without an event.
    private var ready: [ServedConnection] = []
    /// Streams that have their connections' sockets, by the ids that those had.
    private var lasting: [UInt64: (stream: LastingStream, exchange: Exchange)] = [:]
    private var nextConnectionID = Source.firstConnection
    /// Exchanges whose clients have ended their side while a handler works, oldest first, with the moment from which they count as gone.
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
    /// Since the last tick, as far as could be.
    private var roomIsMade = false
    private var places: Int { connections.count + lasting.count }
    private var isShortOfConnections: Bool { places * 8 >= connectionsMax * 7 }
    var isDraining: Bool { drainDeadline != nil }

    /// Takes the listening socket, which is closed when the loop drains or this throws `ServerStartError`.
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
        // Never at once: a handler may ask for it, in its connection's turn.
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
            for (place, connection) in turns.enumerated() {
                connection.isReady = false
                connection.advance()
                guard MonotonicTime.now < end else {
                    // They come before those that got ready meanwhile.
                    return ready.insert(contentsOf: turns[(place + 1)...], at: 0)
                }
            }
            runJobs { false }
            rounds += 1
        }
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

    /// Ends the connections that are late.
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
        // Each is memory, and has no place that bounds their number.
        let tasksMax = budgets.places.parts.sum
        if tasks.count > tasksMax { closeLongest(of: tasks, count: tasks.count - tasksMax * 3 / 4) }
        for (stream, exchange) in lasting.values where stream.isStalled(now, for: deadlines.stall) {
            metrics.late.add()
            endLasting(stream, exchange)
        }
        accept(true)
    }

    // MARK: - Connections

    /// Asks the kernel to tell of newcomers, or not to.
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
                overload.tell(.connections)
                // Until somebody's place is free.
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
                overload.tell(.connections)
                // Until the next tick: it would be told again and again.
                return accept(false)
            // One that was gone before it was accepted (accept(2)).
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

    /// Closes connections whose client is awaited, those that are awaited longest first, until a quarter of all connections is free or none is left. At
    /// the limit nobody is accepted, and who comes would wait for somebody's deadline.
    private func makeRoom() {
        mustMakeRoom = false
        let count = places - connectionsMax * 3 / 4
        guard isShortOfConnections else { return }
        // The newest is who came just now.
        let idle = connections.values.filter { $0.awaitsClientSince < now }
        closeLongest(of: idle, count: count)
        // Where fewer were idle than must go, the next tick looks again, and not each that comes.
        roomIsMade = idle.count < count
    }

    /// Closes so many of the connections whose client is awaited longest. Requests of users go last.
    private func closeLongest(of awaited: [ServedConnection], count: Int) {
        func isOfUser(_ connection: ServedConnection) -> Bool { connection.exchange?.account.kind == .user }
        let ordered = awaited.map { (connection: $0, isOfUser: isOfUser($0)) }.sorted {
            $0.isOfUser == $1.isOfUser ? $0.connection.awaitsClientSince < $1.connection.awaitsClientSince : $1.isOfUser
        }
        for (connection, _) in ordered.prefix(count) { close(connection) }
        overload.tell(.connections, count: min(count, ordered.count))
    }

    /// Closes a connection at once, whatever is under way on it.
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

    /// Gives a connection its turn once those before it have had theirs.
    func advanceLater(_ connection: ServedConnection) {
        guard !connection.isReady else { return }
        connection.isReady = true
        ready.append(connection)
    }

    /// A stream to which a connection's socket is to be given.
    func lastingStream(of exchange: Exchange) -> LastingStream {
        LastingStream(id: exchange.connection.id) { [weak self, weak exchange] stream in
            guard let self, let exchange else { return }
            perform { self.endLasting(stream, exchange) }
        }
    }

    /// Has a stream's socket watched, which its connection gives away.
    func takeSocket(of connection: ServedConnection, for stream: LastingStream, of exchange: Exchange) -> Int32? {
        // What a client sends behind the request is read by nobody.
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

    /// A handler is started. Returns whether it is one of many.
    func begins() -> Bool {
        begun.now += 1
        return max(begun.now, begun.before) >= Self.crowd
    }

    func nextRequestID() -> RequestID { requestIDs.next() }

    func date() -> [UInt8] { responseDate.now() }

    /// A client has ended its side while a handler works at its request. Some do with their last request, and read on: most answers come before that matters.
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
        // What the kernel has accepted already is served.
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
