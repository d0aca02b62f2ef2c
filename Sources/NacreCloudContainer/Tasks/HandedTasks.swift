import NacreCloudWire
import NacreLocks

/// Tasks that commits of this process have left to it. Databases take turns, so that who saves much in one has nobody wait who saves in another; those of one
/// database come in the order in which they came due.
///
/// Such a task is written as one that its process holds already (`TaskRow.init(handingOver:payload:at:)`), so that nobody looks for it, leases it or reads it
/// back. Its row is there for who comes after the process: it is due when its lease ends, or when the next server starts (`Cloud.endLeases`).
/// See `docs/decisions/a-commit-hands-its-task-over.md`.
///
/// Only so many are remembered. Where there are more, no further one of their lane is until those are found in the store, so that they keep their order.
final class HandedTasks: Sendable {
    /// How many tasks of each lane were not remembered, ever.
    struct Passed: Equatable, Sendable {
        fileprivate var counts: [TaskLane: Int]
    }

    private struct Line {
        private var waiting: [DatabaseID: [TaskRow]] = [:]
        /// Those that have some, the next one first.
        private var turns: [DatabaseID] = []
        var passed = 0
        /// Up to which number those that were not remembered have been found.
        var found = 0

        var isEmpty: Bool { turns.isEmpty }

        mutating func add(_ task: TaskRow) {
            let database = task.key.database
            var others = waiting.removeValue(forKey: database) ?? []
            if others.isEmpty { turns.append(database) }
            let place = others.lastIndex { $0.due <= task.due }.map { $0 + 1 } ?? 0
            others.insert(task, at: place)
            waiting[database] = others
        }

        mutating func next() -> TaskRow? {
            guard let database = turns.first, let task = waiting[database]?.removeFirst() else { return nil }
            turns.removeFirst()
            if waiting[database]?.isEmpty == false { turns.append(database) } else { waiting[database] = nil }
            return task
        }
    }

    private struct State {
        var lines: [TaskLane: Line] = [:]
        var count = 0
        var bytes = 0

        func hasNext(in lane: TaskLane) -> Bool { lines[lane]?.isEmpty == false }

        mutating func add(_ task: TaskRow) {
            lines[task.key.kind.lane, default: Line()].add(task)
            count += 1
            bytes += task.payload.count
        }
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

    /// Takes tasks that found no room when they came, behind those that wait, whatever room there is: the caller brings few at a time.
    func takeUp(_ tasks: [TaskRow]) {
        state.withLock { state in
            for task in tasks { state.add(task) }
        }
    }

    private func add(_ task: TaskRow) {
        let lane = task.key.kind.lane
        state.withLock { state in
            let isBehind = state.lines[lane].map { $0.found < $0.passed } ?? false
            if isBehind || state.count >= mostTasks || state.bytes + task.payload.count > mostBytes {
                state.lines[lane, default: Line()].passed += 1
            } else {
                state.add(task)
            }
        }
    }

    /// Takes the next one of these lanes; nil: there is none.
    func next(in lanes: [TaskLane]) -> TaskRow? {
        state.withLock { state in
            guard let lane = lanes.first(where: { state.hasNext(in: $0) }), let task = state.lines[lane]?.next() else { return nil }
            state.count -= 1
            state.bytes -= task.payload.count
            return task
        }
    }

    func hasNext(in lane: TaskLane) -> Bool {
        state.withLock { $0.hasNext(in: lane) }
    }

    /// Some of these lanes were not remembered and are to be found in the store; nil: none is.
    func passed(in lanes: [TaskLane]) -> Passed? {
        state.withLock { state in
            let open = state.lines.filter { lanes.contains($0.key) && $0.value.found < $0.value.passed }
            return open.isEmpty ? nil : Passed(counts: open.mapValues(\.passed))
        }
    }

    /// Those that were not remembered up to then have been found.
    func found(_ passed: Passed) {
        state.withLock { state in
            for (lane, count) in passed.counts {
                guard let found = state.lines[lane]?.found else { continue }
                state.lines[lane]?.found = max(found, count)
            }
        }
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
