import NacreCloudContainer
import NacreCloudStorage
import NacreCloudTestSupport

/// A store that sometimes forgets notifications: the records are all there, and some changes are not announced.
final class SilentStore: BendingStore {
    let below: any Store

    init(_ store: any Store) {
        below = store
    }

    func bent(_ plan: WritePlan) -> WritePlan {
        var plan = plan
        // One in three, by the last digit of its change.
        plan.tasks.removeAll { $0.key.kind == .fireSubscriptions && $0.payload.reduce(0) { ($0 &+ Int($1)) } % 3 == 0 && $0.isHandedOver }
        return plan
    }
}
