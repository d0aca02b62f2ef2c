import NacreCloudWire
import NacreLocks

/// The clock of one cloud, for its server and its devices. It stands still until it is advanced.
final class TestClock: Sendable {
    private struct Sleeper {
        var until: Double
        /// The length of the framework's pause in seconds; nil if the server waits.
        var pause: Double?
        var continuation: CheckedContinuation<Bool, Never>
    }

    private struct State {
        var elapsed = 0.0
        var nextID = 0
        var sleepers: [Int: Sleeper] = [:]
        /// The IDs of sleepers that were cancelled before they slept.
        var cancelled: Set<Int> = []
        var isEnded = false
        /// The tasks that wait for the framework to pause.
        var watchers: [CheckedContinuation<Double?, Never>] = []
    }

    /// The time at which every clock starts: 2026-01-01T00:00:00Z.
    static let start = Timestamp(secondsSince2001: 788_918_400)

    private let state = Locked(State())
    /// Whether a pause of the framework moves the clock by its length at once, instead of waiting.
    private let isAutomatic: Bool

    init(isAutomatic: Bool) {
        self.isAutomatic = isAutomatic
    }

    /// Seconds since the cloud began.
    var elapsed: Double { state.withLock(\.elapsed) }
    var now: Timestamp { Self.start + elapsed }
    var isEnded: Bool { state.withLock(\.isEnded) }

    func advance(by seconds: Double) {
        let woken = state.withLock { state in
            state.elapsed += max(seconds, 0)
            let due = state.sleepers.filter { $0.value.until <= state.elapsed }
            for id in due.keys { state.sleepers[id] = nil }
            return due.values.sorted { $0.until < $1.until }
        }
        for sleeper in woken { sleeper.continuation.resume(returning: true) }
    }

    /// Waits for the server, until the clock has moved by that many seconds.
    func sleep(_ seconds: Double) async throws {
        try await sleep(seconds, pause: nil)
    }

    /// Pauses for the framework before it tries again.
    func pause(_ seconds: Double) async throws {
        guard isAutomatic else { return try await sleep(seconds, pause: seconds) }
        if isEnded { throw CancellationError() }
        try Task.checkCancellation()
        advance(by: seconds)
        await Task.yield()
    }

    /// Waits until the framework pauses, and returns the seconds left of its shortest pause. Returns nil if the cloud
    /// has ended or the clock is automatic.
    func nextPause() async -> Double? {
        if isAutomatic { return nil }
        return await withCheckedContinuation { continuation in
            let (isThere, pause) = state.withLock { state -> (Bool, Double?) in
                let pauses = state.sleepers.values.filter { $0.pause != nil }.map { $0.until - state.elapsed }
                if let first = pauses.min() { return (true, first) }
                if state.isEnded { return (true, nil) }
                state.watchers.append(continuation)
                return (false, nil)
            }
            if isThere { continuation.resume(returning: pause) }
        }
    }

    /// Ends all waiting: pauses end as if their tasks were cancelled.
    func end() {
        let (sleepers, watchers) = state.withLock { state in
            defer { (state.sleepers, state.watchers, state.isEnded) = ([:], [], true) }
            return (Array(state.sleepers.values), state.watchers)
        }
        for sleeper in sleepers { sleeper.continuation.resume(returning: false) }
        for watcher in watchers { watcher.resume(returning: nil) }
    }

    private func sleep(_ seconds: Double, pause: Double?) async throws {
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        let wasAwoken = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let (answer, watchers) = state.withLock { state -> (Bool?, [CheckedContinuation<Double?, Never>]) in
                    if state.cancelled.remove(id) != nil || state.isEnded { return (false, []) }
                    if seconds <= 0 { return (true, []) }
                    state.sleepers[id] = Sleeper(until: state.elapsed + seconds, pause: pause, continuation: continuation)
                    guard pause != nil else { return (nil, []) }
                    defer { state.watchers = [] }
                    return (nil, state.watchers)
                }
                if let answer { continuation.resume(returning: answer) }
                for watcher in watchers { watcher.resume(returning: seconds) }
            }
        } onCancel: {
            let sleeper = state.withLock { state -> Sleeper? in
                guard let sleeper = state.sleepers.removeValue(forKey: id) else {
                    state.cancelled.insert(id)
                    return nil
                }
                return sleeper
            }
            sleeper?.continuation.resume(returning: false)
        }
        // A task that was cancelled after it was woken left its ID in `cancelled`.
        state.withLock { _ = $0.cancelled.remove(id) }
        if !wasAwoken { throw CancellationError() }
    }
}
