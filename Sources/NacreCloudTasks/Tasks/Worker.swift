import NacreCloudAccounts
import NacreCloudContainer
package import NacreCloudStorage
package import NacreCloudWire

/// The result of a worker's round.
package struct WorkerRound: Sendable {
    /// The number of tasks that were begun.
    package var taken = 0
    package var failures: [TaskFailure] = []
    /// Whether there may be other tasks to do at once.
    package fileprivate(set) var areMore = false
    /// The time when the next task is due that is not due yet, as far as was looked.
    package fileprivate(set) var next: Timestamp?

    package var failed: Int { failures.count }

    fileprivate mutating func add(_ other: WorkerRound) {
        taken += other.taken
        failures += other.failures
    }
}

extension Cloud {
    /// Takes due tasks of these lanes from the outbox, oldest first, and does them one after the other, or several at a
    /// time in a wide lane. The caller asks again while there may be more.
    ///
    /// Tasks that commits of this process have handed over come first (`HandedTasks`), and are put into queues together
    /// (`NotificationBatch`). Due tasks are found without naming a database. Each is leased in a transaction of its
    /// database, for `Limits.taskLeaseSeconds`. It is then done in transactions of its own, of which the last one
    /// finishes it. A task whose process dies comes back at the next start (`endLeases`), or when its lease ends. A
    /// leased task does one chunk when other tasks of the lane are due, and all chunks when none is. A long one renews
    /// its lease.
    ///
    /// A task that fails comes back after a pause that grows with its attempts, and is finally parked (`TaskFailure`).
    ///
    /// Once the calling task is cancelled no further chunk begins. That is no failure: unfinished tasks are due at
    /// once.
    ///
    /// - Parameter last: the time up to which it looks for the next task that is not due yet.
    /// - Throws: the store's error where it cannot be asked for tasks, or cannot lease one.
    package func runDueTasks(
        in lanes: [TaskLane] = TaskLane.allCases, limit: Int = 16, lookingThrough last: Timestamp? = nil
    ) async throws -> WorkerRound {
        let kinds = lanes.reduce(into: Set<TaskKind>()) { $0.formUnion($1.kinds) }
        if let passed = handed.passed(in: lanes) { try await takeUp(passed, of: kinds.filter(\.isHandedOver)) }
        var round = await runHandedTasks(in: lanes, limit: limit)
        let handedTaken = round.taken
        let hasMore = lanes.contains { handed.hasNext(in: $0) }
        let now = clock()
        let width = lanes.map(\.width).min() ?? 1
        // One task, where others wait in memory, which come next.
        let most = (hasMore ? 1 : min(limit, Self.leasedTogether)) * width
        let found = try await tasks(of: kinds, dueThrough: last.map { max($0, now) } ?? now, limit: most)
        let due = found.prefix { $0.due <= now }
        round.next = found.dropFirst(due.count).first?.due
        round.add(try await runTasks(at: due.map(\.key), width: width))
        let areHanded = lanes.contains { handed.hasNext(in: $0) } || handed.passed(in: lanes) != nil
        round.areMore = handedTaken == limit || round.taken > handedTaken || areHanded
        return round
    }

    /// Returns tasks that are due, except those that come in their order (`HandedTasks.has`).
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

    /// On this server: tasks that are found and leased before the worker looks again for handed-over tasks.
    private static let leasedTogether = 8

    /// On this server: bounds of the items of a batch, and of the cost of finding them in the unit of `WorkMeter`. At a
    /// bound they are put into queues before a further task is looked at. The next task waits for as much.
    private static let (itemsTogether, costTogether) = (100, 400)

    /// Does tasks held since their commits. At the end all their items are put into queues together, and their rows go
    /// together.
    private func runHandedTasks(in lanes: [TaskLane], limit: Int) async -> WorkerRound {
        var round = WorkerRound()
        let together = NotificationBatch()
        while round.taken < limit, together.items < Self.itemsTogether, together.cost < Self.costTogether, !Task.isCancelled,
            let task = handed.next(in: lanes)
        {
            round.add(await run(ofHanded: task, together))
        }
        await Turn.doneAgain { await together.enqueue(self) }
        for (task, cause) in together.failed { if let failure = await layDown(task, cause) { round.failures.append(failure) } }
        await withTaskGroup(of: [TaskFailure].self) { group in
            for tasks in Dictionary(grouping: together.done, by: \.key.database).values { group.addTask { await self.end(tasks) } }
            for await failures in group { round.failures += failures }
        }
        return round
    }

