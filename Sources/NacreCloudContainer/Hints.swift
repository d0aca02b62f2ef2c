package import NacreCloudWire

/// Tells those who wait that there may be something to look at, in this process or in others over the same store.
///
/// It is only a hint: it can be late, come twice or get lost. A listener that gets one asks the store, and also asks now and then without one.
package protocol Hints: Sendable {
    /// After the commit: the feed of a database has moved. Must return at once.
    func feedMoved(_ database: DatabaseID)

    /// After the commit: it left tasks, of which the earliest of each kind is due then. Must return at once.
    func tasksLeft(due: [TaskKind: Timestamp])
}

/// For a cloud without listeners.
package struct NoHints: Hints {
    package init() {}
    package func feedMoved(_ database: DatabaseID) {}
    package func tasksLeft(due: [TaskKind: Timestamp]) {}
}

/// A store that hands over, after each commit, the tasks that it left to this process, and hints at all.
struct HintingStore: Store {
    let store: any Store
    let hints: any Hints
    let handed: HandedTasks

    func write<Value: Sendable>(_ body: @escaping @Sendable (any WriteTransaction) throws -> Ending<Value>) async throws -> Value {
        let (value, tasks) = try await store.write { transaction -> Ending<(Value, [TaskRow])> in
            switch try body(transaction) {
            case .commit(let value): .commit((value, transaction.tasksPut))
            case .rollback(let value): .rollback((value, []))
            }
        }
        if !tasks.isEmpty { hints.tasksLeft(due: handed.take(over: tasks)) }
        return value
    }

    func read<Value: Sendable>(_ body: @escaping @Sendable (any ReadTransaction) throws -> Value) async throws -> Value {
        try await store.read(body)
    }

    func close() async {
        await store.close()
    }
}
