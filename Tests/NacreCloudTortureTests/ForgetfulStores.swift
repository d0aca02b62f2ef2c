import NacreCloudContainer
import NacreCloudStorage
import NacreCloudTestSupport

/// A store in which deleted subscriptions stay and fire.
final class UndyingSubscriptionStore: BendingStore {
    let below: any Store

    init(_ store: any Store) {
        below = store
    }

    func bent(_ plan: WritePlan) -> WritePlan {
        guard plan.entriesRemoved.contains(where: { $0.kind == .subscription }) else { return plan }
        var plan = plan
        // Their counters stay, too.
        let kinds: Set<EntryKind> = [.subscription, .subscriptionTerm, .subscribed]
        plan.entriesRemoved.removeAll { kinds.contains($0.kind) }
        plan.entries.removeAll { kinds.contains($0.key.kind) }
        return plan
    }
}

/// A store in which a signed-out device stays signed in.
final class UndyingDeviceStore: BendingStore {
    let below: any Store

    init(_ store: any Store) {
        below = store
    }

    func bent(_ plan: WritePlan) -> WritePlan {
        var plan = plan
        plan.entriesRemoved.removeAll { $0.kind == .accountToken }
        return plan
    }
}
