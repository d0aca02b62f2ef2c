import CNacreSockets
import Glibc
import NacreLocks

/// Runs what requests compute for long, beside the loops, on threads that step back for all that answers small ones.
///
/// On threads of the same priority long work keeps a loop that wakes from the processor until its slice is over: some milliseconds, for an answer that takes
/// a fifth of one. A thread is started when there is work for it, which takes some 20 µs, and ends when there is none.
/// `docs/decisions/long-work-steps-back.md` says why.
package final class LongWork: TaskExecutor {
    package static let shared = LongWork()

    private struct State {
        var jobs: [UnownedJob] = []
        var next = 0
        var running = 0

        mutating func take() -> UnownedJob? {
            guard next < jobs.count else {
                (jobs, next) = ([], 0)
                return nil
            }
            next += 1
            return jobs[next - 1]
        }
    }

    /// On this server: as many as it has cores. What waits for them is bounded by who asks.
    private static let threadsMaximum = 2
    /// In the terms of `nice`: a tenth of a core where others are busy.
    private static let priority: Int32 = 10

    private let state = Locked(State())

    private init() {}

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let mustStart = state.withLock { state in
            state.jobs.append(job)
            guard state.running < Self.threadsMaximum else { return false }
            state.running += 1
            return true
        }
        if mustStart, !start() { runElsewhere() }
    }

    private func start() -> Bool {
        var thread = pthread_t()
        let code = pthread_create(
            &thread, nil,
            { context in
                guard let context else { return nil }
                let work = Unmanaged<LongWork>.fromOpaque(context).takeUnretainedValue()
                nacre_name_thread("long work")
                // Linux: 0 names the calling thread. Where it is not allowed the work is only less polite.
                _ = setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, LongWork.priority)
                work.run()
                return nil
            }, Unmanaged.passUnretained(self).toOpaque())
        guard code == 0 else { return false }
        pthread_detach(thread)
        return true
    }

    private func run() {
        while true {
            let job = state.withLock { state in
                let job = state.take()
                if job == nil { state.running -= 1 }
                return job
            }
            guard let job else { return }
            job.runSynchronously(on: asUnownedTaskExecutor())
        }
    }

    /// The system gives no more threads. If one of ours runs it comes to what waits; otherwise nobody would.
    private func runElsewhere() {
        let stranded = state.withLock { state in
            state.running -= 1
            guard state.running == 0 else { return [UnownedJob]() }
            defer { (state.jobs, state.next) = ([], 0) }
            return Array(state.jobs[state.next...])
        }
        for job in stranded { globalConcurrentExecutor.enqueue(ExecutorJob(job)) }
    }
}
