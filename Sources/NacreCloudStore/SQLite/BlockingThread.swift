import Glibc
import NacreCloudContainer

/// A thread of our own for calls that block, so that they never hold one of Swift's cooperative threads.
struct BlockingThread: Sendable {
    private let thread: pthread_t

    /// Starts `body` on a new thread.
    init(_ body: @escaping @Sendable () -> Void) throws {
        var thread = pthread_t()
        let work = Unmanaged.passRetained(Work(body: body))
        let result = pthread_create(
            &thread, nil,
            { context in
                guard let context else { return nil }
                Unmanaged<Work>.fromOpaque(context).takeRetainedValue().body()
                return nil
            }, work.toOpaque())
        guard result == 0 else {
            work.release()
            throw StoreError(.unavailable, "A thread could not be started", ["errno": String(result), "reason": String(cString: strerror(result))])
        }
        self.thread = thread
    }

    /// Blocks until the thread's body has returned. Once, and not on the thread itself.
    func join() {
        pthread_join(thread, nil)
    }

    /// Gives the thread's memory back when its body returns, instead of keeping it for `join`.
    func detach() {
        pthread_detach(thread)
    }

    /// Called on a thread: the processor serves others first from now on. Linux: 0 names the calling thread, not the process.
    /// - Parameter priority: in the terms of `nice`.
    static func yieldToOthers(_ priority: Int32 = leastPriority) {
        // Where it is not allowed the work is only less polite.
        _ = setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, priority)
    }

    /// The least that Linux has.
    static let leastPriority: Int32 = 19
    /// Behind what answers small requests, and before what nobody waits for: a tenth of a core where that is busy.
    static let longWorkPriority: Int32 = 10

    private final class Work: Sendable {
        let body: @Sendable () -> Void

        init(body: @escaping @Sendable () -> Void) {
            self.body = body
        }
    }
}

/// A counter that threads wait on: each `notify` lets one `wait` through.
final class Signal: @unchecked Sendable {
    // Sendable: `sem_t` is made to be used by any thread, and its memory lives as long as this object.
    private let semaphore: UnsafeMutablePointer<sem_t>

    init() {
        semaphore = .allocate(capacity: 1)
        sem_init(semaphore, 0, 0)
    }

    deinit {
        sem_destroy(semaphore)
        semaphore.deallocate()
    }

    func notify() {
        sem_post(semaphore)
    }

    func wait() {
        while sem_wait(semaphore) != 0 {
            // A signal handler ran: wait on.
        }
    }

    /// False if nothing came in that time, which only bounds idleness: nothing correct depends on it.
    func wait(atMostSeconds seconds: Int) -> Bool {
        var deadline = timespec()
        clock_gettime(CLOCK_REALTIME, &deadline)
        deadline.tv_sec += seconds
        while sem_timedwait(semaphore, &deadline) != 0 {
            if errno != EINTR { return false }
        }
        return true
    }
}
