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
    /// What commits of this process have handed over comes first (`HandedTasks`). Due tasks are found without naming a database; each is then leased in a
    /// transaction of its database, for `Limits.taskLeaseSeconds`, and done in transactions of its own, of which the last one finishes it. One whose
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
        in lanes: [TaskLane] = TaskLane.allCases, limit: Int = 8, lookingThrough last: Timestamp? = nil
    ) async throws -> TaskTurns {
        var turns = TaskTurns()
        while turns.taken < limit, !Task.isCancelled, let task = handed.next(in: lanes) { turns.add(await turn(ofHanded: task)) }
        let handedTaken = turns.taken
        let kinds = lanes.reduce(into: Set<TaskKind>()) { $0.formUnion($1.kinds) }
        // Those that it has still are leased to it.
        let passed = lanes.contains { handed.hasNext(in: $0) } ? nil : handed.passed
        if passed != nil { _ = try await endLeases(of: kinds) }
        let now = clock()
        let width = lanes.map(\.width).min() ?? 1
        let found = try await store.read { try $0.tasks(of: kinds, dueThrough: last.map { max($0, now) } ?? now, limit: limit * width) }
        let due = found.prefix { $0.due <= now }
        turns.next = found.dropFirst(due.count).first?.due
        if let passed, due.isEmpty { handed.found(passed) }
        turns.add(try await takeTurns(at: due.map(\.key), width: width))
        turns.areMore = handedTaken == limit || turns.taken > handedTaken || handed.passed != nil
        return turns
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
    private func turn(ofHanded task: TaskRow) async -> TaskTurns {
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
        return TaskTurns(taken: 1, failures: await takeTurn(at: task, isNew: true).map { [$0] } ?? [])
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

    /// Has the tasks taken up again that another process was doing when it died, without waiting until its leases end. To be called before any task is
    /// done, and only by who has the store alone: as at the start of a server, because an engine is opened by one process at a time.
    ///
    /// A task that was taken for the first time is due at once; one that was taken again and again after the pause of a task that failed as often, so that
    /// a task at which processes die does not have one die after the other.
    /// - Returns: how many tasks come earlier.
    package func endLeases() async throws -> Int {
        handed.removeAll()
        return try await endLeases(of: Set(TaskKind.allCases))
    }

    /// The same for tasks of some kinds, of which nobody holds any.
    private func endLeases(of kinds: Set<TaskKind>) async throws -> Int {
        let now = clock()
        let found = try await store.read {
            try $0.tasks(of: kinds, dueAfter: now, through: now + Limits.taskLeaseSeconds, limit: Self.leasesEnded)
        }
        var count = 0
        for keys in Dictionary(grouping: found.map(\.key), by: \.database).values {
            var rest = keys[...]
            while !rest.isEmpty {
                let some = Array(rest.prefix(Self.leasesEndedTogether))
                rest = rest.dropFirst(some.count)
                count += try await store.write { transaction in
                    var plan = WritePlan()
                    plan.tasks = try transaction.tasks(locking: some).compactMap { $0.withoutLease(at: now) }
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

    /// - Parameter isNew: nobody has begun it before.
    private func takeTurn(at leased: TaskRow, isNew: Bool = false) async -> TaskFailure? {
        var task = leased
        do {
            if task.attempts > Limits.taskAttempts {
                throw StoreError(.corrupt, "The task was begun again and again, and its process died each time")
            }
            var work = try task.key.kind.handler.init(task)
            while true {
                let turn = TaskTurn(cloud: self, task: task, isNew: isNew)
                guard try await work.chunk(turn) else { return nil }
                let now = clock()
                let lane = task.key.kind.lane
                let othersWait = handed.hasNext(in: lane) ? true : try await nextTask(in: lane, dueThrough: now) != nil
                if othersWait || Task.isCancelled {
                    try await replace(task, by: TaskRow(key: task.key, payload: work.payload, due: now))
                    return nil
                }
                var rest = turn.rest(work.payload)
                if task.due <= now + Limits.taskLeaseSeconds / 2 {
                    rest.due = now + Limits.taskLeaseSeconds
                    try await replace(task, by: rest)
                }
                task = rest
            }
        } catch is LeaseLost {
            return nil
        } catch is CancellationError where Task.isCancelled {
            let rest = TaskRow(key: task.key, payload: task.payload, due: clock(), attempts: task.attempts - 1)
            try? await replace(task, by: rest)
            return nil
        } catch {
            return await fail(task, error)
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
