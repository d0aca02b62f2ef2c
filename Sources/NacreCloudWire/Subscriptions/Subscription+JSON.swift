extension Subscription {
    package init(from reader: inout JSONReader) throws(JSONError) {
        let draft = try SubscriptionDraft(from: &reader)
        self = try draft.subscription(from: reader)
    }

    /// Writes the subscription.
    /// - Parameter form: The form of the query's values, and of zones.
    package func write(to writer: inout JSONWriter, form: ValueForm) {
        writer.beginObject()
        writer.write("subscriptionID", subscriptionID)
        writer.write("subscriptionType", type.rawValue)
        switch kind {
        case .query(let subscribed):
            writer.key("query")
            subscribed.query.write(to: &writer, form: form)
            if let zoneID = subscribed.zoneID {
                writer.write("zoneID", zoneID, asAnswer: form.isAnswer)
            } else {
                writer.write("zoneWide", true)
            }
            writer.write("firesOn", FiresOn.names.filter { subscribed.firesOn.contains($0.change) }) { $0.string($1.name) }
            if subscribed.firesOnce { writer.write("firesOnce", true) }
        case .zone(let zoneID, let recordType):
            writer.write("zoneID", zoneID, asAnswer: form.isAnswer)
            writer.write(ifPresent: "recordType", recordType)
        case .database(let recordType):
            writer.write("zoneWide", true)
            writer.write(ifPresent: "recordType", recordType)
        }
        if let notificationInfo {
            writer.key("notificationInfo")
            notificationInfo.write(to: &writer)
        }
        writer.endObject()
    }

    private var type: SubscriptionType {
        switch kind {
        case .query: .query
        case .zone, .database: .zone
        }
    }
}

/// `subscriptionType`. CloudKit JS has a name for database subscriptions, which the reference does not have: it is
/// read and never written.
private enum SubscriptionType: String {
    case query
    case zone
    case database
}

/// A subscription's members, collected in any order; in an answer it may be a deleted one, or an error.
package struct SubscriptionDraft {
    private let start: Int
    private var subscriptionID: String?
    private var type: SubscriptionType?
    private var query: Query?
    private var zoneID: ZoneID?
    private var zoneWide: Bool?
    private var recordType: String?
    private var firesOn: FiresOn = []
    private var firesOnce = false
    private var notificationInfo: NotificationInfo?
    private(set) var isDeleted = false
    private var errorDraft = ErrorDraft()
    private var details = ItemExtension()

    package init(from reader: inout JSONReader) throws(JSONError) {
        start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "subscriptionID": subscriptionID = try reader.optionalString()
            case "subscriptionType": type = try reader.takeNull() ? nil : try reader.name(of: SubscriptionType.self)
            case "query": query = try reader.takeNull() ? nil : try Query(from: &reader)
            case "zoneID": zoneID = try reader.optionalZoneID()
            case "zoneWide": zoneWide = try reader.optionalBoolean()
            case "recordType": recordType = try reader.optionalString()
            case "firesOn": firesOn = try reader.takeNull() ? [] : try FiresOn(from: &reader)
            case "firesOnce": firesOnce = try reader.optionalBoolean() ?? false
            case "notificationInfo": notificationInfo = try reader.takeNull() ? nil : try NotificationInfo(from: &reader)
            case "deleted": isDeleted = try reader.optionalBoolean() ?? false
            case "nacre": details = try ItemExtension(from: &reader)
            default:
                if try errorDraft.take(key, from: &reader) { continue }
                try reader.skip()
            }
        }
    }

    var error: ServerError? { errorDraft.error(details) }

    package func subscriptionID(from reader: borrowing JSONReader) throws(JSONError) -> String {
        try reader.require(subscriptionID, "subscriptionID", at: start)
    }

    package func subscription(from reader: borrowing JSONReader) throws(JSONError) -> Subscription {
        Subscription(subscriptionID: try subscriptionID(from: reader), kind: try kind(from: reader), notificationInfo: notificationInfo)
    }

    /// Returns the kind. A query subscription without a zone is for every zone, or for the default zone if `zoneWide`
    /// is false.
    private func kind(from reader: borrowing JSONReader) throws(JSONError) -> Subscription.Kind {
        switch try reader.require(type, "subscriptionType", at: start) {
        case .query:
            return .query(
                SubscribedQuery(
                    query: try reader.require(query, "query", at: start), zoneID: zoneID ?? (zoneWide == false ? .defaultZone : nil),
                    firesOn: firesOn, firesOnce: firesOnce))
        case .zone where zoneWide != true: return .zone(try reader.require(zoneID, "zoneID", at: start), recordType: recordType)
        case .zone, .database: return .database(recordType: recordType)
        }
    }
}

