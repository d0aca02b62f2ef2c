import NacreCloudWire

/// The work of one kind of task. `TaskKind.handler` names the type of each kind. A value is a task that has been read.
protocol TaskHandler: Sendable {
    /// - Throws: `TaskRow.malformed` where the payload is not what was written.
    init(_ task: TaskRow) throws

    /// The bytes that the task's row keeps of its present state.
    var payload: [UInt8] { get }

    /// Does the next chunk, in its own transactions. The last one also removes the task's row, unless that is left to
    /// the worker (`TaskTurn.leave`). A chunk may be done twice: a worker can die, or lose its lease, after each
    /// transaction.
    /// - Returns: whether there may be more.
    mutating func chunk(_ turn: TaskTurn) async throws -> Bool

    /// Returns a task in place of one with an unreadable payload, made from its key and the zone that the key names.
    /// - Parameter zone: finds a zone's row.
    /// - Returns: nil where the key tells too little.
    static func remade(_ row: TaskRow, at now: Timestamp, zone: (ZoneAddress) throws -> ZoneRow?) throws -> TaskRow?
}

/// A worker's hold on a task.
struct TaskTurn: Sendable {
    let cloud: Cloud
    /// The task as it is stored: due when the lease ends.
    let task: TaskRow
    /// Whether no part of this turn's work was done before, so that nothing can be there twice.
    var isNew = false
    /// Takes what the task tells; nil: the turn tells it and ends the task.
    var together: ToldTogether?

    var key: TaskKey { task.key }

    /// Returns the row for a turn that got on: the lease stays, as that of the first attempt since then.
    func rest(_ payload: [UInt8]) -> TaskRow { TaskRow(key: key, payload: payload, due: task.due, attempts: 1) }

    /// Leaves to the worker what the task tells, where the task does no more than that.
    /// - Returns: false: the worker takes nothing.
    func leave(_ words: [ToldTogether.Word]) -> Bool {
        together?.add(task, telling: words)
        return together != nil
    }

    /// Throws `LeaseLost` unless this worker is still the only one that has the task. Locks the task's row.
    func requireLease(_ transaction: any WriteTransaction) throws {
        guard try transaction.tasks(locking: [key]).first?.due == task.due else { throw LeaseLost() }
    }

    /// Returns the schema to which a task of a schema belongs, and the key of its database.
    func schema() async throws -> (key: DatabaseKey, schema: Schema) {
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
    static func each<User: Sendable>(of users: [User], _ body: @escaping @Sendable (User) async throws -> Void) async throws {
        for start in stride(from: 0, to: users.count, by: usersAtATime) {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for user in users[start..<min(start + usersAtATime, users.count)] { group.addTask { try await body(user) } }
                try await group.waitForAll()
            }
        }
    }
}

/// Another worker has the task now, or a commit put it anew. A turn that gets this error leaves the task alone.
struct LeaseLost: Error {}

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
    /// A device waits to be told of a change.
    case push
    /// A device waits to be told of a change, and the worker waits for a push service elsewhere.
    case delivery

    /// The number of its tasks that are done at the same time.
    var width: Int { self == .delivery ? Limits.pushesAtOnce : 1 }

    /// The turn under which the reads and writes of its tasks count. A device waits for a `push` task as a user does
    /// for a request, and the task reads little.
    package var turn: Turn { self == .push ? Turn(asker: "push") : .current }
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
        }
    }

    /// Whether commits hand tasks of this kind over to their process (`HandedTasks`).
    var isHandedOver: Bool { self == .fireSubscriptions }

    package var lane: TaskLane {
        switch self {
        case .cascade, .buildIndexes, .settleSubtree: .prompt
        case .sendLetter: .mail
        case .fireSubscriptions, .tellParticipants: .push
        case .deliverNotifications: .delivery
        case .reclaimZone, .trimOperations, .purgeTombstones, .forgetZone, .sweepZone, .settleAccount, .collectAssets, .dropIndexes, .clearIndexes:
            .upkeep
        }
    }
}

extension TaskLane {
    var kinds: Set<TaskKind> { Set(TaskKind.allCases.filter { $0.lane == self }) }
}

extension TaskRow {
    /// The due time of a parked task: never, unless the task is put back.
    static let parked = Timestamp(secondsSince2001: 1e15)

    package var isParked: Bool { due >= Self.parked }

    /// The error for a payload that is not what was written.
    var malformed: StoreError { StoreError(.corrupt, "A task's payload is malformed", ["task": key.name]) }
}

extension WritePlan {
    init(finishing task: TaskKey) {
        self.init()
        tasksFinished = [task]
    }

    init(putting task: TaskRow) {
        self.init()
        tasks = [task]
    }
}
