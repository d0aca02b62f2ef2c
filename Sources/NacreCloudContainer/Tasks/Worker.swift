package import NacreCloudWire

/// What a worker did.
package struct TaskTurns: Sendable {
    /// Turns of tasks that it began.
    package var taken = 0
    package var failures: [TaskFailure] = []
    /// There may be others to be done at once.
    package fileprivate(set) var areMore = false
    /// When the next one is due of those that are not due yet, as far as was looked.
    package fileprivate(set) var next: Timestamp?

    package var failed: Int { failures.count }

    fileprivate mutating func add(_ other: TaskTurns) {
        taken += other.taken
        failures += other.failures
    }
}

extension Cloud {
    /// Takes due tasks of these lanes from the outbox, oldest first, and gives each a turn: one after the other, or of a lane that is wide so many at a time.
    /// The caller asks again while there may be more.
    ///
    /// What commits of this process have handed over comes first (`HandedTasks`), and is told together (`ToldTogether`). Due tasks are found without naming a
    /// database; each is then leased in a transaction of its database, for `Limits.taskLeaseSeconds`, and done in transactions of its own, of which the last one finishes it. One whose
    /// process dies comes back when the next server starts (`endLeases`), or when its lease ends. A turn is one chunk when others of the lane are due, and as
    /// many as there are when none is; a long turn renews its lease.
    ///
    /// A task that fails comes back after a pause that grows with its attempts, and is parked in the end (`TaskFailure`).
    ///
    /// Once the calling task is cancelled no further chunk begins. That is not a failure: what is not finished is due at once.
    ///
    /// - Parameter last: up to when it looks for the next one that is not due yet.
    /// - Throws: the store's error where it cannot be asked for tasks, or cannot lease one.
    package func runDueTasks(
        in lanes: [TaskLane] = TaskLane.allCases, limit: Int = 16, lookingThrough last: Timestamp? = nil
    ) async throws -> TaskTurns {
        let kinds = lanes.reduce(into: Set<TaskKind>()) { $0.formUnion($1.kinds) }
        if let passed = handed.passed(in: lanes) { try await takeUp(passed, of: kinds.filter(\.isHandedOver)) }
        var turns = await takeHandedTurns(in: lanes, limit: limit)
        let handedTaken = turns.taken
        let hasMore = lanes.contains { handed.hasNext(in: $0) }
        let now = clock()
        let width = lanes.map(\.width).min() ?? 1
        // One, where others wait in memory, whose turn it is then.
        let most = (hasMore ? 1 : min(limit, Self.leasedTogether)) * width
        let found = try await tasks(of: kinds, dueThrough: last.map { max($0, now) } ?? now, limit: most)
        let due = found.prefix { $0.due <= now }
        turns.next = found.dropFirst(due.count).first?.due
        turns.add(try await takeTurns(at: due.map(\.key), width: width))
        let areHanded = lanes.contains { handed.hasNext(in: $0) } || handed.passed(in: lanes) != nil
        turns.areMore = handedTaken == limit || turns.taken > handedTaken || areHanded
        return turns
    }

    /// Tasks that are due, but for those that come in their turn (`HandedTasks.has`).
    private func tasks(of kinds: Set<TaskKind>, dueThrough last: Timestamp, limit: Int) async throws -> [TaskDue] {
        var looked = limit
        while true {
            let most = looked
            let found = try await store.read { try $0.tasks(of: kinds, dueThrough: last, limit: most) }
            let free = found.filter { !$0.key.kind.isHandedOver || !handed.has($0.key) }
            if free.count >= limit || found.count < most { return Array(free.prefix(limit)) }
            looked *= 4
        }
    }

    /// On this server: tasks that are found and leased before it is looked again what commits have handed over.
    private static let leasedTogether = 8

    /// On this server: words after which no further task is looked at before they are told, and what it may cost to find them, in the unit of `WorkMeter`.
    /// Whose turn comes next waits for as much.
    private static let (wordsTogether, costTogether) = (100, 400)