extension FiresOn {
    fileprivate static let names: [(name: String, change: FiresOn)] = [("create", .create), ("update", .update), ("delete", .delete)]

    fileprivate init(from reader: inout JSONReader) throws(JSONError) {
        self = []
        try reader.beginArray()
        while try reader.nextElement() {
            try reader.expect(.string)
            let start = reader.offset
            let name = try reader.string()
            guard let change = Self.names.first(where: { $0.name == name })?.change else { throw JSONError(.unknownName, at: start) }
            insert(change)
        }
    }
}

extension NotificationInfo {
    package init(from reader: inout JSONReader) throws(JSONError) {
        self.init()
        try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "alertBody": alertBody = try reader.optionalString()
            case "alertLocalizationKey": alertLocalizationKey = try reader.optionalString()
            case "alertLocalizationArgs": alertLocalizationArgs = try reader.optionalNames()
            case "title": title = try reader.optionalString()
            case "titleLocalizationKey": titleLocalizationKey = try reader.optionalString()
            case "titleLocalizationArgs": titleLocalizationArgs = try reader.optionalNames()
            case "subtitle": subtitle = try reader.optionalString()
            case "subtitleLocalizationKey": subtitleLocalizationKey = try reader.optionalString()
            case "subtitleLocalizationArgs": subtitleLocalizationArgs = try reader.optionalNames()
            case "alertActionLocalizationKey": alertActionLocalizationKey = try reader.optionalString()
            case "alertLaunchImage": alertLaunchImage = try reader.optionalString()
            case "soundName": soundName = try reader.optionalString()
            case "shouldBadge": shouldBadge = try reader.optionalBoolean() ?? false
            case "shouldSendContentAvailable": shouldSendContentAvailable = try reader.optionalBoolean() ?? false
            case "shouldSendMutableContent": shouldSendMutableContent = try reader.optionalBoolean() ?? false
            case "additionalFields": additionalFields = try reader.optionalNames()
            case "category": category = try reader.optionalString()
            case "collapseIDKey": collapseIDKey = try reader.optionalString()
            default: try reader.skip()
            }
        }
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.write(ifPresent: "alertBody", alertBody)
        writer.write(ifPresent: "alertLocalizationKey", alertLocalizationKey)
        writer.write(ifPresent: "alertLocalizationArgs", alertLocalizationArgs)
        writer.write(ifPresent: "title", title)
        writer.write(ifPresent: "titleLocalizationKey", titleLocalizationKey)
        writer.write(ifPresent: "titleLocalizationArgs", titleLocalizationArgs)
        writer.write(ifPresent: "subtitle", subtitle)
        writer.write(ifPresent: "subtitleLocalizationKey", subtitleLocalizationKey)
        writer.write(ifPresent: "subtitleLocalizationArgs", subtitleLocalizationArgs)
        writer.write(ifPresent: "alertActionLocalizationKey", alertActionLocalizationKey)
        writer.write(ifPresent: "alertLaunchImage", alertLaunchImage)
        writer.write(ifPresent: "soundName", soundName)
        if shouldBadge { writer.write("shouldBadge", true) }
        if shouldSendContentAvailable { writer.write("shouldSendContentAvailable", true) }
        if shouldSendMutableContent { writer.write("shouldSendMutableContent", true) }
        writer.write(ifPresent: "additionalFields", additionalFields)
        writer.write(ifPresent: "category", category)
        writer.write(ifPresent: "collapseIDKey", collapseIDKey)
        writer.endObject()
    }
}
