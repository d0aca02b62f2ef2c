public import Foundation
import NacreCloudWire
import NacreLocks

/// A user's wish to be told of changes of a database: the base of the three kinds that there are, and abstract.
///
/// It belongs to the user who saves it, and all devices of that user are told, except the one that made a change. Compares by identity.
/// What is wrong with a subscription is told when it is saved, never by a trap. Apple: iOS 8.
open class CKSubscription: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
    // Sendable: the constants are `let`s, and what changes, here and in the subclasses, is in `Locked`.

    /// Names a subscription.
    public typealias ID = String

    /// Apple: iOS 8.
    public enum SubscriptionType: Int, Sendable {
        /// `CKQuerySubscription`.
        case query = 1
        /// `CKRecordZoneSubscription`.
        case recordZone = 2
        /// `CKDatabaseSubscription`.
        case database = 3
    }

    /// Unique among the user's subscriptions of a database, and not empty.
    public let subscriptionID: ID
    /// Which of the three kinds it is.
    public let subscriptionType: SubscriptionType
    private let shown: Locked<CKNotificationInfo?>

    init(subscriptionID: ID, type: SubscriptionType) {
        self.subscriptionID = subscriptionID
        subscriptionType = type
        shown = Locked(nil)
        super.init()
    }

    /// What its notifications show; copied when it is set. nil: they show nothing.
    open var notificationInfo: CKSubscription.NotificationInfo? {
        get { shown.withLock { $0 } }
        set { shown.withLock { $0 = newValue.map { CKNotificationInfo(wire: $0.wire) } } }
    }

    /// What it watches, as the server takes it.
    ///
    /// - Parameter now: what `now()` in a predicate stands for.
    func kind(now: Timestamp) throws(CKError) -> Subscription.Kind {
        throw .malformed("CKSubscription is abstract: save one of its subclasses")
    }

    /// A subscription of the same kind that watches the same.
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

    /// True: an archive is decoded by its class.
    public static var supportsSecureCoding: Bool { true }

    /// nil: an archive holds subscriptions of the three kinds, none of this class.
    public required init?(coder: NSCoder) { nil }

    /// An archive that holds no subscription reads as one without an ID, which no operation takes.
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
    /// As the server takes it.
    final func wire(now: Timestamp) throws(CKError) -> Subscription {
        guard !subscriptionID.isEmpty else { throw .malformed("A subscription needs an ID that is not empty") }
        return Subscription(subscriptionID: subscriptionID, kind: try kind(now: now), notificationInfo: notificationInfo?.wire)
    }

    /// A subscription as the server answered it.
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
