import NacreCloudStorage
import NacreCloudStore
import NacreLocks

/// A request that waits for a connection: served once, and answered once.
protocol PostgresRequest: Sendable {
    func serve(on worker: PostgresWorker)
}

/// The threads and connections of a store. A thread has one connection, which it makes when it first needs one.
final class PostgresEngine: Sendable {
    private struct State {
        var threads = 0
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    let url: String
    let options: PostgresOptions
    let writes: WorkQueue<any PostgresRequest>
    let reads: WorkQueue<any PostgresRequest>
    /// Statements that are to be cancelled. libpq does so by a connection of its own, and waits for it.
    let cancellations = WorkQueue<RunningRead>(.unbounded, room: .unbounded)
    private let state = Locked(State())
    private let prepares = Locked(true)

    /// Connects once to see that the data can be used, and starts the threads.
    init(_ url: String, _ options: PostgresOptions) throws {
        (self.url, self.options) = (url, options)
        writes = WorkQueue(PostgresLimits.places(of: options.writers), room: PostgresLimits.waitingWrites)
        reads = WorkQueue(PostgresLimits.places(of: options.readers), room: PostgresLimits.waitingReads)
        do {
            try PostgresConnection.to(url).join(options)
        } catch {
            throw StoreError(postgres: error)
        }
        do {
            for _ in 0..<options.writers { try start { [self] in serve(writes) } }
            for _ in 0..<options.readers { try start { [self] in serve(reads) } }
            try start { [self] in
                var last: Turn?
                while let taken = cancellations.next(after: last) {
                    taken.request.cancelNow()
                    last = taken.turn
                }
            }
        } catch {
            close(nil)
            throw error
        }
    }

    private func start(_ body: @escaping @Sendable () -> Void) throws {
        let thread = try BlockingThread { [self] in
            body()
            let done = state.withLock { state -> [CheckedContinuation<Void, Never>] in
                state.threads -= 1
                guard state.threads == 0 else { return [] }
                defer { state.waiting = [] }
                return state.waiting
            }
            for continuation in done { continuation.resume() }
        }
        state.withLock { $0.threads += 1 }
        thread.detach()
    }

    private func serve(_ queue: WorkQueue<any PostgresRequest>) {
        let worker = PostgresWorker(self)
        var last: Turn?
        while let taken = queue.next(after: last) {
            taken.request.serve(on: worker)
            last = taken.turn
        }
    }

    var preparesStatements: Bool { prepares.withLock { $0 } }

    /// Names no statements from now on, because a pooler gives each transaction another session.
    func stopPreparing() {
        prepares.withLock { $0 = false }
    }

    /// Serves what was accepted, and closes. Resumes `continuation` when all connections are closed.
    func close(_ continuation: CheckedContinuation<Void, Never>?) {
        writes.close()
        reads.close()
        cancellations.close()
        let isOver = state.withLock { state in
            guard state.threads > 0 else { return true }
            if let continuation { state.waiting.append(continuation) }
            return false
        }
        if isOver { continuation?.resume() }
    }
}

/// The outcome of one run of a body.
enum PostgresAttempt<Value> {
    case done(Result<Value, any Error>)
    /// Nothing of it stays, and it may pass when it is run again.
    case again(PostgresFailure)
}

/// A thread's connection.
final class PostgresWorker {
    private let engine: PostgresEngine
    private var connection: PostgresConnection?
    private let signal = Signal()

    init(_ engine: PostgresEngine) {
        self.engine = engine
    }

    private func connected() throws -> PostgresConnection {
        if let connection, !connection.isLost { return connection }
        connection = nil
        let fresh = try PostgresConnection.to(engine.url, preparesStatements: engine.preparesStatements)
        try fresh.join(engine.options)
        connection = fresh
        return fresh
    }

    /// Runs a body until it has an outcome, a bounded number of times.
    func run<Value>(_ attempt: (PostgresConnection) -> PostgresAttempt<Value>) -> Result<Value, any Error> {
        var collisions = 0
        var pauses = PostgresLimits.pauses[...]
        while true {
            let failure: PostgresFailure
            do {
                switch attempt(try connected()) {
                case .done(let result): return result
                case .again(let why): failure = why
                }
            } catch let why as PostgresFailure {
                failure = why
            } catch {
                return .failure(error)
            }
            if failure.losesConnection { connection = nil }
            if failure.isOfPooler {
                engine.stopPreparing()
                connection = nil
            }
            if failure.code == PostgresFailure.uniqueViolation { collisions += 1 }
            guard failure.mayPass, collisions < PostgresLimits.collisions, let pause = pauses.popFirst() else {
                return .failure(failure.storeError)
            }
            engine.options.retried(failure.storeError)
            if pause > 0 { signal.wait(atMost: .milliseconds(pause)) }
        }
    }
}
