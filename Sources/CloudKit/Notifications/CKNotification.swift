public import Foundation
import NacreCloudWire

/// Lets an initializer hand out a subclass, as Apple's does.
public protocol __CKNotificationReading {}

extension __CKNotificationReading {
    /// A notification as it came, of the kind that it is; nil where it is none of CloudKit's, or of another class than this one.
    ///
    /// - Parameter notificationDictionary: what `JSONSerialization` reads, or the like in Swift's types. Anything may be in it: this never traps.
    public init?(fromRemoteNotificationDictionary notificationDictionary: [AnyHashable: Any]) {
        guard let notification = CKNotification.made(of: PayloadObject(notificationDictionary)) as? Self else { return nil }
        self = notification
    }
}

/// What a subscription has to tell: abstract, made by `init(fromRemoteNotificationDictionary:)` as one of its subclasses.
///
/// Notifications may be lost, come together as one, and come twice: take them as a hint to fetch what changed. Apple: iOS 8.
open class CKNotification: NSObject, __CKNotificationReading, @unchecked Sendable {
    // Sendable: everything stored, here and in the subclasses, is a `let` of sendable types.

    /// Apple: iOS 8.
    public enum NotificationType: Int, Sendable {
        /// Of a `CKQuerySubscription`.
        case query = 1
        /// Of a `CKRecordZoneSubscription`.
        case recordZone = 2
        /// Of notifications that were marked as read: no server sends it any more.
        case readNotification = 3
        /// Of a `CKDatabaseSubscription`.
        case database = 4
    }

    /// Which kind of subscription fired.
    public let notificationType: NotificationType
    /// Equal for all notifications of one change.
    public let notificationID: CKNotification.ID?
    /// The container in which something changed.
    public let containerIdentifier: String?
    /// Whose subscription fired.
    public let subscriptionOwnerUserRecordID: CKRecord.ID?
    /// Something was left out, because a notification has room for so much.
    public let isPruned: Bool
    /// nil: on this server, the device was not told of everything, and should fetch all changes.
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
        return nil
    }

    // MARK: What is shown. Apple: deprecated in iOS 17, in favour of UserNotifications.

    /// The text of the alert.
    open var alertBody: String? { shown.alert.body }
    /// Names the app's text of the alert.
    open var alertLocalizationKey: String? { shown.alert.key }
    /// Values for the text of the alert.
    open var alertLocalizationArgs: [String]? { shown.alert.args }
    /// The title of the alert.
    open var title: String? { shown.title.body }
    /// Names the app's text of the title.
    open var titleLocalizationKey: String? { shown.title.key }
    /// Values for the title.
    open var titleLocalizationArgs: [String]? { shown.title.args }
    /// The second line of the alert.
    open var subtitle: String? { shown.subtitle.body }
    /// Names the app's text of the second line.
    open var subtitleLocalizationKey: String? { shown.subtitle.key }
    /// Values for the second line.
    open var subtitleLocalizationArgs: [String]? { shown.subtitle.args }
    /// Names the app's text of the alert's button.
    open var alertActionLocalizationKey: String? { shown.actionKey }
    /// The image that is shown while the app starts.
    open var alertLaunchImage: String? { shown.launchImage }
    /// The number on the app's icon.
    open var badge: NSNumber? { shown.badge.map { NSNumber(value: $0) } }
    /// Names the app's sound.
    open var soundName: String? { shown.soundName }
    /// Names the actions that the app offers.
    open var category: String? { shown.category }

    open override var description: String {
        "<\(type(of: self)): notificationID=\(notificationID?.name ?? "nil"), subscriptionID=\(subscriptionID ?? "nil")>"
    }
}

/// A record came, changed or went that a query subscription watches. Apple: iOS 8.
open class CKQueryNotification: CKNotification, @unchecked Sendable {
    // Sendable: as `CKNotification` says.

    /// Apple: iOS 8.
    public enum Reason: Int, Sendable {
        /// A record is new, and matches.
        case recordCreated = 1
        /// A record that matches was changed.
        case recordUpdated = 2
        /// A record that matched is gone.
        case recordDeleted = 3
    }

    /// `recordUpdated` where the notification does not say.
    public let queryNotificationReason: Reason
    /// nil: left out.
    public let recordID: CKRecord.ID?
    /// The database in which the record is.
    public let databaseScope: CKDatabase.Scope
    private let fields: [String: FieldValue]?

    fileprivate init(_ payload: NotificationPayload) {
        queryNotificationReason = payload.event["fo"].integer.flatMap(Reason.init) ?? .recordUpdated
        databaseScope = payload.scope ?? .public
        // In the public database there is one zone, and notifications that leave it out.
        let zoneID = payload.zoneID(in: databaseScope) ?? .default
        recordID = payload.event["rid"].text.map { CKRecordID(recordName: $0, zoneID: zoneID) }
        fields = payload.event["af"].object?.fields
        super.init(payload, type: .query)
    }

    /// Values of the subscription's `desiredKeys`, of a record that came or changed.
    open var recordFields: [String: Any]? {
        let zoneID = recordID?.zoneID ?? .default
        return fields?.compactMapValues { $0.object(in: zoneID) }
    }
}

/// Something changed in a zone that a zone subscription watches. Apple: iOS 8.
open class CKRecordZoneNotification: CKNotification, @unchecked Sendable {
    // Sendable: as `CKNotification` says.

    /// nil: left out.
    public let recordZoneID: CKRecordZone.ID?
    /// The database in which the zone is.
    public let databaseScope: CKDatabase.Scope

    fileprivate init(_ payload: NotificationPayload) {
        databaseScope = payload.scope ?? .private
        recordZoneID = payload.zoneID(in: databaseScope)
        super.init(payload, type: .recordZone)
    }
}

/// Something changed in a database that a database subscription watches. Apple: iOS 10.
open class CKDatabaseNotification: CKNotification, @unchecked Sendable {
    // Sendable: as `CKNotification` says.

    /// The database in which something changed.
    public let databaseScope: CKDatabase.Scope

    fileprivate init(_ payload: NotificationPayload) {
        databaseScope = payload.scope ?? .private
        super.init(payload, type: .database)
    }
}
