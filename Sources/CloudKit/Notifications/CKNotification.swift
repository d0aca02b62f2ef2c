public import Foundation
import NacreCloudWire

/// Lets an initializer return a subclass, as Apple's does.
public protocol __CKNotificationReading {}

extension __CKNotificationReading {
    /// Makes a notification of the matching subclass; nil if the dictionary is not CloudKit's, or is of another class
    /// than this one.
    ///
    /// - Parameter notificationDictionary: an object as `JSONSerialization` returns it, or a similar one of Swift
    ///   types. Invalid content never traps.
    public init?(fromRemoteNotificationDictionary notificationDictionary: [AnyHashable: Any]) {
        guard let notification = CKNotification.made(of: PayloadObject(notificationDictionary)) as? Self else { return nil }
        self = notification
    }
}

/// The message of a subscription. `init(fromRemoteNotificationDictionary:)` makes one of its subclasses, or this class
/// if the dictionary describes no change.
///
/// Notifications may be lost, merged or repeated: take them as a hint to fetch changes. Apple: iOS 8.
open class CKNotification: NSObject, __CKNotificationReading, @unchecked Sendable {
    // Sendable: every stored property, here and in the subclasses, is a `let` of a sendable type.

    /// The kind of subscription that sent the notification. Apple: iOS 8.
    ///
    /// Apple's enumeration comes from Objective-C and has no name for 0, which `@unknown default` matches.
    public enum NotificationType: Int, Sendable {
        /// CloudKit's dictionary describes no change.
        case unknown = 0
        /// A `CKQuerySubscription`.
        case query = 1
        /// A `CKRecordZoneSubscription`.
        case recordZone = 2
        /// A notification that was marked as read. Servers no longer send it.
        case readNotification = 3
        /// A `CKDatabaseSubscription`.
        case database = 4
    }

    /// The kind of subscription that sent the notification.
    public let notificationType: NotificationType
    /// The ID of the change, equal for all its notifications.
    public let notificationID: CKNotification.ID?
    /// The container that changed.
    public let containerIdentifier: String?
    /// The owner of the subscription.
    public let subscriptionOwnerUserRecordID: CKRecord.ID?
    /// Whether values were left out, because a notification's size is limited.
    public let isPruned: Bool
    /// The ID of the subscription. On this server: nil means that notifications were dropped, and the device should
    /// fetch all changes.
    public let subscriptionID: CKSubscription.ID?
    private let shown: ShownNotification

    fileprivate init(_ payload: NotificationPayload, type: NotificationType) {
        notificationType = type
        notificationID = payload.cloud["nid"].text.map(CKNotificationID.init(name:))
        containerIdentifier = payload.cloud["cid"].text
        subscriptionOwnerUserRecordID = payload.cloud["ckuserid"].text.map { CKRecordID(recordName: $0) }
        isPruned = payload.cloud["p"].isThere
        subscriptionID = payload.event["sid"].text
        shown = payload.shown
        super.init()
    }

    fileprivate static func made(of object: PayloadObject) -> CKNotification? {
        guard let cloud = object["ck"].object else { return nil }
        func payload(_ event: PayloadObject) -> NotificationPayload {
            NotificationPayload(cloud: cloud, event: event, shown: ShownNotification(object["aps"].object ?? PayloadObject()))
        }
        if let event = cloud["qry"].object { return CKQueryNotification(payload(event)) }
        if let event = cloud["fet"].object { return CKRecordZoneNotification(payload(event)) }
        if let event = cloud["met"].object { return CKDatabaseNotification(payload(event)) }
        return CKNotification(payload(PayloadObject()), type: .unknown)
    }

    // MARK: Visible parts. Apple: deprecated in iOS 17, in favour of UserNotifications.

