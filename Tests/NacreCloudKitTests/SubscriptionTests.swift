import CoreLocation
import Foundation
import NacreCloudWire
import Testing

@testable import CloudKit

/// Tests of subscriptions as objects: copies, archives, and their form on the wire and back.
struct SubscriptionTests {
    private let now = Timestamp(secondsSince2001: 700_000_000)

    private func archived<Root: NSObject & NSSecureCoding>(_ root: Root) throws -> Root? {
        let data = try NSKeyedArchiver.archivedData(withRootObject: root, requiringSecureCoding: true)
        return try NSKeyedUnarchiver.unarchivedObject(ofClass: Root.self, from: data)
    }

    private static func fullInfo() -> CKSubscription.NotificationInfo {
        CKSubscription.NotificationInfo(
            alertBody: "1", alertLocalizationKey: "2", alertLocalizationArgs: ["a3"], title: "4", titleLocalizationKey: "5",
            titleLocalizationArgs: ["a6"], subtitle: "7", subtitleLocalizationKey: "8", subtitleLocalizationArgs: ["a9"],
            alertActionLocalizationKey: "10", alertLaunchImage: "11", soundName: "12", desiredKeys: ["a13"], shouldBadge: true,
            shouldSendContentAvailable: true, shouldSendMutableContent: true, category: "17", collapseIDKey: "a18")
    }

    private static func three() -> [CKSubscription] {
        let zoneID = CKRecordZone.ID(zoneName: "Notes")
        let query = CKQuerySubscription(
            recordType: "Note", predicate: NSPredicate(format: "stars > %d AND due < now()", 3), subscriptionID: "q",
            options: [.firesOnRecordCreation, .firesOnRecordDeletion, .firesOnce])
        query.zoneID = zoneID
        let zone = CKRecordZoneSubscription(zoneID: zoneID, subscriptionID: "z")
        zone.recordType = "Note"
        let database = CKDatabaseSubscription(subscriptionID: "d")
        database.recordType = "Tag"
        for subscription in [query, zone, database] { subscription.notificationInfo = fullInfo() }
        return [query, zone, database]
    }

    @Test func `raw values are Apple's`() {
        #expect(CKSubscription.SubscriptionType.query.rawValue == 1 && CKSubscription.SubscriptionType.recordZone.rawValue == 2)
        #expect(CKSubscription.SubscriptionType.database.rawValue == 3)
        let options: [CKQuerySubscription.Options] = [.firesOnRecordCreation, .firesOnRecordUpdate, .firesOnRecordDeletion, .firesOnce]
        #expect(options.map(\.rawValue) == [1, 2, 4, 8])
        #expect(Self.three().map(\.subscriptionType) == [.query, .recordZone, .database])
    }

    @Test func `what is not given is Apple's default`() {
        let query = CKQuerySubscription(recordType: "Note", predicate: NSPredicate(value: true), subscriptionID: "s")
        #expect(query.querySubscriptionOptions.rawValue == 7 && query.zoneID == nil && query.notificationInfo == nil)
        let ids = [
            CKQuerySubscription(recordType: "Note", predicate: NSPredicate(value: true)).subscriptionID,
            CKRecordZoneSubscription(zoneID: .default).subscriptionID, CKDatabaseSubscription().subscriptionID,
        ]
        #expect(ids.allSatisfy { UUID(uuidString: $0) != nil } && Set(ids).count == 3)
        let info = CKSubscription.NotificationInfo()
        #expect(info.alertBody == nil && info.desiredKeys == nil && info.alertLocalizationArgs == nil)
        #expect(!info.shouldBadge && !info.shouldSendContentAvailable && !info.shouldSendMutableContent)
        #expect(CKSubscription.NotificationInfo(title: "t").titleLocalizationArgs == [])
    }

    @Test func `every part of what a notification shows goes to the server under its name`() {
        let info = Self.fullInfo()
        var wire = NotificationInfo()
        wire.alertBody = "1"
        wire.alertLocalizationKey = "2"
        wire.alertLocalizationArgs = ["a3"]
        wire.title = "4"
        wire.titleLocalizationKey = "5"
        wire.titleLocalizationArgs = ["a6"]
        wire.subtitle = "7"
        wire.subtitleLocalizationKey = "8"
        wire.subtitleLocalizationArgs = ["a9"]
        wire.alertActionLocalizationKey = "10"
        wire.alertLaunchImage = "11"
        wire.soundName = "12"
        wire.additionalFields = ["a13"]
        wire.shouldBadge = true
        wire.shouldSendContentAvailable = true
        wire.shouldSendMutableContent = true
        wire.category = "17"
        wire.collapseIDKey = "a18"
        #expect(info.wire == wire)
        let empty = CKSubscription.NotificationInfo()
        empty.desiredKeys = info.desiredKeys
        empty.soundName = info.soundName
        empty.category = nil
        #expect(empty.wire.additionalFields == ["a13"] && empty.wire.soundName == "12")
    }

