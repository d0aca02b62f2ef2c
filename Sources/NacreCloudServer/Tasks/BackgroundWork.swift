import NacreLocks

/// Work beside requests: it begins with the server and goes on until the server ends.
final class BackgroundWork: Sendable {
    private let running = Locked<Task<Void, Never>?>(nil)

    /// Begins, once: further calls do nothing.
    func start(_ work: @escaping @Sendable () async -> Void) {
        running.withLock { running in
            guard running == nil else { return }
            running = Task { await work() }
        }
    }

    /// Cancels it, and returns when it has ended.
    func stop() async {
        let task = running.withLock { $0 }
        task?.cancel()
        await task?.value
    }
}
