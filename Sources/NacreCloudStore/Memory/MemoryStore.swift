package import NacreCloudStorage
import NacreLocks

/// The engine without a disk: the oracle for every other engine, and a cloud for tests. Nothing is durable. Bodies run
/// on the caller's thread, one write at a time under a lock. They are synchronous and short, so a thread of their own
/// would only cost a hop. Reads run beside writes, on the state after the last finished write.
package final class MemoryStore: Store {
    private let state: Locked<MemoryState?>

    package var neighbours: (any Neighbours)? { nil }

    /// - Parameter run: The first run; see `beginRun`.
    package init(run: Int64 = Run.first) {
        state = Locked(MemoryState(run: run))
    }

    /// Begins a run: later changes have its number, as if the store had been opened anew.
    package func beginRun(_ run: Int64) {
        state.withLock { $0?.run = run }
    }

    /// A copy of the present state; nil if the store is closed.
    package var copy: MemoryCopy? {
        state.withLock { $0.map(MemoryCopy.init) }
    }

    /// Creates a store that begins with a copy, in a run of its own.
    package convenience init(_ copy: MemoryCopy, run: Int64) {
        self.init(run: run)
        state.withLock { state in
            state = copy.state
            state?.run = run
        }
    }

    package func write<Value: Sendable>(
        _ body: @escaping @Sendable (any WriteTransaction) throws -> Ending<Value>
    ) async throws -> Value {
        let submitted = ContinuousClock.now
        return try state.withLock { current in
            let begun = ContinuousClock.now
            defer { WorkMeter.current?.noteStore(from: submitted, begun, to: .now) }
            guard let original = current else { throw StoreError.closed }
            let transaction = MemoryTransaction(original)
            defer { transaction.end() }
            let ending = try body(transaction)
            if let failure = transaction.failure { throw failure }
            switch ending {
            case .commit(let value):
                current = transaction.state
                return value
            case .rollback(let value):
                return value
            }
        }
    }

    package func read<Value: Sendable>(_ body: @escaping @Sendable (any ReadTransaction) throws -> Value) async throws -> Value {
        guard let snapshot = state.withLock({ $0 }) else { throw StoreError.closed }
        try Task.checkCancellation()
        let begun = ContinuousClock.now
        defer { WorkMeter.current?.noteStore(from: begun, begun, to: .now) }
        let transaction = MemoryTransaction(snapshot, endsWithTask: true)
        defer { transaction.end() }
        return try body(transaction)
    }

    package func close() async {
        state.withLock { $0 = nil }
    }
}

/// The state of a `MemoryStore` at some moment.
package struct MemoryCopy: Sendable {
    let state: MemoryState

    /// Runs `body` on the copied state. Only `body` sees its own writes.
    package func attempt<Value>(_ body: (any WriteTransaction) throws -> Value) throws -> Value {
        let transaction = MemoryTransaction(state)
        defer { transaction.end() }
        let value = try body(transaction)
        if let failure = transaction.failure { throw failure }
        return value
    }
}
