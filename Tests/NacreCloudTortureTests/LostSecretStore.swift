import NacreCloudContainer
import NacreCloudStorage
import NacreCloudTestSupport
import NacreLocks

/// A store that sometimes keeps the older version of a record with encrypted values, and says that it has the newer
/// one.
final class LostSecretStore: BendingStore {
    private static let lostOnceIn = 8

    let below: any Store
    private let writes = Locked(0)

    init(_ store: any Store) {
        below = store
    }

    func bent(_ plan: WritePlan) -> WritePlan {
        guard let index = plan.records.firstIndex(where: { $0.row.type == "Secret" && !$0.row.isTombstone }), isLost() else { return plan }
        var plan = plan
        plan.records.remove(at: index)
        return plan
    }

    /// Counts plans with such records, and returns true for one in so many.
    private func isLost() -> Bool {
        writes.withLock { writes in
            writes += 1
            return writes % Self.lostOnceIn == 0
        }
    }
}
