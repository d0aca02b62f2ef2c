import NacreCloudContainer
import NacreCloudTestSupport

/// A store that keeps no departures: what leaves a share is there for its owner alone, and its participants are not told that it went.
final class LostDepartureStore: BendingStore {
    let below: any Store

    init(_ store: any Store) {
        below = store
    }

    func bent(_ plan: WritePlan) -> WritePlan {
        var plan = plan
        for place in plan.records.indices { plan.records[place].enters.removeAll { $0.isDeparture && $0.place.view != .owner } }
        return plan
    }
}
