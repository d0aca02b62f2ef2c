public import Foundation
import NacreCloudWire
import NacreLocks

/// A user's request for notifications of changes in a database. The abstract base of the three kinds.
///
/// A subscription belongs to the user who saves it. All devices of the user are notified, except the one that made the
/// change. Compares by identity. An invalid subscription fails when it is saved; nothing traps. Apple: iOS 8.
open class CKSubscription: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
    // Sendable: the constants are `let`s, and mutable state, here and in the subclasses, is in `Locked`.

    /// The type of a subscription's identifier.
    public typealias ID = String

    /// The kind of a subscription. Apple: iOS 8.
    public enum SubscriptionType: Int, Sendable {
        /// `CKQuerySubscription`.
        case query = 1
        /// `CKRecordZoneSubscription`.
        case recordZone = 2
        /// `CKDatabaseSubscription`.
        case database = 3
    }

    /// The identifier, unique among the user's subscriptions of a database, and not empty.
    public let subscriptionID: ID
    /// The kind of this subscription.
    public let subscriptionType: SubscriptionType
    private let shown: Locked<CKNotificationInfo?>

    init(subscriptionID: ID, type: SubscriptionType) {
        self.subscriptionID = subscriptionID
        subscriptionType = type
        shown = Locked(nil)
        super.init()
    }

    /// The visible parts of notifications; copied when set. nil: notifications show nothing.
    open var notificationInfo: CKSubscription.NotificationInfo? {
        get { shown.withLock { $0 } }
        set { shown.withLock { $0 = newValue.map { CKNotificationInfo(wire: $0.wire) } } }
    }

    /// Returns the watched changes in their wire form.
    ///
    /// - Parameter now: the value of `now()` in a predicate.
    func kind(now: Timestamp) throws(CKError) -> Subscription.Kind {
        throw .malformed("CKSubscription is abstract: save one of its subclasses")
    }

    /// Returns a subscription of the same kind with the same watched changes.
    func copied() -> CKSubscription {
        CKSubscription(subscriptionID: subscriptionID, type: subscriptionType)
    }

    open func copy(with zone: NSZone? = nil) -> Any {
        let copy = copied()
        copy.notificationInfo = notificationInfo
        return copy
    }

    open override var description: String { "<\(type(of: self)): \(subscriptionID)>" }

    // MARK: NSSecureCoding

    enum Key {
        static let subscriptionID = "SubscriptionID"
        static let notificationInfo = "NotificationInfo"
        static let recordType = "RecordType"
        static let zoneID = "ZoneID"
        static let query = "Query"
        static let options = "QuerySubscriptionOptions"
    }

    /// Always true: archives are decoded by class.
    public static var supportsSecureCoding: Bool { true }

    /// Always nil: an archive holds subscriptions of the three kinds, none of this class.
    public required init?(coder: NSCoder) { nil }

    /// Decodes a subscription. If the archive holds none, its ID is empty, and operations reject it.
    init(coder: NSCoder, type: SubscriptionType) {
        subscriptionID = coder.strings(forKeys: Key.subscriptionID)?[0] ?? ""
        subscriptionType = type
        shown = Locked(coder.object(of: CKNotificationInfo.self, forKey: Key.notificationInfo))
        super.init()
    }

    open func encode(with coder: NSCoder) {
        coder.encode(NSString(string: subscriptionID), forKey: Key.subscriptionID)
        if let notificationInfo { coder.encode(notificationInfo, forKey: Key.notificationInfo) }
    }
}

extension CKSubscription {
    /// Returns the subscription in its wire form.
    final func wire(now: Timestamp) throws(CKError) -> Subscription {
        guard !subscriptionID.isEmpty else { throw .malformed("A subscription needs an ID that is not empty") }
        return Subscription(subscriptionID: subscriptionID, kind: try kind(now: now), notificationInfo: notificationInfo?.wire)
    }

    /// Makes a subscription from its wire form.
    static func make(_ wire: Subscription, in scope: CKDatabase.Scope) -> CKSubscription {
        let subscription: CKSubscription
        switch wire.kind {
        case .query(let subscribed): subscription = CKQuerySubscription(wire: subscribed, id: wire.subscriptionID, in: scope)
        case .zone(let zoneID, let recordType):
            let zone = CKRecordZoneSubscription(zoneID: CKRecordZone.ID(wire: zoneID, in: scope), subscriptionID: wire.subscriptionID)
            zone.recordType = recordType
            subscription = zone
        case .database(let recordType):
            let database = CKDatabaseSubscription(subscriptionID: wire.subscriptionID)
            database.recordType = recordType
            subscription = database
        }
        subscription.notificationInfo = wire.notificationInfo.map(CKNotificationInfo.init(wire:))
        return subscription
    }
}