    /// Ends tasks of one database that are done. A task that another worker has by now stays.
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

    /// On this server: tasks that are taken up together, in one transaction for each of their databases. The bound of
    /// their bytes leaves out the last one.
    private static let (takenUpTogether, bytesTakenUpTogether) = (100, 4_000_000)

    /// Takes tasks into memory that found no room there, or that an earlier process left: some of each database, in its
    /// order. A task that failed, at which processes died, or that a neighbour has, is left until it is due.
    private func takeUp(_ passed: HandedTasks.Passed, of kinds: Set<TaskKind>) async throws {
        let now = clock()
        let lease = now + Limits.taskLeaseSeconds
        let places = passed.lineKeys
        let share = max(1, Self.takenUpTogether / places.count)
        var limit = Self.takenUpTogether
        while true {
            let most = limit
            let found = try await store.read { try $0.tasks(of: kinds, dueThrough: lease, limit: most) }
            var left = found.count < most ? [] : places
            var bytes = 0
            let own = found.filter { $0.due <= now || handed.isOwn($0.key) }.map(\.key)
            for (place, keys) in Dictionary(grouping: own, by: HandedTasks.LineKey.init) where places.contains(place) {
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

    /// Takes tasks of one database, which the process then holds: those leased for the first time, and those due.
    /// - Parameter areNew: whether tasks leased for the first time are this process's own, and not begun.
    /// - Returns: the first tasks, and whether there are no others.
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
                    // Tasks after one with a new lease get one too, a microsecond later each: they keep their order.
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

    private func runTasks(at due: [TaskKey], width: Int) async throws -> WorkerRound {
        var round = WorkerRound()
        if width == 1 {
            for key in due where !Task.isCancelled { round.add(try await run(of: key)) }
            return round
        }
        try await withThrowingTaskGroup(of: WorkerRound.self) { group in
            for (index, key) in due.enumerated() where !Task.isCancelled {
                if index >= width, let done = try await group.next() { round.add(done) }
                group.addTask { try await self.run(of: key) }
            }
            for try await done in group { round.add(done) }
        }
        return round
    }

    /// Does chunks of a task that is held since its commit.
    private func run(ofHanded task: TaskRow, _ together: NotificationBatch) async -> WorkerRound {
        var task = task
        let now = clock()
        // The task has waited long.
        if task.due <= now + Limits.taskLeaseSeconds / 2 {
            let known = task
            task.due = now + Limits.taskLeaseSeconds
            do {
                try await replace(known, by: task)
            } catch {
                // Another worker has the task, or it comes back when its lease ends.
                return WorkerRound()
            }
        }
        return WorkerRound(taken: 1, failures: await runChunks(at: task, together).map { [$0] } ?? [])
    }

    private func run(of key: TaskKey) async throws -> WorkerRound {
        guard let task = try await lease(key) else { return WorkerRound() }
        return WorkerRound(taken: 1, failures: await runChunks(at: task).map { [$0] } ?? [])
    }

    /// Returns the time when the next task of a lane is due, at or before `last`; nil: none is.
    package func nextTask(in lane: TaskLane, dueThrough last: Timestamp) async throws -> Timestamp? {
        try await store.read { try $0.tasks(of: lane.kinds, dueThrough: last, limit: 1).first?.due }
    }

    /// The largest number of tasks whose leases are ended at a start. The leases of others end by themselves.
    private static let leasesEnded = 1000
    /// Tasks of one transaction, for which other writes wait.
    private static let leasesEndedTogether = 100
    /// Handed-over tasks whose databases are looked up at a start, at most. Others are done when their leases end.
    private static let leftLookedAt = 100_000

    /// Takes up the tasks that another process was doing when it died, without waiting until their leases end. Call it
    /// before any task is done, as at a server's start. Where several servers have the store open, it does nothing: a
    /// lease may be a living neighbour's, and one of a dead server ends by itself.
    ///
    /// Tasks that commits had handed over to that process come in their order, before what commits hand over from now
    /// on. This includes tasks that it had taken up from an earlier process. Another task that was taken for the first
    /// time is due at once. A task that was taken again and again is due after the pause of a task that failed as
    /// often. A task at which processes die therefore does not have one die after the other.
    /// - Returns: how many tasks come earlier.
    package func endLeases() async throws -> Int {
        if store.neighbours != nil { return 0 }
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
        handed.leave(at: Set(left.map(HandedTasks.LineKey.init)))
        // Tasks that were taken again have the longest leases.
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

    /// Removes rows that have outlived their time. Returns how many; the caller asks again while there are any.
    package func removeExpired(limit: Int = 500) async throws -> Int {
        let now = clock()
        return try await store.write { transaction in
            let count = try transaction.removeExpired(before: now, limit: limit)
            return count == 0 ? .rollback(count) : .commit(count)
        }
    }

    /// Leases a task; nil: another worker has it, or it is gone.
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

    /// - Parameter together: takes the task's items; nil: the task puts them into queues.
    private func runChunks(at leased: TaskRow, _ together: NotificationBatch? = nil) async -> TaskFailure? {
        var task = leased
        do {
            if task.attempts > Limits.taskAttempts {
                throw StoreError(.corrupt, "The task was begun again and again, and its process died each time")
            }
            var work = try task.key.kind.handler.init(task)
            var kept = clock()
            while true {
                let turn = LeasedTask(cloud: self, task: task, isNew: together != nil && leased.attempts == 1, together: together)
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
                // In time, the task keeps its position among those of its database, also for the next process.
                if isLate { rest.due = now + Limits.taskLeaseSeconds }
                // `nacre task list` shows how far a build of indexes is. Other kinds would only write more often.
                let isToldNow = task.key.kind == .buildIndexes && now >= kept + Limits.taskProgressSeconds
                if othersWait || isLate || isToldNow {
                    try await replace(task, by: rest)
                    kept = now
                }
                if othersWait {
                    // The task goes before those of its database that came after it.
                    handed.goOn(rest)
                    return nil
                }
                task = rest
            }
        } catch {
            return await layDown(task, error)
        }
    }

    /// Leaves a task that could not be done: to the worker that has it by now, to the next worker if this one is to
    /// end, or for later.
    private func layDown(_ task: TaskRow, _ cause: any Error) async -> TaskFailure? {
        switch cause {
        case is LeaseLost: return nil
        case is CancellationError where Task.isCancelled:
            try? await replace(task, by: TaskRow(key: task.key, payload: task.payload, due: clock(), attempts: task.attempts - 1))
            return nil
        default: return await fail(task, cause)
        }
    }

    /// Replaces the row of a task that this worker holds.
    /// - Throws: `LeaseLost` where the worker does not hold it any more.
    private func replace(_ task: TaskRow, by next: TaskRow) async throws {
        let turn = LeasedTask(cloud: self, task: task)
        try await store.write { transaction in
            try turn.requireLease(transaction)
            try transaction.apply(WritePlan(putting: next))
            return .commit(())
        }
    }

    /// Stores that a task has failed. Where the store cannot take even that, the task comes back when its lease ends.
    private func fail(_ task: TaskRow, _ cause: any Error) async -> TaskFailure {
        let next = task.after(cause, at: clock())
        let database = try? await store.read { try $0.databases([task.key.database]).first?.key }
        do {
            try await replace(task, by: next)
            if next.isParked, next.key.kind == .fireSubscriptions { note([NotificationEvent(.parked, task: next.key)]) }
            return TaskFailure(task: next, database: database, cause: cause)
        } catch {
            return TaskFailure(task: task, database: database, cause: cause)
        }
    }
}

extension TaskKind {
    var handler: any TaskHandler.Type {
        switch self {
        case .reclaimZone: ReclaimZone.self
        case .trimOperations: TrimOperations.self
        case .cascade: FinishCascade.self
        case .purgeTombstones: PurgeTombstones.self
        case .forgetZone: ForgetZone.self
        case .buildIndexes: BuildIndexes.self
        case .sweepZone: SweepZone.self
        case .settleAccount: SettleAccount.self
        case .collectAssets: CollectAssets.self
        case .sendLetter: SendLetter.self
        case .fireSubscriptions: FireSubscriptions.self
        case .deliverNotifications: DeliverNotifications.self
        case .tellParticipants: TellParticipants.self
        case .settleSubtree: SettleSubtree.self
        case .dropIndexes: DropIndexes.self
        case .clearIndexes: ClearIndexes.self
        case .deliverWebhook: DeliverWebhook.self
        }
    }
}
