import NacreCloudTestSupport
import NacreCloudWire
import NacreLocks

@testable import NacreCloudAccounts
@testable import NacreCloudContainer
@testable import NacreCloudStorage

/// A store that notifies every user with whom anything was ever shared of each change to a shared zone.
final class GossipingStore: BendingStore {
    let below: any Store
    private let state = Locked<(known: Set<DatabaseID>, count: Int64)>(([], 0))

    init(_ store: any Store) {
        below = store
    }

    func bent(_ plan: WritePlan) -> WritePlan {
        var plan = plan
        state.withLock { state in
            state.known.formUnion(plan.databases.filter { $0.key.scope == .shared }.map(\.id))
            guard let due = plan.tasks.first(where: { $0.key.kind == .tellParticipants })?.due, !plan.records.isEmpty else { return }
            for database in state.known {
                state.count += 1
                plan.tasks.append(
                    FireSubscriptions.task(
                        ofZonesIn: database, at: ChangeNumber(run: .max, seq: state.count), by: Caller(.user("_nobody")), due: due))
            }
        }
        return plan
    }
}
