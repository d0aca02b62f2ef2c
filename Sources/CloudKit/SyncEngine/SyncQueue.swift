import NacreLocks

/// Runs pieces of work one at a time, in the order in which they were added. Its task lives while there is work.
final class SyncQueue: Sendable {
    typealias Work = @Sendable () async -> Void

    private struct State {
        var waiting: [Work] = []
        var isRunning = false
    }

    private let state = Locked(State())

    func add(_ work: @escaping Work) {
        let begins = state.withLock { state in
            state.waiting.append(work)
            defer { state.isRunning = true }
            return !state.isRunning
        }
        if begins { Task { await run() } }
    }

    private func run() async {
        while let work = next() { await work() }
    }

    private func next() -> Work? {
        state.withLock { state in
            guard !state.waiting.isEmpty else {
                state.isRunning = false
                return nil
            }
            return state.waiting.removeFirst()
        }
    }
}

/// The cancellation handle of one fetch or send.
final class SyncRun: Sendable {
    private struct State {
        var isCancelled = false
        /// The call that ends the wait of a run whose turn has not come.
        var endWait: (@Sendable () -> Void)?
        var hasSucceeded = false
        var calls: [Int: Task<Void, Never>] = [:]
        var started = 0
    }

    private let state = Locked(State())

    /// Cancels the requests under way. A run that waits for its turn ends at once.
    func cancel() {
        let (calls, endWait) = state.withLock { state in
            state.isCancelled = true
            defer { state.endWait = nil }
            return (Array(state.calls.values), state.endWait)
        }
        for call in calls { call.cancel() }
        endWait?()
    }

    /// Notes that the run waits for its turn. A cancellation before `begin` calls `endWait`, once.
    func wait(_ endWait: @escaping @Sendable () -> Void) {
        let isCancelled = state.withLock { state in
            if !state.isCancelled { state.endWait = endWait }
            return state.isCancelled
        }
        if isCancelled { endWait() }
    }

    /// Notes that the run's turn has come.
    /// - Returns: false if the wait was ended before.
    func begin() -> Bool {
        state.withLock { state in
            defer { state.endWait = nil }
            return state.endWait != nil
        }
    }

    /// Whether at least one record or zone was saved or deleted.
    var hasSucceeded: Bool { state.withLock(\.hasSucceeded) }

    func noteSuccess() {
        state.withLock { $0.hasSucceeded = true }
    }

    func check() throws(CKError) {
        if state.withLock(\.isCancelled) { throw .cancelled }
    }

    /// Asks the server in a task of its own, which `cancel` cancels. The delegate therefore never runs in a cancelled
    /// task.
    func call<Value: Sendable>(_ ask: @escaping @Sendable () async throws(CKError) -> Value) async throws(CKError) -> Value {
        try check()
        let (place, found) = state.withLock { state in
            state.started += 1
            return (state.started, Locked<Result<Value, CKError>?>(nil))
        }
        let task = Task {
            do throws(CKError) {
                let value = try await ask()
                found.withLock { $0 = .success(value) }
            } catch {
                found.withLock { $0 = .failure(error) }
            }
        }
        let isLate = state.withLock { state in
            state.calls[place] = task
            return state.isCancelled
        }
        if isLate { task.cancel() }
        await task.value
        state.withLock { $0.calls[place] = nil }
        return try (found.withLock { $0 } ?? .failure(.cancelled)).get()
    }

    /// Runs an operation, whose blocks receive its results.
    /// - Returns: the error that ended the operation as a whole.
    func perform(_ make: @escaping @Sendable (_ done: @escaping @Sendable (CKError?) -> Void) -> CKOperation) async -> CKError? {
        do throws(CKError) {
            return try await call { () async throws(CKError) in await SingleCall.result(make) }
        } catch {
            return error
        }
    }
}
