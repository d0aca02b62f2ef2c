import NacreCloudStorage
import NacreLocks

/// Threads for file calls that block, so that they never run on a thread that serves requests. Thread-safe.
final class FileThreads: Sendable {
    private struct State {
        var waiting: [@Sendable () -> Void] = []
        var next = 0
        /// The number of jobs under way.
        var running = 0
        var isClosed = false
        var threads: [BlockingThread] = []
    }

    private let state = Locked(State())
    private let work = Signal()

    /// - Throws: If a thread could not be started.
    init(count: Int) throws {
        for _ in 0..<count {
            let (state, work) = (state, work)
            let thread = try BlockingThread {
                while let job = Self.next(state, work) {
                    job()
                    state.withLock { $0.running -= 1 }
                }
            }
            state.withLock { $0.threads.append(thread) }
        }
    }

    /// Runs a blocking job, after the jobs that were queued before.
    /// - Throws: The error of `body`; `StoreError.closed` after `close`.
    func run<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            do {
                try start { continuation.resume(with: Result(catching: body)) }
            } catch {
                continuation.resume(throwing: error)
            }
        }
    }

    /// Queues a blocking job, and does not wait for it.
    /// - Throws: `StoreError.closed` after `close`.
    func start(_ body: @escaping @Sendable () -> Void) throws(StoreError) {
        let isTaken = state.withLock { state in
            if !state.isClosed { state.waiting.append(body) }
            return !state.isClosed
        }
        guard isTaken else { throw StoreError(.closed, "The files of assets are closed") }
        work.notify()
    }

    /// Whether a job waits for a thread.
    var isWanted: Bool { state.withLock { $0.next < $0.waiting.count } }

    /// Whether a thread is idle.
    var hasFree: Bool { state.withLock { $0.running + $0.waiting.count - $0.next < $0.threads.count } }

    /// Runs the queued jobs, then ends the threads. Idempotent.
    func close() async {
        let threads = state.withLock { state in
            state.isClosed = true
            defer { state.threads = [] }
            return state.threads
        }
        guard !threads.isEmpty else { return }
        for _ in threads { work.notify() }
        await withCheckedContinuation { continuation in
            let wait: @Sendable () -> Void = {
                for thread in threads { thread.join() }
                continuation.resume()
            }
            do { try BlockingThread(wait).detach() } catch { continuation.resume() }
        }
    }

    /// Waits for a job; nil if the threads are to end.
    private static func next(_ state: Locked<State>, _ work: Signal) -> (@Sendable () -> Void)? {
        work.wait()
        return state.withLock { state in
            guard state.next < state.waiting.count else { return nil }
            let job = state.waiting[state.next]
            state.next += 1
            state.running += 1
            // Drop finished jobs when they are half of the queue, so that taking a job costs the same however many
            // wait.
            if state.next * 2 >= state.waiting.count {
                state.waiting.removeFirst(state.next)
                state.next = 0
            }
            return job
        }
    }
}
