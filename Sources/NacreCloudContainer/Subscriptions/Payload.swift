package import NacreCloudStorage
package import NacreCloudWire

/// The content of a notification for Apple's services. CloudKit: `CKNotification`; Web Services, web courier's payload.
///
/// The badge and the bytes are not part of the value: each device has its own.
package struct Payload: Equatable, Sendable {
    /// The kind of notification, under the key by which clients tell the kinds apart.
    package enum Event: Equatable, Sendable {
        /// `qry`
        case query(reason: RecordTransition.Reason)
        /// `fet`
        case zone
        /// `met`
        case database
    }

    /// The urgency of a notification. CloudKit: `shouldSendContentAvailable` alone makes a background push. A
    /// notification that shows something is visible at once. Any other shows nothing and is not urgent.
    package enum Priority: UInt8, Hashable, Sendable {
        case low = 1
        case background = 5
        case visible = 10
    }

    package struct Alert: Equatable, Sendable {
        package var body: String?
        package var key: String?
        package var args: [String]?
        package var title: String?
        var titleKey: String?
        var titleArgs: [String]?
        package var subtitle: String?
        var subtitleKey: String?
        var subtitleArgs: [String]?
        package var actionKey: String?
        package var launchImage: String?

        fileprivate var isEmpty: Bool { self == Alert() }
    }

    package var event: Event
    /// The ID of the change, the same for all subscriptions that it fires.
    package var id: String?
    /// nil: the device missed some notifications, and should fetch everything.
    package var subscriptionID: String?
    package var container: String?
    package var user: String?
    package var scope: DatabaseKey.Scope
    package var zoneName: String?
    package var zoneOwner: String?
    package var recordName: String?
    var tellsReason = true
    package var alert = Alert()
    package var sound: String?
    package var category: String?
    package var countsBadge = false
    var isContentAvailable = false
    var isMutableContent = false
    package var fields: [RecordFields.Field] = []
    /// A device gets only the last of its undelivered notifications with the same ID.
    package var collapseID: String?
    package private(set) var isPruned = false

    /// Returns the payload without parts that do not fit, at any badge, as far as leaving parts out helps.
    ///
    /// Costs several times as much as writing it, where it is too large.
    func fitted(into room: Int = Limits.payloadBytes) -> Payload {
        var payload = self
        var count = payload.json(badge: .max).count
        for drop in Self.drops where count > room {
            let before = payload
            drop(&payload)
            guard payload != before else { continue }
            payload.isPruned = true
            count = payload.json(badge: .max).count
        }
        return payload
    }

    package var priority: Priority {
        if !alert.isEmpty || sound != nil || countsBadge { return .visible }
        return isContentAvailable ? .background : .low
    }

    /// Parts left out for lack of room, in order. CloudKit: the order of importance in `CKNotification`'s header,
    /// reversed.
    private static let drops: [@Sendable (inout Payload) -> Void] = [
        { $0.alert.subtitle = nil }, { $0.alert.subtitleArgs = nil }, { $0.alert.subtitleKey = nil },
        { $0.alert.title = nil }, { $0.alert.titleArgs = nil }, { $0.alert.titleKey = nil },
        { $0.user = nil }, { $0.container = nil },
        { $0.recordName = nil }, { ($0.zoneName, $0.zoneOwner) = (nil, nil) }, { $0.tellsReason = false }, { $0.fields = [] },
        { $0.isContentAvailable = false }, { $0.category = nil }, { $0.sound = nil },
        { $0.alert.launchImage = nil }, { $0.alert.actionKey = nil }, { $0.alert.body = nil },
        { $0.alert.args = nil }, { $0.alert.key = nil }, { $0.countsBadge = false }, { $0.id = nil },
    ]

    // MARK: Writing

    /// Returns the bytes that are sent to a device.
    /// - Parameter badge: the device's badge, used where the payload counts it.
    package func json(badge: Int64) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.key("aps")
        writer.beginObject()
        write(alert, to: &writer)
        if countsBadge { writer.write("badge", badge) }
        writer.write(ifPresent: "sound", sound)
        if isContentAvailable { writer.write("content-available", Int64(1)) }
        if isMutableContent { writer.write("mutable-content", Int64(1)) }
        writer.write(ifPresent: "category", category)
        writer.endObject()
        writer.key("ck")
        writer.beginObject()
        writer.write("ce", Int64(2))
        writer.write(ifPresent: "nid", id)
        writer.write(ifPresent: "cid", container)
        writer.write(ifPresent: "ckuserid", user)
        if isPruned { writer.write("p", Int64(1)) }
        writeEvent(to: &writer)
        writer.endObject()
        writer.endObject()
        return writer.finish()
    }

    private func write(_ alert: Alert, to writer: inout JSONWriter) {
        if alert.isEmpty { return }
        if let body = alert.body, alert == Alert(body: body) {
            writer.write("alert", body)
            return
        }
        writer.key("alert")
        writer.beginObject()
        writer.write(ifPresent: "body", alert.body)
        writer.write(ifPresent: "title", alert.title)
        writer.write(ifPresent: "subtitle", alert.subtitle)
        writer.write(ifPresent: "loc-key", alert.key)
        writer.write(ifPresent: "loc-args", alert.args)
        writer.write(ifPresent: "title-loc-key", alert.titleKey)
        writer.write(ifPresent: "title-loc-args", alert.titleArgs)
        writer.write(ifPresent: "subtitle-loc-key", alert.subtitleKey)
        writer.write(ifPresent: "subtitle-loc-args", alert.subtitleArgs)
        writer.write(ifPresent: "action-loc-key", alert.actionKey)
        writer.write(ifPresent: "launch-image", alert.launchImage)
        writer.endObject()
    }

    private func writeEvent(to writer: inout JSONWriter) {
        switch event {
        case .query: writer.key("qry")
        case .zone: writer.key("fet")
        case .database: writer.key("met")
        }
        writer.beginObject()
        writer.write(ifPresent: "sid", subscriptionID)
        writer.write(ifPresent: "rid", recordName)
        if tellsReason, case .query(let reason) = event { writer.write("fo", Int64(reason.rawValue)) }
        writer.write(ifPresent: "zid", zoneName)
        writer.write(ifPresent: "zoid", zoneOwner)
        writer.write("dbs", scope.number)
        if !fields.isEmpty {
            writer.key("af")
            writer.beginObject()
            for field in fields {
                writer.key(field.name)
                field.value.writeInPayload(to: &writer)
            }
            writer.endObject()
        }
        writer.endObject()
    }
}

