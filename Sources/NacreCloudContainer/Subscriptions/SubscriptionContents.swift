import NacreCloudStorage
import NacreCloudWire

/// The contents of a user's subscriptions in a database. CloudKit: two subscriptions have different contents, whatever
/// their IDs.
struct SubscriptionContents {
    private let scope: DatabaseKey.Scope
    /// Content of each subscription, by ID.
    private var contents: [String: SubscriptionContent] = [:]
    /// IDs of the subscriptions with a content. Subscriptions that are older than the rule may share one.
    private var holders: [SubscriptionContent: [String]] = [:]
    /// Bytes of the contents that were encoded, which the request pays for.
    private(set) var bytes = 0

    /// - Parameter operations: the changes of a request, which deletes some of the subscriptions.
    init(_ subscriptions: some Sequence<Subscription>, without operations: [SubscriptionOperation], in scope: DatabaseKey.Scope) {
        self.scope = scope
        let deleted = Set(operations.compactMap { if case .delete(let id) = $0 { id } else { nil } })
        if !operations.isEmpty, deleted.count == operations.count { return }
        for subscription in subscriptions where !deleted.contains(subscription.subscriptionID) {
            keep(content(of: subscription), of: subscription.subscriptionID)
        }
    }

    /// Encodes the content of a subscription.
    mutating func content(of subscription: Subscription) -> SubscriptionContent {
        let content = SubscriptionContent(subscription, in: scope)
        bytes += content.bytes.count
        return content
    }

    /// Returns what is wrong with saving a content under an ID beside the others; nil: nothing. A subscription may keep
    /// the content that it has.
    func fault(of content: SubscriptionContent, under id: String) -> ServerError? {
        guard contents[id] != content, let holder = holders[content]?.first else { return nil }
        return .duplicateSubscription(of: holder)
    }

    /// Notes the content of a subscription that is saved, in place of the one that it had.
    mutating func keep(_ content: SubscriptionContent, of id: String) {
        if let old = contents.updateValue(content, forKey: id) { holders[old]?.removeAll { $0 == id } }
        holders[content, default: []].append(id)
    }
}

/// The content of a subscription is what makes it fire: its kind and zone, its record type with the filters in any
/// order, and its events with `firesOnce`. The notification is no part of it.
struct SubscriptionContent: Hashable {
    let bytes: [UInt8]

    init(_ subscription: Subscription, in scope: DatabaseKey.Scope) {
        var kind = subscription.kind
        switch kind {
        case .query(var subscribed):
            subscribed.zoneID?.ownerRecordName = nil
            // The public database has one zone, whether a subscription names it or not.
            if scope == .public { subscribed.zoneID = nil }
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
        bytes = Subscription(subscriptionID: "", kind: kind).keptBytes
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
