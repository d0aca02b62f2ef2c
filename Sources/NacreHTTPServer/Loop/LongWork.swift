import CNacreSockets
import Glibc
import NacreLocks

/// Runs the long computations of requests beside the loops, on threads of lower priority.
///
/// At the same priority, long work would keep a waking loop from the processor for some milliseconds. The loop's answer
/// takes a fifth of one. A thread is started when there is work, which takes some 20 µs, and ends when there is none.
/// See `docs/decisions/requests-turns.md`.
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

    /// The most threads. On this server: as many as it has cores. The bounds on requests bound the queue.
    private static let threadsMaximum = 2
    /// The `nice` value of the threads: a tenth of a core while other threads are busy.
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
                // Linux: 0 names the calling thread. If the call is not permitted, the thread keeps its normal
                // priority.
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

    /// Moves the queue to the global executor if no thread can be started and none runs. A running thread takes the
    /// queue later.
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