    /// Turns of tasks that are held since their commits. What they tell is told together, after the last one, and their rows go together.
    private func takeHandedTurns(in lanes: [TaskLane], limit: Int) async -> TaskTurns {
        var turns = TaskTurns()
        let together = ToldTogether()
        while turns.taken < limit, together.words < Self.wordsTogether, together.cost < Self.costTogether, !Task.isCancelled,
            let task = handed.next(in: lanes)
        {
            turns.add(await turn(ofHanded: task, together))
        }
        await Turn.doneAgain { await together.tell(self) }
        for (task, cause) in together.failed { if let failure = await layDown(task, cause) { turns.failures.append(failure) } }
        await withTaskGroup(of: [TaskFailure].self) { group in
            for tasks in Dictionary(grouping: together.told, by: \.key.database).values { group.addTask { await self.end(tasks) } }
            for await failures in group { turns.failures += failures }
        }
        return turns
    }

    /// Ends tasks of one database that are done. One that somebody else has by now stays.
    private func end(_ tasks: [TaskRow]) async -> [TaskFailure] {
        do {
            try await Turn.doneAgain {
                try await store.write { transaction in
                    let held = Set(try transaction.tasks(locking: tasks.map(\.key)).map { TaskDue($0.key, due: $0.due) })
                    var plan = WritePlan()
                    plan.tasksFinished = tasks.filter { held.contains(TaskDue($0.key, due: $0.due)) }.map(\.key)
                    try transaction.apply(plan)
                    return .commit(())
                }
            }
            return []
        } catch {
            var failures: [TaskFailure] = []
            for task in tasks { failures.append(await fail(task, error)) }
            return failures
        }
    }

    /// On this server: tasks that are taken up together, in a transaction of each of their databases, and bytes of them, but for the last one.
    private static let (takenUpTogether, bytesTakenUpTogether) = (100, 4_000_000)

    /// Takes some of those into memory that found no room there, or that a process before this one left: those of one database in their order, and of each
    /// database some. One that failed, or at which processes died, is left until it is due.
    private func takeUp(_ passed: HandedTasks.Passed, of kinds: Set<TaskKind>) async throws {
        let lease = clock() + Limits.taskLeaseSeconds
        let places = passed.places
        let share = max(1, Self.takenUpTogether / places.count)
        var limit = Self.takenUpTogether
        while true {
            let most = limit
            let found = try await store.read { try $0.tasks(of: kinds, dueThrough: lease, limit: most).map(\.key) }
            var left = found.count < most ? [] : places
            var bytes = 0
            for (place, keys) in Dictionary(grouping: found, by: HandedTasks.Place.init) where places.contains(place) {
                guard bytes < Self.bytesTakenUpTogether else {
                    left.insert(place)
                    continue
                }
                let room = Self.bytesTakenUpTogether - bytes
                let (rows, isWhole) = try await hold(keys, until: lease, areNew: !passed.left.contains(place), most: share, bytes: room)
                handed.takeUp(rows)
                bytes += rows.reduce(0) { $0 + 1 + $1.payload.count }
                if !isWhole { left.insert(place) }
            }
            if bytes > 0 || found.count < most { return handed.found(passed, but: left) }
            limit *= 2
        }
    }

    /// Takes tasks of one database: those that are leased for the first time, which this process holds as it is or from now on, and those that are due.
    /// - Parameter areNew: those leased for the first time are this process's own, and nobody has begun them.
    /// - Returns: the first ones, and whether they are all that there are of these.
    private func hold(
        _ keys: [TaskKey], until lease: Timestamp, areNew: Bool, most: Int, bytes: Int
    ) async throws -> (rows: [TaskRow], isWhole: Bool) {
        try await Turn.doneAgain {
            let now = clock()
            return try await store.write { transaction -> Ending<(rows: [TaskRow], isWhole: Bool)> in
                var (rows, plan, room, rest) = ([TaskRow](), WritePlan(), bytes, keys[...])
                while room > 0, rows.count < most, let key = rest.popFirst() {
                    guard var task = try transaction.tasks(locking: [key]).first, task.attempts == 1 || task.due <= now else { continue }
                    room -= task.payload.count
                    // Behind one with a new lease the others have one as well, a microsecond later each, and keep their order.
                    if !areNew || task.due <= now || !plan.tasks.isEmpty {
                        task.due = lease + Double(plan.tasks.count - Self.takenUpTogether) / 1e6
                        task.attempts = max(task.attempts + 1, 2)
                        plan.tasks.append(task)
                    }
                    rows.append(task)
                }
                if plan.tasks.isEmpty { return .rollback((rows, rest.isEmpty)) }
                try transaction.apply(plan)
                return .commit((rows, rest.isEmpty))
            }
        }
    }

