import CoreLocation
import Foundation
import NacreCloudWire
import Testing

@testable import CloudKit

/// Makes an archive in the layout of Apple's NSKeyedArchiver, object by object.
private struct ArchiveMaker {
    private var objects: [Any] = ["$null"]
    private var classes: [String: Int] = [:]

    private static func place(_ index: Int) -> [String: Int] { ["CF$UID": index] }

    /// Adds a string, number or data, which is stored as it is.
    mutating func plain(_ value: Any) -> [String: Int] {
        objects.append(value)
        return Self.place(objects.count - 1)
    }

    mutating func object(_ name: String, _ members: [String: Any]) -> [String: Int] {
        if classes[name] == nil {
            objects.append(["$classname": name, "$classes": [name, "NSObject"]])
            classes[name] = objects.count - 1
        }
        return plain(members.merging(["$class": Self.place(classes[name] ?? 0)]) { first, _ in first })
    }

    mutating func date(_ seconds: Double) -> [String: Int] { object("NSDate", ["NS.time": seconds]) }

    mutating func dictionary(_ values: [(String, [String: Int])]) -> [String: Int] {
        let keys = values.map { plain($0.0) }
        return object("NSMutableDictionary", ["NS.keys": keys, "NS.objects": values.map(\.1)])
    }

    func data(top: [String: Any]) throws -> Data {
        try PropertyListSerialization.data(
            fromPropertyList: ["$version": 100_000, "$archiver": "NSKeyedArchiver", "$top": top, "$objects": objects], format: .xml, options: 0)
    }

    mutating func recordID(_ name: String, zone: String) -> [String: Int] {
        let zone = object("CKRecordZoneID", ["ZoneName": plain(zone), "ownerName": plain("__defaultOwner__"), "databaseScopeKey": 2])
        return object("CKRecordID", ["RecordName": plain(name), "ZoneID": zone])
    }

    mutating func systemFields() -> [String: Any] {
        [
            "RecordType": plain("Note"), "RecordID": recordID("r", zone: "Notes"), "ETag": plain("l76z3p93"), "RecordCtime": date(100),
            "RecordMtime": date(200), "CreatorUserRecordID": recordID("__defaultOwner__", zone: "_defaultZone"),
            "LastModifiedUserRecordID": recordID("_bob", zone: "_defaultZone"), "ModifiedByDevice": plain("Phone"), "KnownToServer": true,
            "ParentReference": object("CKReference", ["RecordID": recordID("p", zone: "Notes"), "ReferenceAction": 0]),
            // Members without a value refer to the first object, as in archives of Apple's.
            "ShareReference": Self.place(0), "ProtectionData": Self.place(0), "URL": Self.place(0),
        ]
    }

    /// - Parameter more: a further value.
    mutating func values(_ more: [String: Int]? = nil) -> [String: Int] {
        let place = object(
            "CLLocation",
            [
                "kCLLocationCodingKeyCoordinateLatitude": 48.5, "kCLLocationCodingKeyCoordinateLongitude": 9.25,
                "kCLLocationCodingKeyTimestamp": 300.5, "kCLLocationCodingKeyAltitude": 12.0,
            ])
        let book = object("CKReference", ["RecordID": recordID("b", zone: "Notes"), "ReferenceAction": 1])
        let tags = object("NSArray", ["NS.objects": [plain("red"), plain("green")]])
        let values = dictionary(
            [
                ("title", plain("Ulm")), ("stars", plain(3)), ("weight", plain(2.5)), ("day", date(7)), ("bytes", plain(Data([1, 2]))),
                ("place", place), ("book", book), ("tags", tags), ("photo", object("CKAsset", ["FileURL": plain("x")])),
                ("photos", object("NSArray", ["NS.objects": [object("CKAsset", ["FileURL": plain("y")])]])),
            ] + (more.map { [("more", $0)] } ?? []))
        let originals = dictionary([("stars", plain(2))])
        let changed = object("NSMutableSet", ["NS.objects": [plain("stars")]])
        return object("CKRecordValueStore", ["Values": values, "OriginalValues": originals, "ChangedKeys": changed])
    }
}

