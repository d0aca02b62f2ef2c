import NacreCloudTestSupport
import NacreLocks

/// The record in the test's own process, which survives the server: each batch with its answer, each page, each
/// lookup.
final class OutsideLog: Sendable {
    private struct State {
        var tick = 0
        var histories: [String: ZoneNotes]
        /// Batches that were sent, for readers that look them up while they are in progress.
        var sent: [(zone: String, batch: ZoneNotes.Batch)] = []
        var acknowledged = 0
        var isClosed = false
        var waiting: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let state: Locked<State>

    init(zones: [String]) {
        state = Locked(State(histories: Dictionary(uniqueKeysWithValues: zones.map { ($0, ZoneNotes(zone: $0)) })))
    }

    /// Returns the next tick of the clock that all batches share.
    func tick() -> Int {
        state.withLock { state in
            state.tick += 1
            return state.tick
        }
    }

    /// Notes a batch before it is sent for the first time.
    func begin(_ batch: ZoneNotes.Batch, in zone: String) {
        state.withLock { $0.sent.append((zone, batch)) }
    }

    /// Notes that a batch is answered.
    func end(_ batch: ZoneNotes.Batch, in zone: String) {
        let woken = state.withLock { state -> [CheckedContinuation<Void, Never>] in
            state.histories[zone]?.batches.append(batch)
            state.acknowledged += 1
            let woken = state.waiting.filter { $0.count <= state.acknowledged }
            state.waiting.removeAll { $0.count <= state.acknowledged }
            return woken.map(\.continuation)
        }
        for continuation in woken { continuation.resume() }
    }

    var acknowledged: Int { state.withLock { $0.acknowledged } }

    /// Waits until so many batches are answered, or no more will be.
    func acknowledged(_ count: Int) async {
        await withCheckedContinuation { continuation in
            let isDone = state.withLock { state in
                let isDone = state.isClosed || state.acknowledged >= count
                if !isDone { state.waiting.append((count, continuation)) }
                return isDone
            }
            if isDone { continuation.resume() }
        }
    }

    var isClosed: Bool { state.withLock { $0.isClosed } }

    /// Notes that all writers are done.
    func close() {
        let woken = state.withLock { state in
            state.isClosed = true
            defer { state.waiting = [] }
            return state.waiting.map(\.continuation)
        }
        for continuation in woken { continuation.resume() }
    }

    /// Returns one of the latest batches, answered or not.
    func recent(_ seed: inout SeededRandom) -> (zone: String, batch: ZoneNotes.Batch)? {
        state.withLock { $0.sent.suffix(12) }.randomElement(using: &seed)
    }

    func add(_ look: ZoneNotes.Look, in zone: String) {
        state.withLock { $0.histories[zone]?.looks.append(look) }
    }

    func add(_ reading: [ZoneNotes.Page], in zone: String) {
        state.withLock { $0.histories[zone]?.readings.append(reading) }
    }

    func history(of zone: String) -> ZoneNotes {
        state.withLock { $0.histories[zone] ?? ZoneNotes(zone: zone) }
    }
}
