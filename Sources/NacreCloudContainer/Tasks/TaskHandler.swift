import NacreCloudWire

/// What a kind of task does. Each kind has one such type, which `TaskKind.handler` names; it is a task that has been read.
protocol TaskHandler: Sendable {
    /// - Throws: `TaskRow.malformed` where the payload is not what was written.
    init(_ task: TaskRow) throws

    /// What a row remembers of the task as it stands now.
    var payload: [UInt8] { get }

    /// Does the next chunk, in transactions of its own. The one that ends the task also removes its row, unless the end is left to the worker
    /// (`TaskTurn.leave`). A chunk may be done twice: a worker can die, or lose its lease, after each of its transactions.
    /// - Returns: whether there may be more.
    mutating func chunk(_ turn: TaskTurn) async throws -> Bool

    /// The task that a repair puts in the place of one whose payload cannot be read: from its key, and from the zone that the key names.
    /// - Parameter zone: finds a zone's row.
    /// - Returns: nil where the key tells too little.
    static func remade(_ row: TaskRow, at now: Timestamp, zone: (ZoneAddress) throws -> ZoneRow?) throws -> TaskRow?
}

/// A worker's hold on a task.
struct TaskTurn: Sendable {
    let cloud: Cloud
    /// As it is kept: due when the lease ends.
    let task: TaskRow
    /// Nobody has done any of what this turn does: what it would do twice is not there.
    var isNew = false
    /// Takes what the task tells; nil: it is told and ended by itself.
    var together: ToldTogether?

    var key: TaskKey { task.key }

    /// The task as a transaction of this turn leaves it, which got on: the lease stays, as that of the first attempt since then.
    func rest(_ payload: [UInt8]) -> TaskRow { TaskRow(key: key, payload: payload, due: task.due, attempts: 1) }

    /// Leaves to the worker what the task tells, which does no more than that.
    /// - Returns: false: the worker takes nothing.
    func leave(_ words: [ToldTogether.Word]) -> Bool {
        together?.add(task, telling: words)
        return together != nil
    }

    /// Ends a transaction in which this worker must still be the only one that has the task. Locks the task's row.
    func requireLease(_ transaction: any WriteTransaction) throws {
        guard try transaction.tasks(locking: [key]).first?.due == task.due else { throw LeaseLost() }
    }

    /// The schema that a task of a schema belongs to, and whose it is.
    func schema() async throws -> (key: DatabaseKey, schema: Schema) {
        let database = key.database
        return try await cloud.store.read { transaction in
            guard let key = try transaction.databases([database]).first?.key else {
                throw StoreError(.corrupt, "A task belongs to no schema", ["task": self.key.name])
            }
            return (key, try transaction.schema(in: database))
        }
    }

    /// On this server: transactions of one commit of the engine.
    private static let usersAtATime = 16

    /// Does something for each user, some at a time: each is a transaction, and transactions that come together are committed together.
    static func each<User: Sendable>(of users: [User], _ body: @escaping @Sendable (User) async throws -> Void) async throws {
        for start in stride(from: 0, to: users.count, by: usersAtATime) {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for user in users[start..<min(start + usersAtATime, users.count)] { group.addTask { try await body(user) } }
                try await group.waitForAll()
            }
        }
    }
}

/// Another worker has the task now, or something put it anew. Who hears it leaves the task alone.
struct LeaseLost: Error {}

/// How urgent a kind of task is. Each lane is worked by itself, so that no task of one waits for a task of another.
package enum TaskLane: Hashable, Sendable, CaseIterable {
    /// A user waits for it: what hangs on deleted records is still seen, and queries cannot use an index, until the task is done.
    case prompt
    /// Nobody sees whether it is done: rows that no request finds any more go, and rows that queries pass over anyway are put right.
    case upkeep
    /// A user waits for it, and so does the worker, for a server elsewhere.
    case mail
    /// A device waits to be told of a change.
    case push
    /// The same, and a push service elsewhere is waited for.
    case delivery

    /// How many of its tasks are done at the same time.
    var width: Int { self == .delivery ? Limits.pushesAtOnce : 1 }

    /// As whose the reads and writes of its tasks count: what tells devices is waited for, as a request is, and reads little.
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

    /// Whether commits hand such tasks over to their process (`HandedTasks`).
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
    /// When a parked task is due: never, as long as nobody puts it back.
    static let parked = Timestamp(secondsSince2001: 1e15)

    package var isParked: Bool { due >= Self.parked }

    /// What is thrown when a payload is not what was written.
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
