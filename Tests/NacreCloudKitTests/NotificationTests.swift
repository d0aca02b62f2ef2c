import CoreLocation
import Foundation
import NacreCloudTestSupport
import Testing

@testable import CloudKit

/// Tests of notifications, read from any dictionary that `JSONSerialization` makes.
struct NotificationTests {
    private func dictionary(_ json: String) throws -> [AnyHashable: Any] {
        try #require(try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any])
    }

    private static let query = #"""
        {"aps":{"alert":"Hello","badge":3,"sound":"ping","content-available":1,"category":"c"},
         "ck":{"nid":"n","cid":"iCloud.com.example.notes","ckuserid":"_alice","ce":2,
               "qry":{"sid":"s","rid":"r","fo":2,"zid":"Notes","zoid":"_alice","dbs":2,
                      "af":{"title":"t","stars":5,"weight":1.5,"due":{"value":978307200123,"type":"TIMESTAMP"},
                            "place":{"value":{"latitude":1,"longitude":2},"type":"LOCATION"},
                            "note":{"value":{"recordName":"x","action":"NONE"},"type":"REFERENCE"},"odd":[1],"none":null}}}}
        """#

    @Test func `raw values are Apple's`() {
        let types: [CKNotification.NotificationType] = [.query, .recordZone, .readNotification, .database]
        #expect(types.map(\.rawValue) == [1, 2, 3, 4])
        let reasons: [CKQueryNotification.Reason] = [.recordCreated, .recordUpdated, .recordDeleted]
        #expect(reasons.map(\.rawValue) == [1, 2, 3])
    }

    @Test func `a query's notification`() throws {
        let made = CKNotification(fromRemoteNotificationDictionary: try dictionary(Self.query))
        let notification = try #require(made as? CKQueryNotification)
        #expect(notification.notificationType == .query && notification.queryNotificationReason == .recordUpdated)
        #expect(notification.subscriptionID == "s" && notification.containerIdentifier == "iCloud.com.example.notes")
        #expect(notification.subscriptionOwnerUserRecordID == CKRecord.ID(recordName: "_alice"))
        #expect(notification.recordID == CKRecord.ID(recordName: "r", zoneID: CKRecordZone.ID(zoneName: "Notes")))
        #expect(notification.databaseScope == .private && !notification.isPruned)
        #expect(notification.alertBody == "Hello" && notification.badge == 3 && notification.soundName == "ping" && notification.category == "c")
        let fields = try #require(notification.recordFields)
        #expect(Set(fields.keys) == ["title", "stars", "weight", "due", "place", "note"])
        #expect(fields["title"] as? String == "t" && fields["stars"] as? Int == 5 && fields["weight"] as? Double == 1.5)
        #expect((fields["due"] as? Date)?.timeIntervalSinceReferenceDate == 0.123)
        #expect((fields["place"] as? CLLocation)?.coordinate.longitude == 2)
        #expect((fields["note"] as? CKRecord.Reference)?.recordID == CKRecord.ID(recordName: "x", zoneID: CKRecordZone.ID(zoneName: "Notes")))
    }

    @Test func `the class that is asked for is the class that is made, or none`() throws {
        let payload = try dictionary(Self.query)
        #expect(CKQueryNotification(fromRemoteNotificationDictionary: payload)?.subscriptionID == "s")
        #expect(CKDatabaseNotification(fromRemoteNotificationDictionary: payload) == nil)
        #expect(CKRecordZoneNotification(fromRemoteNotificationDictionary: payload) == nil)
    }

    @Test func `notifications of zones and databases`() throws {
        let zone = CKNotification(
            fromRemoteNotificationDictionary: try dictionary(#"{"ck":{"p":1,"fet":{"sid":"z","zid":"Z","zoid":"_bob","dbs":3}}}"#))
        let shared = try #require(zone as? CKRecordZoneNotification)
        #expect(shared.recordZoneID == CKRecordZone.ID(zoneName: "Z", ownerName: "_bob") && shared.databaseScope == .shared)
        #expect(shared.notificationType == .recordZone && shared.isPruned && shared.notificationID == nil)
        let met = CKNotification(fromRemoteNotificationDictionary: try dictionary(#"{"aps":{},"ck":{"met":{"sid":"d","dbs":2}}}"#))
        let database = try #require(met as? CKDatabaseNotification)
        #expect(database.databaseScope == .private && database.notificationType == .database && database.subscriptionID == "d")
        let missed = CKNotification(fromRemoteNotificationDictionary: try dictionary(#"{"ck":{"met":{"dbs":1}}}"#))
        #expect(missed?.subscriptionID == nil && (missed as? CKDatabaseNotification)?.databaseScope == .public)
    }

    @Test func `in the public database the zone may be left out`() throws {
        let payload = try dictionary(#"{"ck":{"qry":{"sid":"s","rid":"r","fo":3,"dbs":1}}}"#)
        let notification = try #require(CKQueryNotification(fromRemoteNotificationDictionary: payload))
        #expect(notification.recordID == CKRecord.ID(recordName: "r") && notification.queryNotificationReason == .recordDeleted)
        #expect(notification.recordFields == nil)
    }

    @Test func `what is shown by names of the app's texts`() throws {
        let payload = try dictionary(
            #"""
            {"aps":{"alert":{"body":"b","loc-key":"k","loc-args":["1","2"],"title":"t","title-loc-key":"tk","title-loc-args":["3"],"subtitle":"s",
             "subtitle-loc-key":"sk","subtitle-loc-args":[],"action-loc-key":"ak","launch-image":"i"},"sound":{"name":"loud","critical":1}},"ck":{"met":{}}}
            """#)
        let notification = try #require(CKNotification(fromRemoteNotificationDictionary: payload))
        #expect(notification.alertBody == "b" && notification.alertLocalizationKey == "k" && notification.alertLocalizationArgs == ["1", "2"])
        #expect(notification.title == "t" && notification.titleLocalizationKey == "tk" && notification.titleLocalizationArgs == ["3"])
        #expect(notification.subtitle == "s" && notification.subtitleLocalizationKey == "sk" && notification.subtitleLocalizationArgs == [])
        #expect(notification.alertActionLocalizationKey == "ak" && notification.alertLaunchImage == "i")
        #expect(notification.soundName == "loud" && notification.badge == nil && notification.category == nil)
    }

    @Test(arguments: [
        "{}", #"{"aps":{"alert":"mine"}}"#, #"{"ck":null}"#, #"{"ck":5}"#, #"{"ck":[{"qry":{}}]}"#, #"{"qry":{"sid":"s"}}"#,
    ])
    func `what is none of CloudKit's is nil`(_ json: String) throws {
        #expect(CKNotification(fromRemoteNotificationDictionary: try dictionary(json)) == nil)
    }

    @Test(arguments: [#"{"ck":{"nid":"n","cid":"c"},"aps":{"alert":"a"}}"#, #"{"ck":{"nid":"n","cid":"c","qry":[]},"aps":{"alert":"a"}}"#])
    func `a dictionary of CloudKit's that describes no change is a notification without a type`(_ json: String) throws {
        let payload = try dictionary(json)
        let notification = try #require(CKNotification(fromRemoteNotificationDictionary: payload))
        #expect(type(of: notification) == CKNotification.self && notification.notificationType.rawValue == 0)
        #expect(notification.containerIdentifier == "c" && notification.subscriptionID == nil && notification.alertBody == "a")
        #expect(notification.notificationID != nil && CKDatabaseNotification(fromRemoteNotificationDictionary: payload) == nil)
    }

    @Test func `a dictionary of Swift's own types is as good`() throws {
        let payload: [AnyHashable: Any] = [
            "ck": [
                "nid": "n", "p": 1,
                "qry": ["sid": "s", "rid": "r", "fo": 1, "dbs": 1, "af": ["n": 5, "d": 0.5, "b": true] as [String: Any]] as [String: Any],
            ]
                as [String: Any], 5: "five",
        ]
        let notification = try #require(CKQueryNotification(fromRemoteNotificationDictionary: payload))
        #expect(notification.queryNotificationReason == .recordCreated && notification.isPruned)
        #expect(notification.recordFields?["n"] as? Int == 5 && notification.recordFields?["d"] as? Double == 0.5)
        #expect(notification.recordFields?["b"] as? Int == 1)
    }

    @Test func `notifications of one change have one ID, which goes through an archive`() throws {
        let id = try #require(CKNotification(fromRemoteNotificationDictionary: dictionary(Self.query))?.notificationID)
        let other = try #require(
            CKNotification(fromRemoteNotificationDictionary: dictionary(#"{"ck":{"nid":"n","met":{"sid":"d"}}}"#))?.notificationID)
        #expect(id == other && id.hash == other.hash && id.copy() as? CKNotification.ID == id)
        let data = try NSKeyedArchiver.archivedData(withRootObject: id, requiringSecureCoding: true)
        #expect(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKNotificationID.self, from: data) == id)
    }

    // MARK: Random values

    private static func value(_ seed: inout SeededRandom, depth: Int) -> Any {
        switch Int.random(in: 0..<(depth > 0 ? 12 : 8), using: &seed) {
        case 0: return NSNull()
        case 1: return Int.random(in: -3...5, using: &seed)
        case 2: return [Double.random(in: -1e300...1e300, using: &seed), .infinity, .nan, -0.0].randomElement(using: &seed) ?? 0
        case 3: return Bool.random(using: &seed)
        case 4: return ["", "r", "_defaultZone", "TIMESTAMP", "REFERENCE", "LOCATION", "\u{0}", "é"].randomElement(using: &seed) ?? ""
        case 5: return Int64.max
        case 6: return NSNumber(value: UInt64.max)
        case 7: return NSString(string: "text")
        case 8, 9: return (0..<Int.random(in: 0...3, using: &seed)).map { _ in value(&seed, depth: depth - 1) }
        default: return object(&seed, depth: depth - 1)
        }
    }

    private static let names = [
        "aps", "ck", "qry", "fet", "met", "nid", "cid", "ckuserid", "p", "sid", "rid", "fo", "zid", "zoid", "dbs", "af", "alert", "body", "badge",
        "sound", "category", "loc-args", "value", "type", "name", "latitude", "longitude", "recordName", "zoneID", "zoneName", "",
    ]

    private static func object(_ seed: inout SeededRandom, depth: Int) -> [String: Any] {
        var object: [String: Any] = [:]
        for _ in 0..<Int.random(in: 0...8, using: &seed) { object[names.randomElement(using: &seed) ?? ""] = value(&seed, depth: depth) }
        return object
    }

    /// Reads all properties of a notification.
    private func read(_ notification: CKNotification) -> Int {
        let texts = [
            notification.alertBody, notification.alertLocalizationKey, notification.title, notification.titleLocalizationKey, notification.subtitle,
            notification.subtitleLocalizationKey, notification.alertActionLocalizationKey, notification.alertLaunchImage, notification.soundName,
            notification.category, notification.containerIdentifier, notification.subscriptionID, notification.notificationID?.name,
            notification.subscriptionOwnerUserRecordID?.recordName, notification.description,
        ]
        let lists = [notification.alertLocalizationArgs, notification.titleLocalizationArgs, notification.subtitleLocalizationArgs]
        let query = notification as? CKQueryNotification
        let fields = query?.recordFields?.count ?? 0
        return texts.compactMap { $0 }.count + lists.compactMap { $0 }.count + (notification.badge?.intValue ?? 0 > 0 ? 1 : 0) + fields
    }

    @Test(arguments: 0..<20)
    func `whatever a payload is, reading it ends`(_: Int) throws {
        var seed = SeededRandom()
        var made = 0
        for _ in 0..<500 {
            var event = Self.object(&seed, depth: 4)
            if seed.chance(2) { event["dbs"] = Int.random(in: 0...4, using: &seed) }
            var cloud = Self.object(&seed, depth: 4)
            cloud[["qry", "fet", "met"].randomElement(using: &seed) ?? "qry"] = event
            var payload = Self.object(&seed, depth: 4)
            if !seed.chance(8) { payload["ck"] = cloud }
            if let notification = CKNotification(fromRemoteNotificationDictionary: payload) {
                made += read(notification) > 0 ? 1 : 0
            }
            guard JSONSerialization.isValidJSONObject(payload) else { continue }
            let text = try JSONSerialization.data(withJSONObject: payload)
            let again = try #require(try JSONSerialization.jsonObject(with: text) as? [String: Any])
            if let notification = CKNotification(fromRemoteNotificationDictionary: again) { _ = read(notification) }
        }
        #expect(made > 100, "\(seed)")
    }
}
