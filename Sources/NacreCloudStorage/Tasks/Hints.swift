package import NacreCloudWire

/// Hints to listeners that the store may have news, in this process or in others over the same store.
///
/// A hint can be late, come twice or get lost. A listener that gets one asks the store, and also asks now and then
/// without one.
package protocol Hints: Sendable {
    /// Signals, after a commit, that the feed of a database has moved. Must return at once.
    func feedMoved(_ database: DatabaseID)

    /// Signals, after a commit, the tasks that it left, with the earliest due time of each kind. Must return at once.
    func tasksLeft(due: [TaskKind: Timestamp])
}

/// Hints for a cloud without listeners.
package struct NoHints: Hints {
    package init() {}
    package func feedMoved(_ database: DatabaseID) {}
    package func tasksLeft(due: [TaskKind: Timestamp]) {}
}

/// The other servers over a store: an engine that several processes have open passes hints between them.
///
/// Hints are of use alone: an engine may merge, delay and lose them, and sends them outside of transactions. They name
/// databases, and nothing that is in these.
package protocol Neighbours: Sendable {
    /// Tells the other servers, after a commit, that the feed of a database has moved. Must return at once.
    func tell(_ database: DatabaseID)

    /// Calls `ear` from now on with each database of which another server tells, on any thread. `ear` must return at
    /// once. One ear at a time: a later call takes the place of an earlier one.
    func listen(_ ear: @escaping @Sendable (DatabaseID) -> Void)
}

/// A store that, after each commit, hands its tasks to this process and sends hints about them.
package struct HintingStore: Store {
    package let store: any Store
    package let hints: any Hints
    package let handed: HandedTasks

    package init(store: any Store, hints: any Hints, handed: HandedTasks) {
        self.store = store
        self.hints = hints
        self.handed = handed
    }

    package func write<Value: Sendable>(_ body: @escaping @Sendable (any WriteTransaction) throws -> Ending<Value>) async throws -> Value {
        let (value, tasks) = try await store.write { transaction -> Ending<(Value, [TaskRow])> in
            switch try body(transaction) {
            case .commit(let value): .commit((value, transaction.tasksPut))
            case .rollback(let value): .rollback((value, []))
            }
        }
        if tasks.isEmpty { return value }
        if let telling = tasks.first(where: { $0.key.kind == .fireSubscriptions }) { WorkMeter.current?.note { $0.telling = telling.key } }
        hints.tasksLeft(due: handed.take(over: tasks))
        return value
    }

    package func read<Value: Sendable>(_ body: @escaping @Sendable (any ReadTransaction) throws -> Value) async throws -> Value {
        try await store.read(body)
    }

    package var neighbours: (any Neighbours)? { store.neighbours }

    package func close() async {
        await store.close()
    }
}