    @Test func `a subscription copies what its notifications show when it is set, and what is read is its own`() {
        let subscription = CKDatabaseSubscription(subscriptionID: "d")
        let info = CKSubscription.NotificationInfo(alertBody: "before")
        subscription.notificationInfo = info
        info.alertBody = "after"
        #expect(subscription.notificationInfo?.alertBody == "before")
        subscription.notificationInfo?.alertBody = "set through"
        #expect(subscription.notificationInfo?.alertBody == "set through")
        let copy = subscription.copy() as? CKSubscription
        copy?.notificationInfo?.alertBody = "of the copy"
        #expect(subscription.notificationInfo?.alertBody == "set through")
    }

    @Test func `copies and archives are the same subscriptions, and live on their own`() throws {
        for subscription in Self.three() {
            let wire = try subscription.wire(now: now)
            let copy = try #require(subscription.copy() as? CKSubscription)
            #expect(try copy.wire(now: now) == wire && type(of: copy) == type(of: subscription))
            copy.notificationInfo = nil
            #expect(try subscription.wire(now: now) == wire)
        }
        let (query, zone, database) = (Self.three()[0], Self.three()[1], Self.three()[2])
        #expect(try archived(#require(query as? CKQuerySubscription))?.wire(now: now) == query.wire(now: now))
        #expect(try archived(#require(zone as? CKRecordZoneSubscription))?.wire(now: now) == zone.wire(now: now))
        #expect(try archived(#require(database as? CKDatabaseSubscription))?.wire(now: now) == database.wire(now: now))
        let info = try #require(try archived(Self.fullInfo()))
        #expect(info.wire == Self.fullInfo().wire && (info.copy() as? CKSubscription.NotificationInfo)?.wire == info.wire)
        let bare = CKQuerySubscription(recordType: "T", predicate: NSPredicate(value: true), subscriptionID: "s", options: .firesOnRecordUpdate)
        #expect(try archived(bare)?.wire(now: now) == bare.wire(now: now))
    }

    @Test func `an archive of something else is a subscription that cannot be saved, and none of the abstract class`() throws {
        let archiver = NSKeyedArchiver(requiringSecureCoding: true)
        archiver.encode(NSNumber(value: 5), forKey: "SubscriptionID")
        archiver.encode(NSString(string: "x"), forKey: "Query")
        archiver.finishEncoding()
        for make in [
            { CKQuerySubscription(coder: $0) }, { CKRecordZoneSubscription(coder: $0) }, { CKDatabaseSubscription(coder: $0) },
        ] as [(NSCoder) -> CKSubscription] {
            let unarchiver = try NSKeyedUnarchiver(forReadingFrom: archiver.encodedData)
            unarchiver.decodingFailurePolicy = .setErrorAndReturn
            let subscription = make(unarchiver)
            let error = #expect(throws: CKError.self) { try subscription.wire(now: now) }
            #expect(error?.code == .invalidArguments)
        }
        #expect(CKSubscription(coder: try NSKeyedUnarchiver(forReadingFrom: archiver.encodedData)) == nil)
    }

    @Test func `subscriptions go to the server and come back as they were`() throws {
        for subscription in Self.three() {
            let wire = try subscription.wire(now: now)
            let back = CKSubscription.make(wire, in: .private)
            #expect(type(of: back) == type(of: subscription))
            #expect(try back.wire(now: now) == wire)
        }
        // A server names owners; an app names its own zones by the current user.
        let zone = Subscription(subscriptionID: "z", kind: .zone(ZoneID(zoneName: "Z", ownerRecordName: "_alice"), recordType: nil))
        #expect((CKSubscription.make(zone, in: .private) as? CKRecordZoneSubscription)?.zoneID == CKRecordZone.ID(zoneName: "Z"))
        #expect((CKSubscription.make(zone, in: .shared) as? CKRecordZoneSubscription)?.zoneID.ownerName == "_alice")
    }

