package import NacreCloudWire

/// The urgency of a kind of task. Each lane is worked by itself, so that no task of one waits for a task of another.
package enum TaskLane: Hashable, Sendable, CaseIterable {
    /// A user waits for the task. Until it is done, records that hang on deleted ones are still seen, and queries
    /// cannot use an index.
    case prompt
    /// No user sees whether the task is done. It removes rows that no request finds, and repairs rows that queries pass
    /// over.
    case upkeep
    /// A user waits for the task, and the worker waits for a server elsewhere.
    case mail
    /// A device waits to be notified of a change.
    case push
    /// A device waits to be notified of a change, and the worker waits for a push service elsewhere.
    case delivery
    /// A webhook waits to be told of changes, and the worker waits for its receiver.
    case webhook

    /// The number of its tasks that are done at the same time.
    package var width: Int {
        switch self {
        case .delivery: Limits.pushesAtOnce
        case .webhook: Limits.webhooksAtOnce
        case .prompt, .upkeep, .mail, .push: 1
        }
    }

    /// The turn under which the reads and writes of its tasks count. A device waits for a `push` task as a user does
    /// for a request, and the task reads little.
    package var turn: Turn { self == .push ? Turn(asker: "push") : .current }
}

extension TaskKind {
    /// Whether commits hand tasks of this kind over to their process (`HandedTasks`).
    package var isHandedOver: Bool { self == .fireSubscriptions }

    package var lane: TaskLane {
        switch self {
        case .cascade, .buildIndexes, .settleSubtree: .prompt
        case .sendLetter: .mail
        case .fireSubscriptions, .tellParticipants: .push
        case .deliverNotifications: .delivery
        case .deliverWebhook: .webhook
        case .reclaimZone, .trimOperations, .purgeTombstones, .forgetZone, .sweepZone, .settleAccount, .collectAssets, .dropIndexes, .clearIndexes:
            .upkeep
        }
    }
}

extension TaskLane {
    package var kinds: Set<TaskKind> { Set(TaskKind.allCases.filter { $0.lane == self }) }
}

extension TaskRow {
    /// The due time of a parked task: never, unless the task is put back.
    package static let parked = Timestamp(secondsSince2001: 1e15)

    package var isParked: Bool { due >= Self.parked }

    /// The error for a payload that is not what was written.
    package var malformed: StoreError { StoreError(.corrupt, "A task's payload is malformed", ["task": key.name]) }
}

extension WritePlan {
    package init(finishing task: TaskKey) {
        self.init()
        tasksFinished = [task]
    }

    package init(putting task: TaskRow) {
        self.init()
        tasks = [task]
    }
}
