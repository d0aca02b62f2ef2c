import NacreCloudServer
import NacreCloudWire
import NacreLocks

/// A clock that a test moves. A sleep ends when the clock has been moved far enough, or when its task is cancelled.
final class TestClock: Sendable {
    private struct Sleeper {
        var began = 0.0
        var deadline = 0.0
        var continuation: CheckedContinuation<Void, any Error>
    }

    private struct State {
        /// Seconds since 2001: a morning in 2026.
        var now: Double = 800_000_000
        var sleepers: [Int: Sleeper] = [:]
        var cancelled: Set<Int> = []
        var next = 0
        /// The number of sleeps so far.
        var begun = 0
        /// Tasks that wait for a condition on the sleepers.
        var watchers: [(isReached: @Sendable (State) -> Bool, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let state = Locked(State())

    var now: Timestamp { Timestamp(secondsSince2001: state.withLock { $0.now }) }

    var serverClock: ServerClock {
        ServerClock(now: { self.now }, sleep: { try await self.sleep($0) })
    }

    func advance(_ seconds: Double) {
        let woken = state.withLock { state in
            state.now += seconds
            let due = state.sleepers.filter { $0.value.deadline <= state.now }
            for id in due.keys { state.sleepers[id] = nil }
            return due.values.map(\.continuation)
        }
        for continuation in woken { continuation.resume() }
    }

    /// Returns once there have been that many sleeps since the clock was made.
    func sleeps(_ count: Int) async {
        await reaches { $0.begun >= count }
    }

    /// Returns once a task sleeps from now for so many seconds. The rest of a longer sleep does not count.
    func sleeps(for seconds: Double) async {
        await reaches { state in state.sleepers.values.contains { $0.began == state.now && $0.deadline == state.now + seconds } }
    }

    private func reaches(_ isReached: @escaping @Sendable (State) -> Bool) async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                if isReached(state) { return true }
                state.watchers.append((isReached, continuation))
                return false
            }
            if isThere { continuation.resume() }
        }
    }

    /// The number of current sleepers.
    var sleeperCount: Int { state.withLock { $0.sleepers.count } }

    private func sleep(_ duration: Duration) async throws {
        let seconds = Double(duration.components.seconds) + Double(duration.components.attoseconds) / 1e18
        let id = state.withLock { state in
            state.next += 1
            return state.next
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { put(Sleeper(continuation: $0), id, seconds) }
        } onCancel: {
            cancel(id)
        }
    }

    private func put(_ sleeper: Sleeper, _ id: Int, _ seconds: Double) {
        var sleeper = sleeper
        let (isCancelled, reached) = state.withLock { state in
            state.begun += 1
            let isCancelled = state.cancelled.remove(id) != nil
            if !isCancelled {
                (sleeper.began, sleeper.deadline) = (state.now, state.now + seconds)
                state.sleepers[id] = sleeper
            }
            let known = state
            let reached = state.watchers.filter { $0.isReached(known) }.map(\.continuation)
            state.watchers.removeAll { $0.isReached(known) }
            return (isCancelled, reached)
        }
        for continuation in reached { continuation.resume() }
        if isCancelled { sleeper.continuation.resume(throwing: CancellationError()) }
    }

    private func cancel(_ id: Int) {
        let sleeper = state.withLock { state in
            if let sleeper = state.sleepers.removeValue(forKey: id) { return Optional(sleeper) }
            state.cancelled.insert(id)
            return nil
        }
        sleeper?.continuation.resume(throwing: CancellationError())
    }
}
