package import CloudContainer
import Locks

/// The engine without a disk: what every other engine is compared with, and a cloud for tests.
///
/// Bodies run on the caller's thread, one write at a time under a lock: they are synchronous, short and wait for nothing, so a
/// thread of their own would only cost a hop. Reads run beside writes on the state that the last finished write left. Nothing is durable.
package final class MemoryStore: Store {
    private let state = Locked<MemoryState?>(MemoryState())

    package init() {}

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
        let transaction = MemoryTransaction(snapshot)
        defer { transaction.end() }
        return try body(transaction)
    }

    package func close() async {
        state.withLock { $0 = nil }
    }
}
