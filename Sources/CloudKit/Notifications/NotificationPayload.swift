import Foundation
import NacreCloudWire

/// A JSON object in a dictionary from an untrusted source. A member of the wrong type counts as missing.
struct PayloadObject {
    private var members: [String: Any] = [:]

    init() {}

    init(_ dictionary: [AnyHashable: Any]) {
        for (key, value) in dictionary {
            guard let name = PayloadValue(any: key.base).text else { continue }
            members[name] = value
        }
    }

    init?(any value: Any?) {
        if let object = value as? [String: Any] {
            self.init()
            members = object
        } else if let dictionary = value as? [AnyHashable: Any] {
            self.init(dictionary)
        } else {
            return nil
        }
    }

    subscript(name: String) -> PayloadValue { PayloadValue(any: members[name]) }

    /// The fields of a record in a notification: texts and numbers as they are, other values in their wire form.
    var fields: [String: FieldValue] { members.compactMapValues { PayloadValue(any: $0).fieldValue } }

    /// The object as JSON; nil if it contains a value that JSON lacks.
    fileprivate var json: String? {
        guard JSONSerialization.isValidJSONObject(members), let data = try? JSONSerialization.data(withJSONObject: members) else { return nil }
        return String(decoding: data, as: UTF8.self)
    }
}

struct PayloadValue {
    let any: Any?

    var object: PayloadObject? { PayloadObject(any: any) }

    /// Whether the value is neither absent nor null.
    var isThere: Bool {
        guard let any else { return false }
        return !(any is NSNull)
    }

    var text: String? { (any as? String) ?? (any as? NSString).map { String($0) } }

    var integer: Int? { (any as? Int) ?? (any as? NSNumber).flatMap { Int(exactly: $0.doubleValue) } }

    /// The texts in a list.
    var texts: [String]? { (any as? [Any])?.compactMap { PayloadValue(any: $0).text } }

    var fieldValue: FieldValue? {
        if let text { return .string(text) }
        if let object { return object.json.flatMap { FieldValue(filterValue: $0) } }
        if let integer { return .int64(Int64(integer)) }
        if let double = any as? Double ?? (any as? NSNumber)?.doubleValue, double.isFinite { return .double(double) }
        return (any as? Bool).map { .int64($0 ? 1 : 0) }
    }
}

/// The parts of a notification, in the form of the push services; see "Notifications" in `docs/wire.md`.
struct NotificationPayload {
    /// CloudKit's part, under `ck`.
    var cloud: PayloadObject
    /// The description of the change.
    var event: PayloadObject
    var shown: ShownNotification

    var scope: CKDatabase.Scope? { event["dbs"].integer.flatMap(CKDatabase.Scope.init) }

    /// Returns the zone's ID; nil if the event has none.
    func zoneID(in scope: CKDatabase.Scope) -> CKRecordZone.ID? {
        event["zid"].text.map { CKRecordZone.ID(wire: ZoneID(zoneName: $0, ownerRecordName: event["zoid"].text), in: scope) }
    }
}

/// The visible parts of a notification.
struct ShownNotification: Sendable {
    /// A text, or the key of one of the app's texts with its arguments.
    struct Text: Sendable {
        var body: String?
        var key: String?
        var args: [String]?
    }

    let alert: Text
    let title: Text
    let subtitle: Text
    let actionKey: String?
    let launchImage: String?
    let badge: Int?
    let soundName: String?
    let category: String?

    /// - Parameter aps: an object whose `alert` is a text or an object.
    init(_ aps: PayloadObject) {
        let parts = aps["alert"].object ?? PayloadObject()
        alert = Text(body: aps["alert"].text ?? parts["body"].text, key: parts["loc-key"].text, args: parts["loc-args"].texts)
        title = Text(body: parts["title"].text, key: parts["title-loc-key"].text, args: parts["title-loc-args"].texts)
        subtitle = Text(body: parts["subtitle"].text, key: parts["subtitle-loc-key"].text, args: parts["subtitle-loc-args"].texts)
        actionKey = parts["action-loc-key"].text
        launchImage = parts["launch-image"].text
        badge = aps["badge"].integer
        soundName = aps["sound"].text ?? aps["sound"].object?["name"].text
        category = aps["category"].text
    }
}