    private func takeTurns(at due: [TaskKey], width: Int) async throws -> TaskTurns {
        var turns = TaskTurns()
        if width == 1 {
            for key in due where !Task.isCancelled { turns.add(try await turn(of: key)) }
            return turns
        }
        try await withThrowingTaskGroup(of: TaskTurns.self) { group in
            for (place, key) in due.enumerated() where !Task.isCancelled {
                if place >= width, let done = try await group.next() { turns.add(done) }
                group.addTask { try await self.turn(of: key) }
            }
            for try await done in group { turns.add(done) }
        }
        return turns
    }

    /// A turn of a task that is held since its commit.
    private func turn(ofHanded task: TaskRow, _ together: ToldTogether) async -> TaskTurns {
        var task = task
        let now = clock()
        // It has waited long.
        if task.due <= now + Limits.taskLeaseSeconds / 2 {
            let known = task
            task.due = now + Limits.taskLeaseSeconds
            do {
                try await replace(known, by: task)
            } catch {
                // Somebody has it, or it comes back when its lease ends.
                return TaskTurns()
            }
        }
        return TaskTurns(taken: 1, failures: await takeTurn(at: task, together).map { [$0] } ?? [])
    }

    private func turn(of key: TaskKey) async throws -> TaskTurns {
        guard let task = try await lease(key) else { return TaskTurns() }
        return TaskTurns(taken: 1, failures: await takeTurn(at: task).map { [$0] } ?? [])
    }

    /// When the next task of a lane is due, of those due at or before `last`; nil: none is.
    package func nextTask(in lane: TaskLane, dueThrough last: Timestamp) async throws -> Timestamp? {
        try await store.read { try $0.tasks(of: lane.kinds, dueThrough: last, limit: 1).first?.due }
    }

    /// Of more tasks that are due within a lease the rest is not looked at: their leases end by themselves.
    private static let leasesEnded = 1000
    /// In one transaction, for which others' writes wait.
    private static let leasesEndedTogether = 100
    /// Of more tasks that commits have handed over it is not looked in which databases they are: they are done when their leases end, among others.
    private static let leftLookedAt = 100_000

    /// Has the tasks taken up again that another process was doing when it died, without waiting until its leases end. To be called before any task is
    /// done, and only by who has the store alone: as at the start of a server, because an engine is opened by one process at a time.
    ///
    /// What commits had handed over to that process comes in its order, and before what commits hand over from now on, also where it was taken up from a
    /// process before that one. Another task that was taken for the first time is due at once. One that was taken again and again is due after the pause of
    /// a task that failed as often, so that a task at which processes die does not have one die after the other.
    /// - Returns: how many tasks come earlier.
    package func endLeases() async throws -> Int {
        handed.removeAll()
        let now = clock()
        let lease = now + Limits.taskLeaseSeconds
        let handedOver = Set(TaskKind.allCases.filter(\.isHandedOver))
        let others = Set(TaskKind.allCases).subtracting(handedOver)
        let (left, found) = try await store.read { transaction in
            (
                try transaction.tasks(of: handedOver, dueThrough: lease, limit: Self.leftLookedAt).map(\.key),
                try transaction.tasks(of: others, dueAfter: now, through: lease, limit: Self.leasesEnded).map(\.key)
            )
        }
        handed.leave(at: Set(left.map(HandedTasks.Place.init)))
        // Those that were taken again have the longest leases.
        _ = try await endLeases(of: left.suffix(Self.leasesEnded), at: now)
        return left.count + (try await endLeases(of: found, at: now))
    }

    /// - Returns: how many tasks come earlier.
    private func endLeases(of keys: [TaskKey], at now: Timestamp) async throws -> Int {
        var count = 0
        for keys in Dictionary(grouping: keys, by: \.database).values {
            var rest = keys[...]
            while !rest.isEmpty {
                let some = Array(rest.prefix(Self.leasesEndedTogether))
                rest = rest.dropFirst(some.count)
                count += try await store.write { transaction in
                    var plan = WritePlan()
                    plan.tasks = try transaction.tasks(locking: some).compactMap { $0.afterProcess(endedAt: now) }
                    if plan.tasks.isEmpty { return .rollback(0) }
                    try transaction.apply(plan)
                    return .commit(plan.tasks.count)
                }
            }
        }
        return count
    }

