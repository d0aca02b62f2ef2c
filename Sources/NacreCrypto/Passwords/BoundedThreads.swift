import Glibc
import NacreLocks

/// Runs blocking work on at most so many threads of its own, with at most so many jobs waiting for one, first come first served.
///
/// A thread is started when a job finds fewer than the maximum and ends when none waits: idle, this costs nothing and needs no shutdown.
/// Starting one takes some 20 µs, so it suits work of milliseconds. Its threads yield to others: what they do is long, and others are waited for.
final class BoundedThreads: Sendable {
    /// One of `run` and `abandon` is called, once, whatever happens to the job.
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

    /// Behind what answers requests, and before what nobody waits for, in the terms of `nice`.
    private static let priority: Int32 = 10

    private let threadsMaximum: Int
    private let waitingMaximum: Int
    private let state = Locked(State())

    init(threadsMaximum: Int, waitingMaximum: Int) {
        self.threadsMaximum = max(1, threadsMaximum)
        self.waitingMaximum = max(0, waitingMaximum)
    }

    /// Runs the body on one of the threads and answers what it answers.
    ///
    /// - Throws: what the body throws; `CryptoError.busy` if too many wait; `CancellationError` if the task was cancelled before a thread took the
    /// job.
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
        // A cancellation sets the task's flag before it calls `cancel`. So either `cancel` finds the job in the queue, or it came first and the flag
        // is seen here.
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
                // Of this thread alone: on Linux each has a priority of its own. Where it is not allowed the work is only less polite.
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

    /// The system gives no more threads. If another of ours is running it will come to those who wait; otherwise nobody will.
    private func abandonForWantOfThread(_ job: Job) {
        let stranded: [Job] = state.withLock { state in
            state.running -= 1
            guard state.running == 0 else { return [] }
            defer { state.waiting = [] }
            return state.waiting
        }
        for job in [job] + stranded { job.abandon(CryptoError(.busy)) }
    }

    /// What a new thread is given.
    private final class Work: Sendable {
        let threads: BoundedThreads
        let first: Job

        init(threads: BoundedThreads, first: Job) {
            self.threads = threads
            self.first = first
        }
    }
}
