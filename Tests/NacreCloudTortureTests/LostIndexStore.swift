import NacreCloudContainer
import NacreCloudTestSupport
import NacreLocks

/// A store that now and then keeps a record and forgets its index rows: records are all there, and queries do not find them.
final class LostIndexStore: LayeredStore {
    private static let lostOnceIn = 8

    let below: any Store
    private let writes = Locked(0)

    init(_ store: any Store) {
        below = store
    }

    func write<Value: Sendable>(_ body: @escaping @Sendable (any WriteTransaction) throws -> Ending<Value>) async throws -> Value {
        let number = writes.withLock { writes in
            writes += 1
            return writes
        }
        guard number % Self.lostOnceIn == 0 else { return try await below.write(body) }
        return try await below.write { transaction in
            try body(
                bentTransaction(transaction) { plan in
                    var plan = plan
                    for place in plan.records.indices { plan.records[place].indexed = [] }
                    return plan
                })
        }
    }
}