    /// Drops what has outlived its time. Returns how many rows went; the caller asks again while there are any.
    package func removeExpired(limit: Int = 500) async throws -> Int {
        let now = clock()
        return try await store.write { transaction in
            let count = try transaction.removeExpired(before: now, limit: limit)
            return count == 0 ? .rollback(count) : .commit(count)
        }
    }

    /// nil: another worker has it, or it is gone.
    private func lease(_ key: TaskKey) async throws -> TaskRow? {
        let now = clock()
        // A lease that a power cut takes back ends with the process that had it.
        return try await Turn.doneAgain {
            try await store.write { transaction in
                guard var task = try transaction.tasks(locking: [key]).first, task.due <= now else { return .rollback(nil) }
                task.due = now + Limits.taskLeaseSeconds
                task.attempts += 1
                try transaction.apply(WritePlan(putting: task))
                return .commit(task)
            }
        }
    }

    /// - Parameter together: takes what the task tells; nil: the task tells it.
    private func takeTurn(at leased: TaskRow, _ together: ToldTogether? = nil) async -> TaskFailure? {
        var task = leased
        do {
            if task.attempts > Limits.taskAttempts {
                throw StoreError(.corrupt, "The task was begun again and again, and its process died each time")
            }
            var work = try task.key.kind.handler.init(task)
            var kept = clock()
            while true {
                let turn = TaskTurn(cloud: self, task: task, isNew: together != nil && leased.attempts == 1, together: together)
                let meter = WorkMeter(operation: "\(turn.key.kind)")
                guard try await WorkMeter.$current.withValue(meter, operation: { try await work.chunk(turn) }) else { return nil }
                let now = clock()
                let lane = task.key.kind.lane
                let othersInMemory = together == nil ? handed.hasNext(in: lane) : handed.hasNext(in: lane, besides: task.key.database)
                let othersWait = othersInMemory ? true : try await nextTask(in: lane, dueThrough: now) != nil
                if Task.isCancelled || (othersWait && together == nil) {
                    try await replace(task, by: TaskRow(key: task.key, payload: work.payload, due: now))
                    return nil
                }
                var rest = turn.rest(work.payload)
                let isLate = task.due <= now + Limits.taskLeaseSeconds / 2
                // Else it keeps its place among those of its database also for who comes after this process.
                if isLate { rest.due = now + Limits.taskLeaseSeconds }
                // `nacre task list` says of a build of indexes how far it is. Others would only write more often.
                let isToldNow = task.key.kind == .buildIndexes && now >= kept + Limits.taskProgressSeconds
                if othersWait || isLate || isToldNow {
                    try await replace(task, by: rest)
                    kept = now
                }
                if othersWait {
                    // Before those of its database that came after it.
                    handed.goOn(rest)
                    return nil
                }
                task = rest
            }
        } catch {
            return await layDown(task, error)
        }
    }

    /// Leaves a task that could not be done: to who has it by now, to the next worker where this one is to end, or for later.
    private func layDown(_ task: TaskRow, _ cause: any Error) async -> TaskFailure? {
        switch cause {
        case is LeaseLost: return nil
        case is CancellationError where Task.isCancelled:
            try? await replace(task, by: TaskRow(key: task.key, payload: task.payload, due: clock(), attempts: task.attempts - 1))
            return nil
        default: return await fail(task, cause)
        }
    }

    /// Puts a task that this worker holds to another time.
    /// - Throws: `LeaseLost` where it holds it no more.
    private func replace(_ task: TaskRow, by next: TaskRow) async throws {
        let turn = TaskTurn(cloud: self, task: task)
        try await store.write { transaction in
            try turn.requireLease(transaction)
            try transaction.apply(WritePlan(putting: next))
            return .commit(())
        }
    }

    /// Lays a task down that failed. Where the store cannot take even that, the task comes back when its lease ends.
    private func fail(_ task: TaskRow, _ cause: any Error) async -> TaskFailure {
        let next = task.after(cause, at: clock())
        let database = try? await store.read { try $0.databases([task.key.database]).first?.key }
        do {
            try await replace(task, by: next)
            return TaskFailure(task: next, database: database, cause: cause)
        } catch {
            return TaskFailure(task: task, database: database, cause: cause)
        }
    }
}
