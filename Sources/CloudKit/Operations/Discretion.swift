import NacreLocks

/// Holds back requests of the quality `background` while other requests of their container are under way.
///
/// CloudKit: background work is discretionary, and the system schedules it. Here waiting requests start when no other
/// request is under way; a request that has begun is not held up.
final class Discretion: Sendable {
    /// The most seconds that a request is held back. Own choice: an app that always has requests must not block it
    /// forever.
    static let longestWait = 60.0

    private enum Waiter {
        case announced
        case waiting(CheckedContinuation<Void, Never>)
    }

    private struct State {
        var working = 0
        var last = 0
        var waiters: [Int: Waiter] = [:]
    }

    private let state = Locked(State())

    /// The number of requests that are held back now.
    var waiting: Int { state.withLock { $0.waiters.count } }

    /// Runs `body`. Discretionary requests wait for it, unless it is discretionary itself.
    func during<Value>(discretionary isDiscretionary: Bool, _ body: () async -> Value) async -> Value {
        if isDiscretionary { return await body() }
        state.withLock { $0.working += 1 }
        let value = await body()
        let ready = state.withLock { state -> [Waiter] in
            state.working -= 1
            guard state.working == 0 else { return [] }
            defer { state.waiters = [:] }
            return Array(state.waiters.values)
        }
        for waiter in ready { Self.resume(waiter) }
        return value
    }

    /// Waits until no other request is under way, but at most `longestWait`, or until the task is cancelled.
    /// - Parameter pause: waits for a number of seconds.
    func standBack(_ pause: @escaping @Sendable (Double) async throws -> Void) async {
        let place = state.withLock { state -> Int? in
            guard state.working > 0 else { return nil }
            state.last += 1
            state.waiters[state.last] = .announced
            return state.last
        }
        guard let place else { return }
        let timer = Task {
            try? await pause(Self.longestWait)
            goOn(place)
        }
        defer { timer.cancel() }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    guard state.waiters[place] != nil else { return true }
                    state.waiters[place] = .waiting(continuation)
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            goOn(place)
        }
    }

    private func goOn(_ index: Int) {
        if let waiter = state.withLock({ $0.waiters.removeValue(forKey: index) }) { Self.resume(waiter) }
    }

    private static func resume(_ waiter: Waiter) {
        if case .waiting(let continuation) = waiter { continuation.resume() }
    }
}
