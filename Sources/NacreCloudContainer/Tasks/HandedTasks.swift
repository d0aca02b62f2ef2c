import NacreCloudWire
import NacreLocks

/// Tasks that commits of this process have left to it, in the order in which they came due.
///
/// Such a task is written as one that its process holds already (`TaskRow.init(handingOver:payload:at:)`), so that nobody looks for it, leases it or reads it
/// back. Its row is there for who comes after the process: it is due when its lease ends, or when the next server starts (`Cloud.endLeases`).
/// See `docs/decisions/a-commit-hands-its-task-over.md`.
///
/// Only so many are remembered. Where there are more, no further one is until those are found in the store, so that they keep their order.
final class HandedTasks: Sendable {
    /// How many tasks were not remembered, ever.
    struct Passed: Equatable, Sendable {
        fileprivate var count: Int
    }

    private struct State {
        var waiting: [TaskLane: [TaskRow]] = [:]
        var count = 0
        var bytes = 0
        var passed = 0
        /// Up to which number those that were not remembered have been found.
        var found = 0
    }

    private let state = Locked(State())
    private let mostTasks: Int
    private let mostBytes: Int

    /// By default, on this server: what a worker does in a few seconds.
    init(mostTasks: Int = 5_000, mostBytes: Int = 16_000_000) {
        (self.mostTasks, self.mostBytes) = (mostTasks, mostBytes)
    }

    /// Takes those over that a commit has left to this process.
    /// - Returns: when the earliest of each kind is to be done, of all that it left.
    func take(over tasks: [TaskRow]) -> [TaskKind: Timestamp] {
        if !tasks.contains(where: \.isHandedOver) { return [TaskKind: Timestamp](tasks) }
        var due = tasks
        for place in tasks.indices where tasks[place].isHandedOver {
            due[place].due = tasks[place].due + -Limits.taskLeaseSeconds
            add(tasks[place].kept)
        }
        return [TaskKind: Timestamp](due)
    }

    private func add(_ task: TaskRow) {
        state.withLock { state in
            guard state.found == state.passed, state.count < mostTasks, state.bytes + task.payload.count <= mostBytes else {
                state.passed += 1
                return
            }
            let lane = task.key.kind.lane
            let place = state.waiting[lane]?.lastIndex { $0.due <= task.due }.map { $0 + 1 } ?? 0
            state.waiting[lane, default: []].insert(task, at: place)
            state.count += 1
            state.bytes += task.payload.count
        }
    }

    /// Takes the next one of these lanes; nil: there is none.
    func next(in lanes: [TaskLane]) -> TaskRow? {
        state.withLock { state in
            guard let lane = lanes.first(where: { state.waiting[$0]?.isEmpty == false }), let task = state.waiting[lane]?.removeFirst() else {
                return nil
            }
            state.count -= 1
            state.bytes -= task.payload.count
            return task
        }
    }

    func hasNext(in lane: TaskLane) -> Bool {
        state.withLock { $0.waiting[lane]?.isEmpty == false }
    }

    /// Some were not remembered and are to be found in the store; nil: none is.
    var passed: Passed? {
        state.withLock { $0.found == $0.passed ? nil : Passed(count: $0.passed) }
    }

    /// Those that were not remembered up to then have been found.
    func found(_ passed: Passed) {
        state.withLock { $0.found = max($0.found, passed.count) }
    }

    /// Forgets all.
    func removeAll() {
        state.withLock { $0 = State() }
    }
}

extension TaskRow {
    /// A task that the process whose commit leaves it does at once, and holds from then on.
    init(handingOver key: TaskKey, payload: [UInt8], at now: Timestamp) {
        self.init(key: key, payload: payload, due: now + Limits.taskLeaseSeconds, attempts: 1)
        isHandedOver = true
    }
}
