import NacreCloudContainer
import NacreCloudStorage
import NacreCloudTestSupport

/// A store that keeps no departures: a record that leaves a share is there for its owner alone, and the participants
/// are not told.
final class LostDepartureStore: BendingStore {
    let below: any Store

    init(_ store: any Store) {
        below = store
    }

    func bent(_ plan: WritePlan) -> WritePlan {
        var plan = plan
        for index in plan.records.indices { plan.records[index].enters.removeAll { $0.isDeparture && $0.position.view != .owner } }
        return plan
    }
}
