import NacreCloudContainer
import NacreCloudTestSupport
import NacreLocks

/// A store that now and then keeps a record and forgets its index rows: records are all there, and queries do not find them.
final class LostIndexStore: Store {
    private static let lostOnceIn = 8

    private let store: any Store
    private let writes = Locked(0)

    init(_ store: any Store) {
        self.store = store
    }

    func write<Value: Sendable>(_ body: @escaping @Sendable (any WriteTransaction) throws -> Ending<Value>) async throws -> Value {
        let number = writes.withLock { writes in
            writes += 1
            return writes
        }
        guard number % Self.lostOnceIn == 0 else { return try await store.write(body) }
        return try await store.write { transaction in
            try body(
                bentTransaction(transaction) { plan in
                    var plan = plan
                    for place in plan.records.indices { plan.records[place].indexed = [] }
                    return plan
                })
        }
    }

    func read<Value: Sendable>(_ body: @escaping @Sendable (any ReadTransaction) throws -> Value) async throws -> Value {
        try await store.read(body)
    }

    func close() async {
        await store.close()
    }
}
