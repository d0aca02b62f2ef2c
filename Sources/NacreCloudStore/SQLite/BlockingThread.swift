import Glibc
import NacreCloudStorage

/// A thread for calls that block, so that they never hold one of Swift's cooperative threads.
package struct BlockingThread: Sendable {
    private let thread: pthread_t

    package init(_ body: @escaping @Sendable () -> Void) throws {
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

    /// Blocks until the thread's body has returned. Call it once, and not on the thread itself.
    func join() {
        pthread_join(thread, nil)
    }

    /// Frees the thread when its body returns, instead of keeping it for `join`.
    package func detach() {
        pthread_detach(thread)
    }

    /// Lowers the priority of the calling thread. Linux: 0 names the thread, not the process.
    /// - Parameter priority: The `nice` value.
    static func yieldToOthers(_ priority: Int32 = leastPriority) {
        // If the call is not permitted, the thread keeps its priority.
        _ = setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, priority)
    }

    /// The lowest priority on Linux.
    static let leastPriority: Int32 = 19
    /// The priority behind small requests and before background work: a tenth of a busy core.
    static let longWorkPriority: Int32 = 10

    private final class Work: Sendable {
        let body: @Sendable () -> Void

        init(body: @escaping @Sendable () -> Void) {
            self.body = body
        }
    }
}

/// A counter that threads wait on: each `notify` lets one `wait` through.
package final class Signal: @unchecked Sendable {
    // Sendable: `sem_t` is made to be used by any thread, and its memory lives as long as this object.
    private let semaphore: UnsafeMutablePointer<sem_t>

    package init() {
        semaphore = .allocate(capacity: 1)
        sem_init(semaphore, 0, 0)
    }

    deinit {
        sem_destroy(semaphore)
        semaphore.deallocate()
    }

    package func notify() {
        sem_post(semaphore)
    }

    package func wait() {
        while sem_wait(semaphore) != 0 {
            // A signal handler ran: wait on.
        }
    }

    /// Waits for a limited time. Returns false if no `notify` came. The time only bounds idleness: correctness does not
    /// depend on it.
    func wait(atMostSeconds seconds: Int) -> Bool { wait(atMost: .seconds(seconds)) }

    @discardableResult
    package func wait(atMost time: Duration) -> Bool {
        var deadline = timespec()
        clock_gettime(CLOCK_REALTIME, &deadline)
        let nanoseconds = deadline.tv_nsec + Int(time.components.attoseconds / 1_000_000_000)
        deadline.tv_sec += Int(time.components.seconds) + nanoseconds / 1_000_000_000
        deadline.tv_nsec = nanoseconds % 1_000_000_000
        while sem_timedwait(semaphore, &deadline) != 0 {
            if errno != EINTR { return false }
        }
        return true
    }
}