/// Tests of archives that Apple's frameworks made, as far as they are known, and of archives of earlier versions of
/// this framework.
@Suite struct AppleArchiveTests {
    private func check(_ record: CKRecord) {
        #expect(record.recordType == "Note" && record.recordChangeTag == "l76z3p93")
        #expect(record.recordID == CKRecord.ID(recordName: "r", zoneID: CKRecordZone.ID(zoneName: "Notes")))
        #expect(
            record.creationDate == Date(timeIntervalSinceReferenceDate: 100) && record.modificationDate == Date(timeIntervalSinceReferenceDate: 200))
        #expect(record.creatorUserRecordID?.recordName == CKCurrentUserDefaultName && record.lastModifiedUserRecordID?.recordName == "_bob")
        #expect(record.parent?.recordID.recordName == "p" && record.parent?.recordID.zoneID == record.recordID.zoneID)
    }

    @Test func `system fields are read, and the record can be filled and saved`() throws {
        var maker = ArchiveMaker()
        let fields = maker.systemFields()
        let data = try maker.data(top: fields)
        let coder = try NSKeyedUnarchiver(forReadingFrom: data)
        coder.requiresSecureCoding = true
        let record = try #require(CKRecord(coder: coder))
        check(record)
        #expect(record.allKeys().isEmpty && record.changedKeys().isEmpty)
        record["title"] = "new"
        let change = record.snapshot.change(policy: .ifServerRecordUnchanged)
        #expect(change.recordChangeTag == "l76z3p93" && change.set["title"] == .string("new") && change.parent == .keep)
    }

    @Test func `a whole record is read with its values and changes`() throws {
        var maker = ArchiveMaker()
        let root = maker.object("CKRecord", maker.systemFields().merging(["ValueStore": maker.values()]) { first, _ in first })
        let data = try maker.data(top: ["root": root])
        let record = try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKRecord.self, from: data))
        check(record)
        #expect(record["title"] as? String == "Ulm" && record["stars"] as? Int == 3 && record["weight"] as? Double == 2.5)
        #expect(record["day"] as? Date == Date(timeIntervalSinceReferenceDate: 7) && record["bytes"] as? Data == Data([1, 2]))
        #expect(record["tags"] as? [String] == ["red", "green"])
        let book = record["book"] as? CKRecord.Reference
        #expect(book?.recordID.recordName == "b" && book?.action == .deleteSelf)
        let place = try #require(record["place"] as? CLLocation)
        #expect(place.coordinate.latitude == 48.5 && place.coordinate.longitude == 9.25 && place.altitude == 12 && place.verticalAccuracy == -1)
        #expect(place.timestamp == Date(timeIntervalSinceReferenceDate: 300.5))
        #expect((record["photo"] as? CKAsset).map { $0.fileURL == nil } == true && (record["photos"] as? [CKAsset])?.count == 1)
        #expect(record.changedKeys() == ["stars"])
        #expect(record.snapshot.fetchedFields["stars"] == .int64(2) && record.snapshot.fetchedFields["title"] == .string("Ulm"))
        #expect(record.snapshot.faults.isEmpty)
    }

    @Test(arguments: ["RecordType", "RecordID"])
    func `an archive without a type or a name holds no record`(key: String) throws {
        var maker = ArchiveMaker()
        var fields = maker.systemFields()
        fields[key] = nil
        #expect(CKRecord(coder: try NSKeyedUnarchiver(forReadingFrom: maker.data(top: fields))) == nil)
        let least = ["RecordType": maker.plain("Note"), "RecordID": maker.recordID("r", zone: "Notes")]
        let few = try maker.data(top: least)
        let record = try #require(CKRecord(coder: try NSKeyedUnarchiver(forReadingFrom: few)))
        #expect(record.recordChangeTag == nil && record.creatorUserRecordID == nil && record.creationDate == nil && record.parent == nil)
    }

    @Test func `a whole record with an unreadable value is an error, and never a record without its values`() throws {
        func decode(_ members: (inout ArchiveMaker) -> [String: Any]) throws -> CKRecord? {
            var maker = ArchiveMaker()
            let root = maker.object("CKRecord", maker.systemFields().merging(members(&maker)) { first, _ in first })
            return try NSKeyedUnarchiver.unarchivedObject(ofClass: CKRecord.self, from: maker.data(top: ["root": root]))
        }
        func refuses(_ members: (inout ArchiveMaker) -> [String: Any]) { #expect(throws: (any Error).self) { try decode(members) } }
        refuses { _ in [:] }
        refuses { ["ValueStore": $0.object("CKRecordValueStore", [:])] }
        refuses { ["ValueStore": $0.object("CKRecordValueStore", ["Values": $0.plain("x")])] }
        refuses { ["ValueStore": $0.values($0.object("CKEncryptedString", ["EncryptedData": $0.plain(Data([9]))]))] }
        refuses { ["ValueStore": $0.values($0.object("NSArray", ["NS.objects": [$0.object("CKEncryptedString", ["x": 1])]]))] }
        refuses { ["ValueStore": $0.values($0.plain(Double.infinity))] }
        refuses { ["ValueStore": $0.values($0.recordID("r", zone: "Z"))] }
        refuses {
            let secrets = $0.object("CKEncryptedRecordValueStore", ["Values": $0.dictionary([("s", $0.plain(Data([9])))])])
            return ["ValueStore": $0.values(), "EncryptedValueStore": secrets]
        }
        let none = try decode { maker in
            let secrets = maker.object("CKEncryptedRecordValueStore", ["Values": maker.dictionary([])])
            return ["ValueStore": maker.values(), "EncryptedValueStore": secrets]
        }
        let again = try NSKeyedArchiver.archivedData(withRootObject: try #require(none), requiringSecureCoding: true)
        #expect(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKRecord.self, from: again)?["title"] as? String == "Ulm")
    }

    @Test func `an asset that was cleared is no value, and encrypted values do not matter to system fields`() throws {
        var maker = ArchiveMaker()
        let asset = maker.object("CKAsset", ["FileURL": maker.plain("x")])
        let store = maker.object(
            "CKRecordValueStore",
            [
                "Values": maker.dictionary([("title", maker.plain("Ulm"))]), "OriginalValues": maker.dictionary([("photo", asset)]),
                "ChangedKeys": maker.object("NSMutableSet", ["NS.objects": [maker.plain("photo")]]),
            ])
        let root = maker.object("CKRecord", maker.systemFields().merging(["ValueStore": store]) { first, _ in first })
        let data = try maker.data(top: ["root": root])
        let record = try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKRecord.self, from: data))
        #expect(record["photo"] == nil && record.allKeys() == ["title"] && record.changedKeys() == ["photo"])
        #expect(record.snapshot.change(policy: .ifServerRecordUnchanged).cleared == ["photo"])

        var system = ArchiveMaker()
        let secrets = system.object("CKEncryptedRecordValueStore", ["Values": system.dictionary([("s", system.plain(Data([9])))])])
        let fields = system.systemFields().merging(["EncryptedValueStore": secrets]) { first, _ in first }
        check(try #require(CKRecord(coder: NSKeyedUnarchiver(forReadingFrom: system.data(top: fields)))))
    }

    @Test(arguments: ["CKEncryptedString", "CKUnheardOf"])
    func `a whole record that is no object of its archive is nil if anything in it cannot be read`(valueClass: String) throws {
        for key in ["ValueStore", "EncryptedValueStore"] {
            var maker = ArchiveMaker()
            let bad = maker.values(maker.object(valueClass, ["EncryptedData": maker.plain(Data([9]))]))
            var stores = ["ValueStore": maker.values()]
            stores[key] = bad
            let unarchiver = try NSKeyedUnarchiver(forReadingFrom: maker.data(top: maker.systemFields().merging(stores) { first, _ in first }))
            unarchiver.decodingFailurePolicy = .setErrorAndReturn
            #expect(CKRecord(coder: unarchiver) == nil)
        }
    }

    @Test func `a token of Apple's is decoded, and has expired when it is used`() async throws {
        var maker = ArchiveMaker()
        let token = maker.object("CKServerChangeToken", ["ChangeTokenData": maker.plain(Data([1, 2, 3]))])
        let unarchiver = try NSKeyedUnarchiver(forReadingFrom: maker.data(top: ["token": token]))
        let decoded = try #require(unarchiver.decodeObject(of: CKServerChangeToken.self, forKey: "token"))
        let setting = Setting()
        let zoneID = CKRecordZone.ID(zoneName: "Notes")
        let ofZone = await thrown { try await setting.database.recordZoneChanges(inZoneWith: zoneID, since: decoded) }
        let ofDatabase = await thrown { try await setting.database.databaseChanges(since: decoded) }
        #expect(ofZone?.code == .changeTokenExpired && ofDatabase?.code == .changeTokenExpired)
        #expect(await setting.cloud.seen.isEmpty)
        let again = try NSKeyedArchiver.archivedData(withRootObject: decoded, requiringSecureCoding: true)
        #expect(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKServerChangeToken.self, from: again) == decoded)
    }

    @Test func `an asset of Apple's is decoded without its file, and a query is an error`() throws {
        var maker = ArchiveMaker()
        let asset = maker.object("CKAsset", ["FileURL": maker.plain("x")])
        let query = maker.object("CKQuery", ["RecordType": maker.plain("Note")])
        let data = try maker.data(top: ["root": asset])
        #expect(try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKAsset.self, from: data)).fileURL == nil)
        #expect(throws: (any Error).self) {
            try NSKeyedUnarchiver.unarchivedObject(ofClass: CKQuery.self, from: maker.data(top: ["root": query]))
        }
        // Members of unknown classes in the record are not decoded.
        let strange = maker.object("CKUnheardOf", ["x": 1])
        let members = ["PluginFields": strange, "ConflictLoserEtags": strange, "ValueStore": maker.values()]
        let root = maker.object("CKRecord", maker.systemFields().merging(members) { first, _ in first })
        check(try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKRecord.self, from: maker.data(top: ["root": root]))))
    }

    @Test func `archives of version 1 are read`() throws {
        let url = try #require(Bundle.module.url(forResource: "Fixtures/archives-1", withExtension: "plist"))
        let data = try Data(contentsOf: url)
        let classes: [AnyClass] = [
            NSDictionary.self, NSString.self, CKRecord.self, CKQuery.self, CKServerChangeToken.self, CKRecordZone.self, CKRecord.Reference.self,
            CLLocation.self,
        ]
        let all = try #require(try NSKeyedUnarchiver.unarchivedObject(ofClasses: classes, from: data) as? [String: Any])
        let record = try #require(all["record"] as? CKRecord)
        let expected = Self.record().snapshot
        let found = record.snapshot
        #expect(found.fields == expected.fields && found.fetchedFields == expected.fetchedFields && found.changed == expected.changed)
        #expect(found.recordID == expected.recordID && found.recordType == "Note" && found.recordChangeTag == "t1")
        #expect(found.created == expected.created && found.modified == expected.modified && found.parent == expected.parent)
        let query = try #require(all["query"] as? CKQuery)
        #expect(query.description == Self.query().description)
        #expect(all["token"] as? CKServerChangeToken == CKServerChangeToken(wire: "abc/+="))
        #expect((all["zone"] as? CKRecordZone)?.capabilities == [.atomic, .fetchChanges])
        #expect(all["reference"] as? CKRecord.Reference == CKRecord.Reference(recordID: record.recordID, action: .deleteSelf))
        #expect((all["place"] as? CLLocation)?.coordinate.latitude == 48.5)
    }

    /// Returns the record in `Fixtures/archives-1.plist`. A version that writes another form gets another fixture;
    /// this one stays.
    static func record() -> CKRecord {
        var wire = RecordChangeTests.fetched(["a": .int64(1), "gone": .double(0.1)])
        wire.parent = Reference(recordName: "p", action: .none)
        let zoneID = CKRecordZone.ID(zoneName: "Notes", ownerName: "_owner")
        let record = CKRecord.make(wire: wire, recordID: CKRecord.ID(recordName: "r", zoneID: zoneID))
        record["gone"] = nil
        record["string"] = "ü"
        record["big"] = Int64.max
        record["date"] = Date(timeIntervalSinceReferenceDate: 1234.5)
        record["data"] = Data([0, 255])
        record["place"] = CLLocation(
            coordinate: CLLocationCoordinate2D(latitude: 1, longitude: 2), altitude: 3, horizontalAccuracy: 4, verticalAccuracy: 5,
            timestamp: Date(timeIntervalSinceReferenceDate: 6))
        record["link"] = CKRecord.Reference(recordID: CKRecord.ID(recordName: "x", zoneID: zoneID), action: .none)
        record["strings"] = ["a", ""]
        record["none"] = [String]()
        return record
    }

    static func query() -> CKQuery {
        let query = CKQuery(recordType: "Note", predicate: NSPredicate(format: "a = %@ AND b IN {1, 2}", "x"))
        query.sortDescriptors = [NSSortDescriptor(key: "a", ascending: false)]
        return query
    }
}
