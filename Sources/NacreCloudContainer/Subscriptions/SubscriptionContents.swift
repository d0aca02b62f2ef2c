import NacreCloudWire

/// The contents of a user's subscriptions in a database. CloudKit: two subscriptions have different contents, whatever
/// their IDs.
///
/// The content is what makes a subscription fire: its kind and zone, its record type with the filters in any order, and
/// its events with `firesOnce`. The notification is no part of it.
struct SubscriptionContents {
    /// The ID of the subscription with a content, by the content's bytes.
    private var holders: [[UInt8]: String] = [:]

    /// - Parameter operations: the changes of a request, which deletes some of the subscriptions.
    init(_ subscriptions: some Sequence<Subscription>, without operations: [SubscriptionOperation]) {
        let deleted = Set(operations.compactMap { if case .delete(let id) = $0 { id } else { nil } })
        if deleted.count == operations.count { return }
        for subscription in subscriptions where !deleted.contains(subscription.subscriptionID) {
            holders[Self.content(of: subscription)] = subscription.subscriptionID
        }
    }

    /// Returns what is wrong with saving a subscription beside the others; nil: nothing.
    /// - Parameter known: the subscription with its ID, which may keep its content.
    func fault(of subscription: Subscription, over known: Subscription?) -> ServerError? {
        let content = Self.content(of: subscription)
        guard let holder = holders[content], holder != subscription.subscriptionID, known.map(Self.content) != content else { return nil }
        return .duplicateSubscription(of: holder)
    }

    mutating func replace(_ known: Subscription?, by subscription: Subscription) {
        if let known, case let old = Self.content(of: known), holders[old] == known.subscriptionID { holders[old] = nil }
        holders[Self.content(of: subscription)] = subscription.subscriptionID
    }

    private static func content(of subscription: Subscription) -> [UInt8] {
        var kind = subscription.kind
        switch kind {
        case .query(var subscribed):
            subscribed.zoneID?.ownerRecordName = nil
            subscribed.query.sorts = []
            let type = subscribed.query.recordType
            subscribed.query.filters = subscribed.query.filters
                .map { ($0, Query(recordType: type, filters: [$0]).bytes) }
                .sorted { $0.1.lexicographicallyPrecedes($1.1) }
                .map(\.0)
            kind = .query(subscribed)
        case .zone(let zoneID, let recordType): kind = .zone(ZoneID(zoneName: zoneID.zoneName), recordType: recordType)
        case .database: break
        }
        return Subscription(subscriptionID: "", kind: kind).keptBytes
    }
}

extension Query {
    fileprivate var bytes: [UInt8] {
        var writer = JSONWriter()
        write(to: &writer)
        return writer.finish()
    }
}

extension ServerError {
    /// The reason and the codes are CloudKit's (15/2032).
    fileprivate static func duplicateSubscription(of id: String) -> ServerError {
        ServerError(
            .exists, "subscription is duplicate of '\(id)'", native: .serverRejectedRequest, internalCode: 2032, field: "subscription",
            remedy: "Use that one, save your content under its ID, or delete it first.")
    }
}
