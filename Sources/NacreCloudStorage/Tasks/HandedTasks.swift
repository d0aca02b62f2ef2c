package import NacreCloudWire
import NacreLocks

/// The tasks that commits of this process have left to it. The database for which least was done comes next, so that a
/// busy database does not keep another one waiting. Tasks of one database come in the order in which they came due.
///
/// Each task is written as if its process held it already (`TaskRow.init(handingOver:payload:at:)`). No worker looks
/// for it, leases it or reads it back. Its row is there for the process after this one. The next server takes it up
/// when it starts (`Cloud.endLeases`), before what commits leave to it. Where several servers have the store, a
/// neighbour does it when its lease ends. See `docs/decisions/notifications-handed-tasks.md`.
///
/// Memory for tasks is bounded. Beyond the bound, the database that has most gives way. None of its further tasks is
/// remembered until those in the store are found, so that they keep their order.
package final class HandedTasks: Sendable {
    /// The tasks of one database in one lane.
    package struct LineKey: Hashable, Sendable {
        package var lane: TaskLane
        package var database: DatabaseID

        package init(lane: TaskLane, database: DatabaseID) {
            (self.lane, self.database) = (lane, database)
        }

        package init(of task: TaskKey) {
            self.init(lane: task.kind.lane, database: task.database)
        }
    }

    /// The lines with tasks that were not remembered.
    package struct Passed: Equatable, Sendable {
        fileprivate struct Tasks: Equatable, Sendable {
            /// The running number of the last task.
            var last: Int
            /// Whether an earlier process left some, and may have begun them.
            var areLeft: Bool
        }

        fileprivate var tasks: [LineKey: Tasks]

        package var lineKeys: Set<LineKey> { Set(tasks.keys) }
        /// The lines in which an earlier process left tasks, which may be begun.
        package var left: Set<LineKey> { Set(tasks.filter(\.value.areLeft).keys) }
    }

    /// The tasks of one line, the next one first.
    private struct Line {
        var tasks: [TaskRow] = []
        var bytes = 0

        /// Whether the last task can be found again in the store. One that was taken up from there has another lease.
        var canGiveWay: Bool { tasks.last.map { $0.attempts == 1 } ?? false }

        mutating func add(_ task: TaskRow) {
            tasks.insert(task, at: tasks.lastIndex { $0.due <= task.due }.map { $0 + 1 } ?? 0)
            bytes += task.payload.count
        }

        mutating func addFirst(_ task: TaskRow) {
            tasks.insert(task, at: 0)
            bytes += task.payload.count
        }

        mutating func remove(at index: Int) -> TaskRow {
            let task = tasks.remove(at: index)
            bytes -= task.payload.count
            return task
        }
    }

    private struct State {
        /// The tasks in memory; no line is empty.
        var lines: [LineKey: Line] = [:]
        /// The databases that have a line. The first of those for which as much was done is next.
        var turns: [TaskLane: [DatabaseID]] = [:]
        /// The work that was done for a line, counted from that for others when it began.
        var done: [LineKey: Int] = [:]
        /// The work that was done for the line that was next last.
        var level: [TaskLane: Int] = [:]
        var passed: [LineKey: Passed.Tasks] = [:]
        var passedEver = 0
        /// The names of passed tasks, where other processes have tasks in the same lines.
        var names: [LineKey: Set<String>] = [:]
        var namesCount = 0
        var count = 0
        var bytes = 0

        func hasNext(in lane: TaskLane) -> Bool { turns[lane]?.isEmpty == false }

        mutating func add(_ task: TaskRow, isFirst: Bool = false) {
            let place = LineKey(of: task.key)
            if lines[place] == nil {
                turns[place.lane, default: []].append(place.database)
                done[place] = max(done[place] ?? 0, level[place.lane] ?? 0)
            }
            if isFirst { lines[place, default: Line()].addFirst(task) } else { lines[place, default: Line()].add(task) }
            count += 1
            bytes += task.payload.count
        }

        /// - Parameter index: the task's index in the line; nil: the last one.
        mutating func remove(from place: LineKey, at index: Int? = nil) -> TaskRow? {
            guard let last = lines[place]?.tasks.indices.last, let task = lines[place]?.remove(at: index ?? last) else { return nil }
            if lines[place]?.tasks.isEmpty == true {
                lines[place] = nil
                turns[place.lane]?.removeAll { $0 == place.database }
            }
            count -= 1
            bytes -= task.payload.count
            return task
        }

        mutating func next(in lane: TaskLane) -> TaskRow? {
            let ready = (turns[lane] ?? []).map { LineKey(lane: lane, database: $0) }
            guard let place = ready.min(by: { done[$0] ?? 0 < done[$1] ?? 0 }), let task = remove(from: place, at: 0) else { return nil }
            level[lane] = done[place] ?? 0
            charge(place, 1)
            // The database goes behind those for which as much was done.
            if lines[place] != nil {
                turns[lane]?.removeAll { $0 == place.database }
                turns[lane]?.append(place.database)
            }
            return task
        }

        mutating func charge(_ place: LineKey, _ cost: Int) {
            done[place, default: level[place.lane] ?? 0] += cost
            // Lines that are not ahead are as if nothing had been done for them, and are forgotten.
            if done.count > 2 * HandedTasks.placesRemembered {
                done = done.filter { lines[$0.key] != nil || $0.value > level[$0.key.lane] ?? 0 }
                if done.count > HandedTasks.placesRemembered { done = done.filter { lines[$0.key] != nil } }
            }
        }

        mutating func pass(_ place: LineKey, areLeft: Bool = false) {
            passedEver += 1
            passed[place] = Passed.Tasks(last: passedEver, areLeft: areLeft || passed[place]?.areLeft ?? false)
        }

        mutating func remember(_ name: String, in place: LineKey) {
            guard namesCount < HandedTasks.namesRemembered else { return }
            if names[place, default: []].insert(name).inserted { namesCount += 1 }
        }

        mutating func end(_ place: LineKey) {
            passed[place] = nil
            namesCount -= names.removeValue(forKey: place)?.count ?? 0
        }
    }

    /// On this server: lines without tasks whose work is remembered.
    private static let placesRemembered = 5_000
    /// On this server: names of passed tasks that are remembered. Further ones are done when their leases end.
    private static let namesRemembered = 50_000

    private let state = Locked(State())
    private let isAlone: Bool
    private let mostTasks: Int
    private let mostBytes: Int

    /// Sets the bounds. The defaults are, on this server, what a worker does in a few seconds.
    /// - Parameter isAlone: whether no other process has the store.
    package init(isAlone: Bool = true, mostTasks: Int = 5_000, mostBytes: Int = 16_000_000) {
        (self.isAlone, self.mostTasks, self.mostBytes) = (isAlone, mostTasks, mostBytes)
    }

    /// Takes over the tasks that a commit has left to this process.
    /// - Returns: for each kind, the time when the earliest of all these tasks is to be done.
    package func take(over tasks: [TaskRow]) -> [TaskKind: Timestamp] {
        if !tasks.contains(where: \.isHandedOver) { return [TaskKind: Timestamp](tasks) }
        var due = tasks
        for index in tasks.indices where tasks[index].isHandedOver {
            due[index].due = tasks[index].due + -Limits.taskLeaseSeconds
            add(tasks[index].kept)
        }
        return [TaskKind: Timestamp](due)
    }

    private func add(_ task: TaskRow) {
        let place = LineKey(of: task.key)
        state.withLock { state in
            while state.passed[place] == nil {
                let isLong = state.count >= mostTasks
                if !isLong, state.bytes + task.payload.count <= mostBytes { return state.add(task) }
                let size = { (line: Line?) in isLong ? line?.tasks.count ?? 0 : line?.bytes ?? 0 }
                let own = size(state.lines[place]) + (isLong ? 1 : task.payload.count)
                let most = state.lines.filter(\.value.canGiveWay).max { size($0.value) < size($1.value) }
                guard let most, size(most.value) > own else { break }
                let last = state.remove(from: most.key)
                state.pass(most.key)
                if !isAlone, let last { state.remember(last.key.name, in: most.key) }
            }
            state.pass(place)
            if !isAlone { state.remember(task.key.name, in: place) }
        }
    }

    /// Whether a task that was leased for the first time, of a line with tasks that were not remembered, was handed to
    /// this process. A living neighbour has the others.
    package func isOwn(_ task: TaskKey) -> Bool {
        isAlone || state.withLock { $0.names[LineKey(of: task)]?.contains(task.name) ?? false }
    }

    /// Remembers where an earlier process left tasks: they are found in the store, before what comes there from now on.
    package func leave(at lineKeys: Set<LineKey>) {
        state.withLock { state in
            for key in lineKeys { state.pass(key, areLeft: true) }
        }
    }

    /// Adds tasks of one line that found no room when they came. There is no bound: the caller brings few at a time.
    package func takeUp(_ tasks: [TaskRow]) {
        state.withLock { state in
            for task in tasks { state.add(task) }
        }
    }

    /// Takes the next task of these lanes; nil: there is none.
    package func next(in lanes: [TaskLane]) -> TaskRow? {
        state.withLock { state in
            for lane in lanes {
                if let task = state.next(in: lane) { return task }
            }
            return nil
        }
    }

    /// Puts a task that has got on, and is not done, before the others of its database.
    package func goOn(_ task: TaskRow) {
        state.withLock { $0.add(task, isFirst: true) }
    }

    /// Counts work that was done for a line: one for a task or a notification, and the cost of finding subscriptions.
    package func charge(_ place: LineKey, _ cost: Int) {
        state.withLock { $0.charge(place, cost) }
    }

    /// Whether tasks of another database wait in a lane.
    package func hasNext(in lane: TaskLane, besides database: DatabaseID) -> Bool {
        state.withLock { $0.turns[lane]?.contains { $0 != database } ?? false }
    }

    package func hasNext(in lane: TaskLane) -> Bool {
        state.withLock { $0.hasNext(in: lane) }
    }

    /// Returns the lines of these lanes with tasks in the store that were not remembered, and none in memory before
    /// them. nil: there are none, or there is no room for any yet.
    package func passed(in lanes: [TaskLane]) -> Passed? {
        state.withLock { state in
            if state.bytes >= mostBytes, lanes.contains(where: { state.hasNext(in: $0) }) { return nil }
            let open = state.passed.filter { lanes.contains($0.key.lane) && state.lines[$0.key] == nil }
            return open.isEmpty ? nil : Passed(tasks: open)
        }
    }

    /// Whether a task waits for its turn, and is not to be taken before: in memory, or in the store with its line.
    package func has(_ task: TaskKey) -> Bool {
        let place = LineKey(of: task)
        return state.withLock { state in
            state.passed[place] != nil || state.lines[place]?.tasks.contains { $0.key == task } ?? false
        }
    }

    /// Notes that the store has no more tasks of these lines.
    /// - Parameter left: lines that may still have some.
    package func found(_ passed: Passed, but left: Set<LineKey> = []) {
        state.withLock { state in
            // If the number is another by now, more tasks have come.
            for (place, tasks) in passed.tasks where !left.contains(place) && state.passed[place] == tasks { state.end(place) }
        }
    }

    /// Whether at least so many tasks of a line wait, or so many bytes of them, or some that are not remembered.
    package func isBacklog(at place: LineKey, tasks: Int, bytes: Int) -> Bool {
        state.withLock { state in
            state.passed[place] != nil || state.lines[place].map { $0.tasks.count >= tasks || $0.bytes >= bytes } ?? false
        }
    }

    /// Forgets all tasks and counts.
    package func removeAll() {
        state.withLock { $0 = State() }
    }
}

extension TaskRow {
    /// Makes a task for the process whose commit leaves it. The process does it at once, and holds it from then on.
    package init(handingOver key: TaskKey, payload: [UInt8], at now: Timestamp) {
        self.init(key: key, payload: payload, due: now + Limits.taskLeaseSeconds, attempts: 1)
        isHandedOver = true
    }
}
