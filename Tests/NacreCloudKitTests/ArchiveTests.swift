import CoreLocation
import Foundation
import NacreCloudWire
import Testing

@testable import CloudKit

/// Tests that archived objects come back equal, also with secure coding.
@Suite struct ArchiveTests {
    private func roundTrip<Root: NSObject & NSSecureCoding>(_ root: Root) throws -> Root? {
        let data = try NSKeyedArchiver.archivedData(withRootObject: root, requiringSecureCoding: true)
        return try NSKeyedUnarchiver.unarchivedObject(ofClass: Root.self, from: data)
    }

    @Test func `names, references, tokens and places come back equal`() throws {
        let zoneID = CKRecordZone.ID(zoneName: "Notes", ownerName: "_owner")
        let recordID = CKRecord.ID(recordName: "r", zoneID: zoneID)
        let reference = CKRecord.Reference(recordID: recordID, action: .deleteSelf)
        let token = CKServerChangeToken(wire: "abc/+=")
        let place = CLLocation(latitude: 1.1, longitude: -2.2)
        #expect(try roundTrip(zoneID) == zoneID)
        #expect(try roundTrip(recordID) == recordID)
        #expect(try roundTrip(reference) == reference)
        #expect(try roundTrip(token) == token)
        #expect(try roundTrip(place) == place)
    }

    @Test func `a zone comes back with its share, and a copy has it too`() throws {
        let zoneID = CKRecordZone.ID(zoneName: "Notes")
        let zone = CKRecordZone(zoneID: zoneID, capabilities: [], encryptionScope: .perRecord, isSharedWhole: true)
        let share = CKRecord.Reference(recordID: CKRecord.ID(recordName: CKRecordNameZoneWideShare, zoneID: zoneID), action: .none)
        #expect(try roundTrip(zone)?.share == share && (zone.copy() as? CKRecordZone)?.share == share)
        let unshared = try #require(try roundTrip(CKRecordZone(zoneID: zoneID)))
        #expect(unshared.share == nil)
    }

    @Test func `a zone comes back with its capabilities`() throws {
        let zone = CKRecordZone(zoneID: CKRecordZone.ID(zoneName: "Notes"), capabilities: [.atomic, .fetchChanges], encryptionScope: .perZone)
        let back = try #require(try roundTrip(zone))
        #expect(back.zoneID == zone.zoneID && back.capabilities == zone.capabilities && back.encryptionScope == .perZone)
    }

    @Test func `what to fetch of a zone comes back`() throws {
        let configuration = CKFetchRecordZoneChangesOperation.ZoneConfiguration(
            previousServerChangeToken: CKServerChangeToken(wire: "t"), resultsLimit: 5, desiredKeys: ["a", "b"])
        let back = try #require(try roundTrip(configuration))
        #expect(back.previousServerChangeToken == configuration.previousServerChangeToken)
        #expect(back.resultsLimit == 5 && back.desiredKeys == ["a", "b"])
        let nothing = try #require(try roundTrip(CKFetchRecordZoneChangesOperation.ZoneOptions()))
        #expect(nothing.previousServerChangeToken == nil && nothing.resultsLimit == 0 && nothing.desiredKeys == nil)
    }

    private func filled() -> CKRecord {
        var wire = RecordChangeTests.fetched(["a": .int64(1), "gone": .double(0.1)])
        wire.parent = Reference(recordName: "p", action: .none)
        let zoneID = CKRecordZone.ID(zoneName: "Notes", ownerName: "_owner")
        let record = CKRecord.make(wire: wire, recordID: CKRecord.ID(recordName: "r", zoneID: zoneID))
        record["gone"] = nil
        record["string"] = "ü"
        record["double"] = 0.1 + 0.2
        record["big"] = Int64.max
        record["date"] = Date(timeIntervalSinceReferenceDate: 1234.567_890_123_4)
        record["data"] = Data([0, 255])
        record["place"] = CLLocation(latitude: 1, longitude: 2)
        record["link"] = CKRecord.Reference(recordID: CKRecord.ID(recordName: "x", zoneID: zoneID), action: .none)
        record["strings"] = ["a", ""]
        record["none"] = [String]()
        record["empty"] = NSArray()
        record["dates"] = [Date(timeIntervalSinceReferenceDate: 0.1)]
        record["places"] = [CLLocation(latitude: 1, longitude: 2)]
        record["parts"] = [Data([1]), Data()]
        return record
    }

    @Test func `a whole record comes back with values, changes and faults`() throws {
        let record = filled()
        record["bad"] = Double.infinity
        let before = record.snapshot
        let after = try #require(try roundTrip(record)).snapshot
        #expect(after.fields == before.fields)
        #expect(after.fetchedFields == before.fetchedFields)
        #expect(after.changed == before.changed)
        #expect(after.faults == before.faults)
        #expect(after.recordID == before.recordID && after.recordType == before.recordType)
        #expect(after.recordChangeTag == "t1" && after.created == before.created && after.modified == before.modified)
        #expect(after.parent == before.parent)
    }

    @Test func `system fields come back without values and changes`() throws {
        let record = filled()
        let archiver = NSKeyedArchiver(requiringSecureCoding: true)
        record.encodeSystemFields(with: archiver)
        archiver.finishEncoding()
        let unarchiver = try NSKeyedUnarchiver(forReadingFrom: archiver.encodedData)
        unarchiver.requiresSecureCoding = true
        let back = try #require(CKRecord(coder: unarchiver))
        unarchiver.finishDecoding()
        #expect(back.allKeys().isEmpty && back.changedKeys().isEmpty)
        #expect(back.recordID == record.recordID && back.recordType == "Note")
        #expect(back.recordChangeTag == "t1" && back.modificationDate == record.modificationDate)
        #expect(back.parent == record.parent)
        back["a"] = 7
        #expect(back.snapshot.change(policy: .ifServerRecordUnchanged).recordChangeTag == "t1")
    }

    @Test func `an archive of something else gives nothing and does not trap`() throws {
        let archiver = NSKeyedArchiver(requiringSecureCoding: true)
        archiver.encode(NSNumber(value: 5), forKey: "nacre.record")
        archiver.encode(NSNumber(value: 5), forKey: "RecordName")
        archiver.finishEncoding()
        let unarchiver = try NSKeyedUnarchiver(forReadingFrom: archiver.encodedData)
        unarchiver.decodingFailurePolicy = .setErrorAndReturn
        #expect(CKRecord(coder: unarchiver) == nil)
        #expect(CKRecord.ID(coder: unarchiver) == nil)
        #expect(CKRecordZone(coder: unarchiver) == nil)
    }

    @Test func `the distance between two cities is known`() {
        let berlin = CLLocation(latitude: 52.52, longitude: 13.405)
        let paris = CLLocation(latitude: 48.8566, longitude: 2.3522)
        #expect(abs(berlin.distance(from: paris) - 877_460) < 1_000)
        #expect(berlin.distance(from: berlin) == 0)
    }
}