extension Payload {
    /// Makes a payload with no more than its event and its scope.
    package init(of event: Event, in scope: DatabaseKey.Scope) {
        self.init(event: event, scope: scope)
    }
}

extension DatabaseKey.Scope {
    /// The raw value of `CKDatabase.Scope`.
    fileprivate var number: Int64 {
        switch self {
        case .public: 1
        case .private: 2
        case .shared: 3
        case .registry: 0
        }
    }
}

extension FieldValue {
    /// Writes texts and numbers as JSON values, and times, places and references as records have them.
    fileprivate func writeInPayload(to writer: inout JSONWriter) {
        switch self {
        case .string(let text): writer.string(text)
        case .int64(let number): writer.integer(number)
        case .double(let number): writer.double(number)
        default: write(to: &writer, form: ValueForm(details: false, numbersAsStrings: false))
        }
    }

    /// The argument of a localized text; nil for types without one. CloudKit: strings over 100 characters may be cut.
    fileprivate var argument: String? {
        switch self {
        case .string(let text): String(text.prefix(Limits.notificationTextCharacters))
        case .int64(let number): String(number)
        case .double(let number): String(number)
        case .timestamp(let time): String(time.millisecondsSince1970)
        default: nil
        }
    }

    /// The value in a notification; nil for types that none carries, as encrypted ones. CloudKit: `desiredKeys`.
    fileprivate var carried: FieldValue? {
        switch self {
        case .string(let text): .string(String(text.prefix(Limits.notificationTextCharacters)))
        case .int64, .double, .timestamp, .location, .reference: self
        default: nil
        }
    }
}

extension Payload {
    /// Makes the payload of a subscription that fired.
    /// - Parameters:
    ///   - transition: the change of the record; nil: zones came or went.
    ///   - zoneName: the zone of the record.
    package init(
        _ subscription: Subscription, for transition: RecordTransition?, id: String, user: String, in zoneName: String, of database: DatabaseKey
    ) {
        switch subscription.kind {
        case .query: event = .query(reason: transition?.reason ?? .updated)
        case .zone: event = .zone
        case .database: event = .database
        }
        self.id = id
        subscriptionID = subscription.subscriptionID
        container = database.container
        self.user = user
        scope = database.scope
        if event != .database {
            let zone = database.zoneID(zoneName)
            (self.zoneName, zoneOwner) = (zone.zoneName, zone.ownerRecordName ?? ZoneID.defaultOwnerName)
        }
        if case .query = event { recordName = transition?.record.row.name }
        if let info = subscription.notificationInfo { show(info, of: transition) }
    }

    private mutating func show(_ info: NotificationInfo, of transition: RecordTransition?) {
        let shown: RecordTransition? = if case .query = event { transition } else { nil }
        func value(_ name: String) -> FieldValue? { shown?.record.content.fields[name] }
        func arguments(_ names: [String]?) -> [String]? { names?.map { value($0)?.argument ?? "" } }
        alert = Alert(
            body: info.alertBody, key: info.alertLocalizationKey, args: arguments(info.alertLocalizationArgs), title: info.title,
            titleKey: info.titleLocalizationKey, titleArgs: arguments(info.titleLocalizationArgs), subtitle: info.subtitle,
            subtitleKey: info.subtitleLocalizationKey, subtitleArgs: arguments(info.subtitleLocalizationArgs),
            actionKey: info.alertActionLocalizationKey, launchImage: info.alertLaunchImage)
        sound = info.soundName
        category = info.category
        countsBadge = info.shouldBadge
        isContentAvailable = info.shouldSendContentAvailable
        isMutableContent = info.shouldSendMutableContent
        // CloudKit: `recordFields` come with creations and updates.
        if let shown, shown.reason != .deleted {
            fields = (info.additionalFields ?? []).compactMap { name in value(name)?.carried.map { RecordFields.Field(name, $0) } }
        }
        collapseID = info.collapseIDKey.flatMap(value)?.argument
    }

    /// Returns the payload that tells a device to fetch everything, because it was not told of every change.
    package static func fetchEverything(of scope: DatabaseKey.Scope, user: String, in container: String, id: String) -> Payload {
        var payload = Payload(event: .database, id: id, container: container, user: user, scope: scope)
        payload.isContentAvailable = true
        return payload
    }

    /// The key of notifications that show nothing and of which a device gets the last undelivered one. The device then
    /// fetches the changes of a zone, or everything, once. nil: all are delivered.
    package var coalescing: String? {
        guard let subscriptionID else { return "everything \(scope.rawValue)" }
        guard priority != .visible else { return nil }
        switch event {
        case .query: return nil
        case .zone: return "fet \(subscriptionID) \(zoneName ?? "")"
        case .database: return "met \(subscriptionID)"
        }
    }
}
