package import NacreCloudContainer
import NacreLocks

/// The engine without a disk: what every other engine is compared with, and a cloud for tests.
///
/// Bodies run on the caller's thread, one write at a time under a lock: they are synchronous, short and wait for nothing, so a
/// thread of their own would only cost a hop. Reads run beside writes on the state that the last finished write left. Nothing is durable.
package final class MemoryStore: Store {
    private let state: Locked<MemoryState?>

    /// - Parameter run: see `beginRun`.
    package init(run: Int64 = Run.first) {
        state = Locked(MemoryState(run: run))
    }

    /// From now on changes are of this run, as if the store had been opened anew.
    package func beginRun(_ run: Int64) {
        state.withLock { $0?.run = run }
    }

    /// What is kept now: a copy.
    package var copy: MemoryCopy? {
        state.withLock { $0.map(MemoryCopy.init) }
    }

    /// A store that begins with a copy, in a run of its own.
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
        try state.withLock { current in
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
        let transaction = MemoryTransaction(snapshot, endsWithTask: true)
        defer { transaction.end() }
        return try body(transaction)
    }

    package func close() async {
        state.withLock { $0 = nil }
    }
}

/// What a `MemoryStore` kept at some time.
package struct MemoryCopy: Sendable {
    let state: MemoryState

    /// Runs `body` on what was kept. What it writes is seen by it alone.
    package func attempt<Value>(_ body: (any WriteTransaction) throws -> Value) throws -> Value {
        let transaction = MemoryTransaction(state)
        defer { transaction.end() }
        let value = try body(transaction)
        if let failure = transaction.failure { throw failure }
        return value
    }
}
