import NacreLocks
import NacreRandom

/// The shared state of a round: the newest version of each slot that any client knows, and whether the round is over.
final class Board: Sendable {
    /// Records at a time: few enough that writers conflict, enough that most batches succeed.
    static let slots = 48
    /// Entries of one round's history: about 100 MB with the memory of its check.
    private static let entriesMax = 600_000

    struct Slot: Sendable {
        var record: RecordKey
        /// nil: no client knows a record in it.
        var newest: Newest?
    }

    struct Newest: Sendable {
        var version: Version
        var tag: String
    }

    private struct State {
        var slots: [Slot]
        var entries = 0
        var done = TortureGoal(batches: 0, familySteps: 0)
        var isOver = false
        var writersAreDone = false
    }

    private let state: Locked<State>
    private let goal: TortureGoal?

    init(goal: TortureGoal? = nil) {
        self.goal = goal
        state = Locked(State(slots: (0..<Self.slots).map { Slot(record: RecordKey(slot: $0)) }))
    }

    /// Whether writers start nothing more.
    var isOver: Bool { state.withLock { $0.isOver } }
    /// Whether nothing changes any more: followers catch up once more and stop.
    var writersAreDone: Bool { state.withLock { $0.writersAreDone } }
    /// Whether the server was restarted four times as often as the goal asks. From then on it stays up: on a slow
    /// machine, or where the judge allows for each restart, the rest of the goal would never be reached.
    var hasDiedEnough: Bool { state.withLock { state in goal.map { state.done.restarts >= 4 * $0.restarts } ?? false } }
    /// Restarts of the server so far.
    var restarts: Int { state.withLock { $0.done.restarts } }
    /// Every name under which a record may have been saved.
    var records: [RecordKey] {
        let slots = state.withLock { $0.slots }
        return slots.flatMap { slot in (0...slot.record.generation).map { RecordKey(slot: slot.record.slot, generation: $0) } }
    }

    func end() {
        state.withLock { $0.isOver = true }
    }

    func endOfWriting() {
        state.withLock { $0.writersAreDone = true }
    }

    /// Counts entries of the history; without room for more, the round is over.
    func add(entries: Int) {
        state.withLock { state in
            state.entries += entries
            if state.entries > Self.entriesMax { state.isOver = true }
        }
    }

    /// Counts finished work; once the goal is reached, the round is over.
    func did(_ work: (inout TortureGoal) -> Void) {
        state.withLock { state in
            work(&state.done)
            if let goal, state.done.reaches(goal) { state.isOver = true }
        }
    }

    /// Picks different slots at random.
    func pick(_ count: Int, using random: inout SeededRandom) -> [Slot] {
        var places: Set<Int> = []
        while places.count < count { places.insert(Int(random.next() % UInt64(Self.slots))) }
        let chosen = places.sorted()
        return state.withLock { state in chosen.map { state.slots[$0] } }
    }

    /// Notes a version. If it is old, the next batch that builds on it is refused, and learns the newest.
    func learn(_ record: RecordKey, _ newest: Newest) {
        guard record.slot < Self.slots else { return }
        state.withLock { state in
            guard state.slots[record.slot].record == record else { return }
            state.slots[record.slot].newest = newest
        }
    }

    /// Notes that a record is deleted: the slot goes on with its next one.
    func bury(_ record: RecordKey) {
        guard record.slot < Self.slots, let next = record.successor else { return }
        state.withLock { state in
            guard state.slots[record.slot].record == record else { return }
            state.slots[record.slot] = Slot(record: next)
        }
    }
}
