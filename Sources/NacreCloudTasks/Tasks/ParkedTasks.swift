import NacreCloudContainer
package import NacreCloudStorage
import NacreCloudWire

/// A task in a list of the outbox.
package struct ListedTask: Hashable, Sendable {
    package var task: TaskRow
    /// The key of the task's database; nil: its row is gone.
    package var database: DatabaseKey?

    /// Records done by a task that adds or removes index rows; nil for other tasks, and for one that has not begun.
    package var recordsDone: Int? {
        guard [.buildIndexes, .clearIndexes].contains(task.key.kind), !task.payload.isEmpty else { return nil }
        return (try? IndexProgress(task))?.records
    }
}

/// A page of the outbox, in the order of the tasks' keys.
package struct TaskPage: Sendable {
    package var tasks: [ListedTask] = []
    /// The key after which the next page begins; nil: this was the last one.
    package var next: TaskKey?
}

extension Cloud {
    /// Lists the tasks after a key, waiting and parked. A row that cannot be read is left out: the check reports it.
    /// - Parameter limit: the number of rows that are looked at.
    package func listTasks(after key: TaskKey?, limit: Int = Limits.tasksPerPage) async throws -> TaskPage {
        try await store.read { transaction in
            let rows = try transaction.rows(of: .tasks, after: key?.key, limit: limit)
            let tasks = rows.compactMap { if case .task(let task) = $0.value { task } else { nil } }
            let ids = Array(Set(tasks.map(\.key.database)))
            let databases = Dictionary(try transaction.databases(ids).map { ($0.id, $0.key) }, uniquingKeysWith: { first, _ in first })
            let listed = tasks.map { ListedTask(task: $0, database: databases[$0.key.database]) }
            return TaskPage(tasks: listed, next: rows.count < limit ? nil : tasks.last?.key)
        }
    }

    /// Makes a parked task due, without counted attempts.
    /// - Returns: false where the task is not parked, or missing.
    package func retryTask(_ key: TaskKey) async throws -> Bool {
        let now = clock()
        return try await store.write { transaction in
            guard var task = try transaction.tasks(locking: [key]).first, task.isParked else { return .rollback(false) }
            (task.due, task.attempts) = (now, 0)
            try transaction.apply(WritePlan(putting: task))
            return .commit(true)
        }
    }
}

extension TaskKey {
    fileprivate var key: RowKey { .database(database, .number(kind.rawValue), .text(name)) }

    /// The key as text, for people and for `init(text:)`: `cascade:-81985529:7:12`.
    package var text: String { "\(kind):\(database.rawValue):\(name)" }

    /// Reads a key from its `text`; nil for other text.
    package init?(text: String) {
        let parts = text.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, let kind = TaskKind.allCases.first(where: { "\($0)" == parts[0] }), let database = Int64(parts[1]) else { return nil }
        self.init(DatabaseID(rawValue: database), kind, String(parts[2]))
    }
}
