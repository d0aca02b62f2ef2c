import NacreCloudContainer
import NacreCloudStorage
import NacreCloudTestSupport

/// A store that keeps at most half of the rows of an index build: indexes are marked complete, and are not.
final class LostBuildStore: BendingStore {
    let below: any Store

    init(_ store: any Store) {
        below = store
    }

    func bent(_ plan: WritePlan) -> WritePlan {
        var plan = plan
        plan.indexed = Array(plan.indexed.prefix(plan.indexed.count / 2))
        return plan
    }
}
