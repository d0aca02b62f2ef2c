import CloudWire

extension Cloud {
    /// Takes due tasks from the outbox and does them. Returns how many it took; the caller asks again while there are any.
    ///
    /// A task is leased for `Limits.taskLeaseSeconds`, done in transactions of its own, and finished in the last of them. One that fails, or
    /// whose process dies, comes back when its lease ends: every task can be done twice.
    ///
    /// - Returns: how many tasks were taken, and how many of them failed (their errors are the store's, and pass).
    package func runDueTasks(limit: Int = 8) async throws -> (taken: Int, failed: Int) {
        let now = clock()
        let tasks = try await store.write { transaction -> Ending<[TaskRow]> in
            let tasks = try transaction.leaseTasks(dueAt: now, until: now + Limits.taskLeaseSeconds, limit: limit)
            return tasks.isEmpty ? .rollback(tasks) : .commit(tasks)
        }
        var failed = 0
        for task in tasks {
            do { try await run(task) } catch is StoreError { failed += 1 }
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
            while try await reclaim(zone, finishing: task.key) > 0 {}
        case .cascade:
            try await finishCascade(task)
        case .purgeTombstones:
            try await purgeTombstones(task)
        case .forgetZone:
            try await forgetZone(task)
        case .buildIndexes:
            try await buildIndexes(task)
        case .trimOperations:
            let database = task.key.database
            _ = try await store.write { transaction in
                let count = try transaction.trimOperations(in: database, keeping: Limits.operationsPerDatabase)
                try transaction.apply(WritePlan(finishing: task.key))
                return .commit(count)
            }
        }
    }

    private func reclaim(_ zone: ZoneAddress, finishing key: TaskKey) async throws -> Int {
        try await store.write { transaction in
            let count = try transaction.reclaim(zone, limit: Limits.reclaimChunk)
            if count == 0 { try transaction.apply(WritePlan(finishing: key)) }
            return .commit(count)
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
