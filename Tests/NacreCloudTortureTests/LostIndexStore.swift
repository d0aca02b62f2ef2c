import NacreCloudContainer
import NacreCloudStorage
import NacreCloudTestSupport
import NacreLocks

/// A store that sometimes keeps a record without its index rows, so that queries do not find it.
final class LostIndexStore: BendingStore {
    private static let lostOnceIn = 8

    let below: any Store
    private let writes = Locked(0)

    init(_ store: any Store) {
        below = store
    }

    func bent(_ plan: WritePlan) -> WritePlan {
        guard plan.records.contains(where: { !$0.indexed.isEmpty }), isLost() else { return plan }
        var plan = plan
        for index in plan.records.indices { plan.records[index].indexed = [] }
        return plan
    }

    /// Counts plans with index rows, and returns true for one in so many.
    private func isLost() -> Bool {
        writes.withLock { writes in
            writes += 1
            return writes % Self.lostOnceIn == 0
        }
    }
}