    @Test func `what Apple's framework raises fails the save, naming the part`() throws {
        func fault(_ subscription: CKSubscription) -> CKError? { #expect(throws: CKError.self) { try subscription.wire(now: now) } }
        func query(_ predicate: NSPredicate, type: String = "Note", options: CKQuerySubscription.Options = .firesOnRecordUpdate) -> CKSubscription {
            CKQuerySubscription(recordType: type, predicate: predicate, subscriptionID: "s", options: options)
        }
        let all = NSPredicate(value: true)
        for options in [[], .firesOnce, CKQuerySubscription.Options(rawValue: 1 << 6)] as [CKQuerySubscription.Options] {
            #expect(fault(query(all, options: options))?.localizedDescription.contains("firesOnRecordCreation") == true)
        }
        #expect(fault(CKDatabaseSubscription(subscriptionID: ""))?.localizedDescription.contains("ID") == true)
        #expect(fault(query(all, type: "1"))?.code == .invalidArguments)
        #expect(fault(query(NSPredicate(format: "a LIKE 'b'")))?.localizedDescription.contains("LIKE") == true)
        #expect(fault(query(NSPredicate(value: false)))?.localizedDescription.contains("matches nothing") == true)
        let zone = CKRecordZoneSubscription(zoneID: CKRecordZone.ID(zoneName: "é"), subscriptionID: "s")
        #expect(fault(zone)?.code == .invalidArguments)
    }

    // MARK: Predicates on the wire and back

    @Test(arguments: [
        "TRUEPREDICATE", "a = 5", "a != 'x'", "a < 1.5", "a <= 1", "a > 1", "a >= 1", "a = 1 AND b = 2 AND c = 3", "a IN {1, 2}", "NOT (a IN {'x'})",
        "a BEGINSWITH 'x'", "NOT a BEGINSWITH 'x'", "list CONTAINS 'x'", "NOT list CONTAINS 5", "ANY list IN {'x', 'y'}",
        "NOT (ANY list IN {'x', 'y'})", "ANY list BEGINSWITH 'x'", "NOT (ANY list BEGINSWITH 'x')", "self CONTAINS 'two words'",
        "allTokens TOKENMATCHES 'x'", "ANY tokenize('a b', 'cdl') IN allTokens", "creationDate > now()", "a BETWEEN {1, 5}", "NOT a = 5",
    ])
    func `the predicate of a subscription that comes back asks the same`(_ format: String) throws {
        let wire = try CKQuerySubscription(recordType: "T", predicate: NSPredicate(format: format), subscriptionID: "s").wire(now: now)
        let back = try #require(CKSubscription.make(wire, in: .private) as? CKQuerySubscription)
        #expect(try back.wire(now: now) == wire, "\(back.predicate)")
    }

    @Test func `so does one of places, and one of records`() throws {
        let here = CLLocation(latitude: 1, longitude: 2)
        let user = CKRecord.ID(recordName: "_bob")
        for predicate in [
            NSPredicate(format: "distanceToLocation:fromLocation:(place, %@) < %f", here, 100.0),
            NSPredicate(format: "creatorUserRecordID == %@", user), NSPredicate(format: "tags CONTAINS %@", user),
            NSPredicate(format: "modificationDate > %@", NSDate(timeIntervalSinceReferenceDate: 0.123)),
        ] {
            let wire = try CKQuerySubscription(recordType: "T", predicate: predicate, subscriptionID: "s").wire(now: now)
            let back = try #require(CKSubscription.make(wire, in: .private) as? CKQuerySubscription)
            #expect(try back.wire(now: now) == wire)
            #expect(!PredicateFormat.text(PredicateTree(back.predicate)).contains("___"), "an app's own names: \(back.predicate)")
        }
    }

    @Test func `a web client's filters come back as predicates that mean them, also where the framework cannot send them`() {
        let pair = FieldValue.stringList(["x", "y"])
        func format(_ comparator: QueryComparator, _ field: String?, _ value: FieldValue) -> String {
            PredicateFormat.text(PredicateTree([QueryFilter(comparator, fieldName: field, value: value)]))
        }
        #expect(format(.listContainsAll, "l", pair) == #"l CONTAINS "x" AND l CONTAINS "y""#)
        #expect(format(.notListContainsAll, "l", pair) == #"NOT (l CONTAINS "x" AND l CONTAINS "y")"#)
        #expect(format(.containsAllTokens, "title", .string("x")) == #"title TOKENMATCHES "x""#)
        #expect(format(.equals, "___recordID", .reference(Reference(recordName: "r", action: .none))).hasPrefix("recordID == "))
    }
}
