import NacreLocks

/// Has work of the quality `background` stand back while other requests of its container are under way.
///
/// CloudKit: such work is discretionary, and the system does it when it suits. Between two requests of others, one of it may go; a request that has begun is
/// not held up.
final class Discretion: Sendable {
    /// Seconds for which a request stands back at most. Ours: an app that always works must not keep it from ever being done.
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

    /// How many stand back now.
    var waiting: Int { state.withLock { $0.waiters.count } }

    /// Counts as work for which others stand back, unless it is discretionary itself.
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

    /// Returns when nobody else works, after `longestWait`, or when the task is cancelled.
    /// - Parameter pause: waits that many seconds.
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

    private func goOn(_ place: Int) {
        if let waiter = state.withLock({ $0.waiters.removeValue(forKey: place) }) { Self.resume(waiter) }
    }

    private static func resume(_ waiter: Waiter) {
        if case .waiting(let continuation) = waiter { continuation.resume() }
    }
}
