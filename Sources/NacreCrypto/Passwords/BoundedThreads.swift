import Glibc
import NacreLocks

/// Runs blocking work on at most `threadsMaximum` threads, with at most `waitingMaximum` jobs in the queue, first come
/// first served.
///
/// A thread starts when a job finds fewer than the maximum, and ends when the queue is empty. An idle pool costs
/// nothing and needs no shutdown. A start takes some 20 µs, so the pool suits work of milliseconds. The threads run at
/// a lower priority, because their work is long.
final class BoundedThreads: Sendable {
    /// A unit of work. Either `run` or `abandon` is called, once, whatever happens to the job.
    struct Job: Sendable {
        let id: UInt64
        let run: @Sendable () -> Void
        let abandon: @Sendable (any Error) -> Void
    }

    private struct State {
        var waiting: [Job] = []
        var running = 0
        var lastID: UInt64 = 0
    }

    private enum Admission {
        case startThread, waits, refused
    }

    /// The `nice` value of the threads: behind the threads that answer requests, and before background work.
    private static let priority: Int32 = 10

    private let threadsMaximum: Int
    private let waitingMaximum: Int
    private let state = Locked(State())

    init(threadsMaximum: Int, waitingMaximum: Int) {
        self.threadsMaximum = max(1, threadsMaximum)
        self.waitingMaximum = max(0, waitingMaximum)
    }

    /// Runs the body on one of the threads and returns its result.
    /// - Throws: The error of the body; `CryptoError.busy` if the queue is full; `CancellationError` if the task was
    ///   cancelled before a thread took the job.
    func run<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        let id = newID()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Value, any Error>) in
                submit(
                    Job(
                        id: id,
                        run: { continuation.resume(with: Result { try body() }) },
                        abandon: { continuation.resume(throwing: $0) }))
            }
        } onCancel: {
            cancel(id)
        }
    }

    func newID() -> UInt64 {
        state.withLock { state in
            state.lastID += 1
            return state.lastID
        }
    }

    /// Starts the job, queues it, or abandons it at once.
    func submit(_ job: Job) {
        // A cancellation sets the task's flag before it calls `cancel`. Either `cancel` finds the job in the queue, or
        // the flag is already set here.
        let admission: Admission? = state.withLock { state in
            if Task.isCancelled { return nil }
            if state.running < threadsMaximum {
                state.running += 1
                return .startThread
            }
            guard state.waiting.count < waitingMaximum else { return .refused }
            state.waiting.append(job)
            return .waits
        }
        switch admission {
        case .startThread: start(with: job)
        case .waits: break
        case .refused: job.abandon(CryptoError(.busy))
        case nil: job.abandon(CancellationError())
        }
    }

    /// Abandons the job if it still waits.
    func cancel(_ id: UInt64) {
        let job: Job? = state.withLock { state in
            state.waiting.firstIndex { $0.id == id }.map { state.waiting.remove(at: $0) }
        }
        job?.abandon(CancellationError())
    }

    private func start(with job: Job) {
        let work = Unmanaged.passRetained(Work(threads: self, first: job))
        var thread = pthread_t()
        let result = pthread_create(
            &thread, nil,
            { argument in
                guard let argument else { return nil }
                let work = Unmanaged<Work>.fromOpaque(argument).takeRetainedValue()
                // On Linux the priority belongs to this thread alone. If the call is not permitted, the thread keeps
                // its normal priority.
                _ = setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, BoundedThreads.priority)
                work.threads.work(from: work.first)
                return nil
            }, work.toOpaque())
        guard result == 0 else {
            work.release()
            return abandonForWantOfThread(job)
        }
        pthread_detach(thread)
    }

    private func work(from first: Job) {
        var job: Job? = first
        while let next = job {
            next.run()
            job = state.withLock { state in
                if state.waiting.isEmpty {
                    state.running -= 1
                    return nil
                }
                return state.waiting.removeFirst()
            }
        }
    }

    /// Abandons the job because the system gives no more threads. If another thread of the pool runs, it takes the
    /// waiting jobs later. If none runs, they are abandoned, too.
    private func abandonForWantOfThread(_ job: Job) {
        let stranded: [Job] = state.withLock { state in
            state.running -= 1
            guard state.running == 0 else { return [] }
            defer { state.waiting = [] }
            return state.waiting
        }
        for job in [job] + stranded { job.abandon(CryptoError(.busy)) }
    }

    /// The argument of a new thread.
    private final class Work: Sendable {
        let threads: BoundedThreads
        let first: Job

        init(threads: BoundedThreads, first: Job) {
            self.threads = threads
            self.first = first
        }
    }
}
