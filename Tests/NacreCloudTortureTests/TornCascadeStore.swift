import NacreCloudContainer
import NacreCloudStorage
import NacreCloudTestSupport

/// A store that leaves one record of each cascade behind: it stays, and the record it refers to is gone.
final class TornCascadeStore: BendingStore {
    let below: any Store

    init(_ store: any Store) {
        below = store
    }

    func bent(_ plan: WritePlan) -> WritePlan {
        var plan = plan
        let gone = Set(plan.records.filter(\.row.isTombstone).map(\.row.name))
        let follower = plan.records.firstIndex { put in put.row.isTombstone && put.unlinked.contains { gone.contains($0.target) } }
        if let follower { plan.records.remove(at: follower) }
        return plan
    }
}
