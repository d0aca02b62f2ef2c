import NacreCloudAccounts
package import NacreCloudStorage
package import NacreCloudWire

/// The work of one kind of task. `TaskKind.handler` names the type of each kind. A value is a task that has been read.
package protocol TaskHandler: Sendable {
    /// - Throws: `TaskRow.malformed` where the payload is not what was written.
    init(_ task: TaskRow) throws

    /// The bytes that the task's row keeps of its present state.
    var payload: [UInt8] { get }

    /// Does the next chunk, in its own transactions. The last one also removes the task's row, unless that is left to
    /// the worker (`LeasedTask.leave`). A chunk may be done twice: a worker can die, or lose its lease, after each
    /// transaction.
    /// - Returns: whether there may be more.
    mutating func chunk(_ leased: LeasedTask) async throws -> Bool

    /// Returns a task in place of one with an unreadable payload, made from its key and the zone that the key names.
    /// - Parameter zone: finds a zone's row.
    /// - Returns: nil where the key says too little.
    static func remade(_ row: TaskRow, at now: Timestamp, zone: (ZoneAddress) throws -> ZoneRow?) throws -> TaskRow?
}

/// A worker's hold on a task.
package struct LeasedTask: Sendable {
    package let cloud: Cloud
    /// The task as it is stored: due when the lease ends.
    package let task: TaskRow
    /// Whether no part of the task's work was done before, so that nothing can be there twice.
    package var isNew = false
    /// Takes the task's items; nil: the task puts them into queues and ends itself.
    package var together: NotificationBatch?

    package init(cloud: Cloud, task: TaskRow, isNew: Bool = false, together: NotificationBatch? = nil) {
        self.cloud = cloud
        self.task = task
        self.isNew = isNew
        self.together = together
    }

    package var key: TaskKey { task.key }

    /// Returns the row for a task that got on: the lease stays, as that of the first attempt since then.
    package func rest(_ payload: [UInt8]) -> TaskRow { TaskRow(key: key, payload: payload, due: task.due, attempts: 1) }

    /// Leaves the task's items to the worker, where the task has no more to do.
    /// - Returns: false: the worker takes nothing.
    package func leave(_ items: [NotificationBatch.Item]) -> Bool {
        together?.add(task, adding: items)
        return together != nil
    }

    /// Throws `LeaseLost` unless this worker is still the only one that has the task. Locks the task's row.
    package func requireLease(_ transaction: any WriteTransaction) throws {
        guard try transaction.tasks(locking: [key]).first?.due == task.due else { throw LeaseLost() }
    }

    /// Returns the schema to which a task of a schema belongs, and the key of its database.
    package func schema() async throws -> (key: DatabaseKey, schema: Schema) {
        let database = key.database
        return try await cloud.store.read { transaction in
            guard let key = try transaction.databases([database]).first?.key else {
                throw StoreError(.corrupt, "A task belongs to no schema", ["task": self.key.name])
            }
            return (key, try transaction.schema(in: database))
        }
    }

    /// On this server: transactions that run together, for one commit of the engine.
    private static let usersAtATime = 16

    /// Calls `body` for each user, some at a time. Calls are transactions; those that come together commit together.
    package static func each<User: Sendable>(of users: [User], _ body: @escaping @Sendable (User) async throws -> Void) async throws {
        for start in stride(from: 0, to: users.count, by: usersAtATime) {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for user in users[start..<min(start + usersAtATime, users.count)] { group.addTask { try await body(user) } }
                try await group.waitForAll()
            }
        }
    }
}

/// Another worker has the task now, or a commit put it anew. A worker that gets this error leaves the task alone.
package struct LeaseLost: Error {}
