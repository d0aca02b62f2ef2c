import NacreCloudContainer
package import NacreCloudStorage
import NacreLocks

/// A store that counts the bytes of record bodies that it returns.
package final class BodyTally: LayeredStore {
    private struct Count {
        var bytes = 0
        var mostOfOneCall = 0
        var mostOfOneWrite = 0
    }

    package let below: any Store
    private let count = Locked(Count())

    package init(_ store: any Store) {
        below = store
    }

    /// Bytes since `reset`.
    package var bytes: Int { count.withLock { $0.bytes } }
    package var mostOfOneCall: Int { count.withLock { $0.mostOfOneCall } }
    /// The most bytes in one write transaction.
    package var mostOfOneWrite: Int { count.withLock { $0.mostOfOneWrite } }

    package func reset() {
        count.withLock { $0 = Count() }
    }

    package func write<Value: Sendable>(
        _ body: @escaping @Sendable (any WriteTransaction) throws -> Ending<Value>
    ) async throws -> Value {
        try await below.write { [count] transaction in
            let before = count.withLock { $0.bytes }
            let observed = ObservedTransaction(transaction) { _ in }
            observed.read = { Self.add($0, to: count) }
            defer { count.withLock { $0.mostOfOneWrite = max($0.mostOfOneWrite, $0.bytes - before) } }
            return try body(observed)
        }
    }

    package func read<Value: Sendable>(_ body: @escaping @Sendable (any ReadTransaction) throws -> Value) async throws -> Value {
        try await below.read { [count] transaction in
            let observed = ObservedReads(transaction) { _ in }
            observed.read = { Self.add($0, to: count) }
            return try body(observed)
        }
    }

    private static func add(_ bytes: Int, to count: Locked<Count>) {
        count.withLock { count in
            count.bytes += bytes
            count.mostOfOneCall = max(count.mostOfOneCall, bytes)
        }
    }
}
