import NacreCloudWire

extension Cloud {
    /// Takes due tasks from the outbox and does them. Returns how many it took; the caller asks again while there are any.
    ///
    /// A task is leased for `Limits.taskLeaseSeconds`, done in transactions of its own, and finished in the last of them. One that fails, or
    /// whose process dies, comes back when its lease ends: every task can be done twice. A long one does `Limits.taskTurn` chunks and comes
    /// back at once, so that no other waits for its end.
    ///
    /// Once the calling task is cancelled no further chunk begins. That is no failure: what is not finished comes back.
    ///
    /// - Returns: how many tasks were taken, and how many of them failed (their errors are the store's, and pass).
    package func runDueTasks(limit: Int = 8) async throws -> (taken: Int, failed: Int) {
        let now = clock()
        let tasks = try await store.write { transaction -> Ending<[TaskRow]> in
            let tasks = try transaction.leaseTasks(dueAt: now, until: now + Limits.taskLeaseSeconds, limit: limit)
            return tasks.isEmpty ? .rollback(tasks) : .commit(tasks)
        }
        var failed = 0
        for task in tasks where !Task.isCancelled {
            do {
                try await run(task)
            } catch let error as StoreError {
                failed += 1
                self.failed(error.met(by: task))
            } catch is CancellationError {
                // A read of it was ended with the calling task.
            }
        }
        return (tasks.count, failed)
    }

    /// Drops what has outlived its time. Returns how many rows went; the caller asks again while there are any.
    package func removeExpired(limit: Int = 500) async throws -> Int {
        let now = clock()
        return try await store.write { transaction in
            let count = try transaction.removeExpired(before: now, limit: limit)
            return count == 0 ? .rollback(count) : .commit(count)
        }
    }

    private func run(_ task: TaskRow) async throws {
        switch task.key.kind {
        case .reclaimZone:
            guard let zone = ReclaimZone.zone(of: task) else { throw task.malformed }
            try await takeTurn(at: task) { try await reclaim(zone, finishing: task.key) }
        case .cascade:
            try await finishCascade(task)
        case .purgeTombstones:
            try await purgeTombstones(task)
        case .forgetZone:
            try await forgetZone(task)
        case .buildIndexes:
            try await buildIndexes(task)
        case .sweepZone:
            try await sweepZone(task)
        case .trimOperations:
            let now = clock()
            try await takeTurn(at: task) { try await store.write { try TrimOperations.removeChunk(of: task.key, at: now, $0) } }
        }
    }

    /// Does chunks of a task until there are no more, its turn is over, or the worker is to stop. What remains then is due again at once.
    /// - Parameter chunk: does one, and says whether there may be more.
    func takeTurn(at task: TaskRow, _ chunk: () async throws -> Bool) async throws {
        var chunks = 0
        while chunks < Limits.taskTurn, !Task.isCancelled {
            guard try await chunk() else { return }
            chunks += 1
        }
        var rest = task
        rest.due = clock()
        rest.attempts = 0
        try await putBack(rest)
    }

    /// Leaves a task that was taken to whoever takes it next.
    func putBack(_ task: TaskRow) async throws {
        try await store.write { transaction in
            var plan = WritePlan()
            plan.tasks = [task]
            try transaction.apply(plan)
            return .commit(())
        }
    }

    private func reclaim(_ zone: ZoneAddress, finishing key: TaskKey) async throws -> Bool {
        try await store.write { transaction in
            let count = try transaction.reclaim(zone, limit: Limits.reclaimChunk)
            if count == 0 { try transaction.apply(WritePlan(finishing: key)) }
            return .commit(count > 0)
        }
    }
}

/// The task that takes a deleted zone's records away, in chunks.
enum ReclaimZone {
    static func task(for zone: ZoneAddress, due: Timestamp) -> TaskRow {
        var writer = ByteWriter()
        writer.signed(zone.zone)
        return TaskRow(key: TaskKey(zone.database, .reclaimZone, String(zone.zone)), payload: writer.bytes, due: due)
    }

    static func zone(of task: TaskRow) -> ZoneAddress? {
        var reader = ByteReader(task.payload)
        guard let key = try? reader.signed() else { return nil }
        return ZoneAddress(database: task.key.database, zone: key)
    }
}

extension StoreError {
    /// With the task that met it, for logs.
    func met(by task: TaskRow) -> StoreError {
        var error = self
        error.values["task"] = "\(task.key.kind) \(task.key.name)"
        error.values["attempts"] = String(task.attempts)
        return error
    }
}

extension TaskRow {
    /// What is thrown when a payload is not what was written.
    var malformed: StoreError { StoreError(.corrupt, "A task's payload is malformed", ["task": key.name]) }
}

extension WritePlan {
    init(finishing task: TaskKey) {
        self.init()
        tasksFinished = [task]
    }
}