    /// The text of the alert.
    open var alertBody: String? { shown.alert.body }
    /// The key of the app's localized text of the alert.
    open var alertLocalizationKey: String? { shown.alert.key }
    /// Values for the text of the alert.
    open var alertLocalizationArgs: [String]? { shown.alert.args }
    /// The title of the alert.
    open var title: String? { shown.title.body }
    /// The key of the app's localized title.
    open var titleLocalizationKey: String? { shown.title.key }
    /// Values for the title.
    open var titleLocalizationArgs: [String]? { shown.title.args }
    /// The second line of the alert.
    open var subtitle: String? { shown.subtitle.body }
    /// The key of the app's localized second line.
    open var subtitleLocalizationKey: String? { shown.subtitle.key }
    /// Values for the second line.
    open var subtitleLocalizationArgs: [String]? { shown.subtitle.args }
    /// The key of the app's localized text of the alert's button.
    open var alertActionLocalizationKey: String? { shown.actionKey }
    /// The image that is shown while the app starts.
    open var alertLaunchImage: String? { shown.launchImage }
    /// The number on the app's icon.
    open var badge: NSNumber? { shown.badge.map { NSNumber(value: $0) } }
    /// The name of the app's sound.
    open var soundName: String? { shown.soundName }
    /// The name of the app's set of actions.
    open var category: String? { shown.category }

    open override var description: String {
        "<\(type(of: self)): notificationID=\(notificationID?.name ?? "nil"), subscriptionID=\(subscriptionID ?? "nil")>"
    }
}

/// A record that a query subscription watches was created, changed or deleted. Apple: iOS 8.
open class CKQueryNotification: CKNotification, @unchecked Sendable {
    // Sendable: see `CKNotification`.

    /// The kind of change. Apple: iOS 8.
    public enum Reason: Int, Sendable {
        /// A new record matches.
        case recordCreated = 1
        /// A matching record was changed.
        case recordUpdated = 2
        /// A record that matched was deleted.
        case recordDeleted = 3
    }

    /// The kind of change; `recordUpdated` if the notification does not contain it.
    public let queryNotificationReason: Reason
    /// The record's ID; nil if it was left out.
    public let recordID: CKRecord.ID?
    /// The scope of the record's database.
    public let databaseScope: CKDatabase.Scope
    private let fields: [String: FieldValue]?

    fileprivate init(_ payload: NotificationPayload) {
        queryNotificationReason = payload.event["fo"].integer.flatMap(Reason.init) ?? .recordUpdated
        databaseScope = payload.scope ?? .public
        // The public database has only one zone, and its notifications leave the zone out.
        let zoneID = payload.zoneID(in: databaseScope) ?? .default
        recordID = payload.event["rid"].text.map { CKRecordID(recordName: $0, zoneID: zoneID) }
        fields = payload.event["af"].object?.fields
        super.init(payload, type: .query)
    }

    /// The values of the subscription's `desiredKeys` in a created or changed record.
    open var recordFields: [String: Any]? {
        let zoneID = recordID?.zoneID ?? .default
        return fields?.compactMapValues { $0.object(in: zoneID) }
    }
}

/// A zone that a zone subscription watches changed. Apple: iOS 8.
open class CKRecordZoneNotification: CKNotification, @unchecked Sendable {
    // Sendable: see `CKNotification`.

    /// The zone's ID; nil if it was left out.
    public let recordZoneID: CKRecordZone.ID?
    /// The scope of the zone's database.
    public let databaseScope: CKDatabase.Scope

    fileprivate init(_ payload: NotificationPayload) {
        databaseScope = payload.scope ?? .private
        recordZoneID = payload.zoneID(in: databaseScope)
        super.init(payload, type: .recordZone)
    }
}

/// A database that a database subscription watches changed. Apple: iOS 10.
open class CKDatabaseNotification: CKNotification, @unchecked Sendable {
    // Sendable: see `CKNotification`.

    /// The scope of the database that changed.
    public let databaseScope: CKDatabase.Scope

    fileprivate init(_ payload: NotificationPayload) {
        databaseScope = payload.scope ?? .private
        super.init(payload, type: .database)
    }
}
