import NacreLocks
import NacreRandom

/// What those who take part in a round tell each other: the newest version that anybody heard of in each slot, and when it is over.
final class Board: Sendable {
    /// Records at a time: few enough that writers meet, enough that most batches get through.
    static let slots = 48
    /// Entries of one round's history: about 100 MB with what the judge needs.
    private static let entriesMax = 600_000

    struct Slot: Sendable {
        var record: RecordKey
        /// nil: nobody has heard of a record in it.
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

    /// Writers start nothing more.
    var isOver: Bool { state.withLock { $0.isOver } }
    /// Nothing changes any more: followers catch up once more and stop.
    var writersAreDone: Bool { state.withLock { $0.writersAreDone } }
    /// The server has ended four times as often as the round is to see. From then on it stays up: where the machine is slow, or the judge has to allow for
    /// each end, what else the round is to see would never be reached.
    var hasDiedEnough: Bool { state.withLock { state in goal.map { state.done.restarts >= 4 * $0.restarts } ?? false } }
    /// Of the server, so far.
    var restarts: Int { state.withLock { $0.done.restarts } }
    /// Every name that anybody may have saved a record under.
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

    /// Counts what was written down; where there is no room for more, the round is over.
    func add(entries: Int) {
        state.withLock { state in
            state.entries += entries
            if state.entries > Self.entriesMax { state.isOver = true }
        }
    }

    /// Counts what was done; where that is all that was to be done, the round is over.
    func did(_ work: (inout TortureGoal) -> Void) {
        state.withLock { state in
            work(&state.done)
            if let goal, state.done.reaches(goal) { state.isOver = true }
        }
    }

    /// Different slots, at random.
    func pick(_ count: Int, using random: inout SeededRandom) -> [Slot] {
        var places: Set<Int> = []
        while places.count < count { places.insert(Int(random.next() % UInt64(Self.slots))) }
        let chosen = places.sorted()
        return state.withLock { state in chosen.map { state.slots[$0] } }
    }

    /// Somebody heard of a version. It may be an old one: then the next batch that builds on it is refused, and hears of the newest.
    func learn(_ record: RecordKey, _ newest: Newest) {
        guard record.slot < Self.slots else { return }
        state.withLock { state in
            guard state.slots[record.slot].record == record else { return }
            state.slots[record.slot].newest = newest
        }
    }

    /// The record is deleted: the slot goes on with its next one.
    func bury(_ record: RecordKey) {
        guard record.slot < Self.slots, let next = record.successor else { return }
        state.withLock { state in
            guard state.slots[record.slot].record == record else { return }
            state.slots[record.slot] = Slot(record: next)
        }
    }
}
