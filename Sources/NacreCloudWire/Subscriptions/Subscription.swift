/// A user's subscription to changes. CloudKit: Web Services Reference, "Subscription Dictionary".
package struct Subscription: Equatable, Sendable {
    package enum Kind: Equatable, Sendable {
        case query(SubscribedQuery)
        /// - Parameter recordType: ours; nil: changes of any type.
        case zone(ZoneID, recordType: String?)
        /// Changes in any zone of the database but the default one; on the wire a zone subscription with `zoneWide`.
        /// - Parameter recordType: ours; nil: changes of any type.
        case database(recordType: String?)
    }

    /// Unique among the user's subscriptions of the database.
    package var subscriptionID: String
    package var kind: Kind
    /// nil: its notifications show nothing.
    package var notificationInfo: NotificationInfo?

    package init(subscriptionID: String, kind: Kind, notificationInfo: NotificationInfo? = nil) {
        self.subscriptionID = subscriptionID
        self.kind = kind
        self.notificationInfo = notificationInfo
    }
}

/// The query of a subscription, and the kinds of changes that fire it.
package struct SubscribedQuery: Equatable, Sendable {
    package var query: Query
    /// nil: every zone of the database.
    package var zoneID: ZoneID?
    package var firesOn: FiresOn
    /// Whether the subscription is deleted after its first notification.
    package var firesOnce: Bool

    package init(query: Query, zoneID: ZoneID? = nil, firesOn: FiresOn, firesOnce: Bool = false) {
        self.query = query
        self.zoneID = zoneID
        self.firesOn = firesOn
        self.firesOnce = firesOnce
    }
}

/// Kinds of changes of a record.
package struct FiresOn: OptionSet, Hashable, Sendable {
    package let rawValue: UInt

    package init(rawValue: UInt) {
        self.rawValue = rawValue
    }

    package static let create = FiresOn(rawValue: 1)
    package static let update = FiresOn(rawValue: 2)
    package static let delete = FiresOn(rawValue: 4)
    package static let all: FiresOn = [.create, .update, .delete]
}

/// The contents of a subscription's notifications. CloudKit: Web Services Reference, "Notification Info Dictionary",
/// and `CKSubscription.NotificationInfo`. The web's form has a part of these members; its titles, subtitles,
/// `shouldSendMutableContent` and `collapseIDKey` are ours.
///
/// Keys name texts of the app, which its device finds; arguments name fields of the record, whose values are inserted
/// into these texts.
package struct NotificationInfo: Equatable, Sendable {
    package var alertBody: String?
    package var alertLocalizationKey: String?
    package var alertLocalizationArgs: [String]?
    package var title: String?
    package var titleLocalizationKey: String?
    package var titleLocalizationArgs: [String]?
    package var subtitle: String?
    package var subtitleLocalizationKey: String?
    package var subtitleLocalizationArgs: [String]?
    package var alertActionLocalizationKey: String?
    package var alertLaunchImage: String?
    package var soundName: String?
    /// Whether the app's badge is increased.
    package var shouldBadge = false
    package var shouldSendContentAvailable = false
    package var shouldSendMutableContent = false
    /// Fields of the record whose values the notification carries. The framework's `desiredKeys`.
    package var additionalFields: [String]?
    package var category: String?
    /// A field of the record: if several undelivered notifications have the same value of it, a device shows the
    /// last.
    package var collapseIDKey: String?

    package init() {}
}
