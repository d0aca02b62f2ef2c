import NacreLocks

/// Work outside requests, which runs from the server's start to its end.
final class BackgroundWork: Sendable {
    private let running = Locked<Task<Void, Never>?>(nil)

    /// Starts the work once; further calls do nothing.
    func start(_ work: @escaping @Sendable () async -> Void) {
        running.withLock { running in
            guard running == nil else { return }
            running = Task { await work() }
        }
    }

    /// Cancels the work, and returns when it has ended.
    func stop() async {
        let task = running.withLock { $0 }
        task?.cancel()
        await task?.value
    }
}
