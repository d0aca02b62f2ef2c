package import NacreCloudWire

/// The kinds of tasks. Numbers are kept in databases: never reuse one.
package enum TaskKind: Int64, Hashable, Sendable, CaseIterable {
    case reclaimZone = 1
    case trimOperations = 2
    case cascade = 3
    case purgeTombstones = 4
    case forgetZone = 5
    case buildIndexes = 6
    case sweepZone = 7
    case settleAccount = 8
    case collectAssets = 9
    case sendLetter = 10
    case fireSubscriptions = 20
    case deliverNotifications = 21
    case tellParticipants = 24
    case settleSubtree = 25
    case dropIndexes = 26
    case clearIndexes = 27
    case deliverWebhook = 28
}

extension [TaskKind: Timestamp] {
    /// Takes the time at which the earliest task of each kind is due.
    package init(_ tasks: [TaskRow]) {
        self = [:]
        for task in tasks { self[task.key.kind] = self[task.key.kind].map { Swift.min($0, task.due) } ?? task.due }
    }
}

package struct TaskKey: Hashable, Sendable {
    package var database: DatabaseID
    package var kind: TaskKind
    /// The name of the task. Two tasks of one kind and name are one task.
    package var name: String

    package init(_ database: DatabaseID, _ kind: TaskKind, _ name: String) {
        self.database = database
        self.kind = kind
        self.name = name
    }
}

/// The time at which a task is due.
package struct TaskDue: Hashable, Sendable {
    package var key: TaskKey
    package var due: Timestamp

    package init(_ key: TaskKey, due: Timestamp) {
        self.key = key
        self.due = due
    }
}

/// A row of the outbox: work that a transaction leaves to be done after it.
package struct TaskRow: Hashable, Sendable {
    package var key: TaskKey
    package var payload: [UInt8]
    /// The time from which a worker may take it. A lease moves it forward, so that it is taken again after a crash.
    package var due: Timestamp
    /// The number of times it was taken since it last made progress.
    package var attempts: Int64
    /// The process that commits the task also holds and runs it. Not kept.
    package var isHandedOver = false

    package init(key: TaskKey, payload: [UInt8], due: Timestamp, attempts: Int64 = 0) {
        self.key = key
        self.payload = payload
        self.due = due
        self.attempts = attempts
    }

    /// The row as it is kept.
    package var kept: TaskRow {
        var row = self
        row.isHandedOver = false
        return row
    }
}
