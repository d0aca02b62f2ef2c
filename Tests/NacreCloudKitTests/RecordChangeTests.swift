import Foundation
import NacreCloudWire
import Testing

@testable import CloudKit

/// Tests of a record's own changes, and of the requests of its save.
@Suite struct RecordChangeTests {
    static let stamp = Record.Stamp(timestamp: Timestamp(secondsSince2001: 100.25), userRecordName: "_alice", deviceID: "d")

    static func fetched(_ fields: RecordFields = ["a": .int64(1), "b": .string("x")], tag: String = "t1") -> Record {
        Record(recordName: "r", recordType: "Note", recordChangeTag: tag, created: stamp, modified: stamp, fields: fields)
    }

    let record = CKRecord.make(wire: fetched(), recordID: CKRecord.ID(recordName: "r"))

    @Test func `a fetched record has no changes, and what the server set`() {
        #expect(record.changedKeys().isEmpty)
        #expect(record.allKeys() == ["a", "b"])
        #expect(record.recordChangeTag == "t1")
        #expect(record.creatorUserRecordID?.recordName == "_alice")
        #expect(record.creationDate == Date(timeIntervalSinceReferenceDate: 100.25))
    }

    @Test func `a new record has nothing that the server sets`() {
        let new = CKRecord(recordType: "Note")
        #expect(new.recordChangeTag == nil && new.creationDate == nil && new.modificationDate == nil)
        #expect(new.creatorUserRecordID == nil && new.lastModifiedUserRecordID == nil)
        #expect(UUID(uuidString: new.recordID.recordName) != nil)
        #expect(new.recordID.zoneID == .default)
    }

    @Test func `set and cleared keys are changed ones`() {
        record["a"] = 2
        record["b"] = nil
        record["c"] = 3
        #expect(record.changedKeys() == ["a", "b", "c"])
        #expect(record.allKeys() == ["a", "c"])
    }

    @Test func `a field set and cleared before any save never changed`() {
        let new = CKRecord(recordType: "Note")
        new["a"] = 1
        new["a"] = nil
        #expect(new.changedKeys().isEmpty)
    }

    @Test func `an unchanged-policy save sends the changes with the tag`() {
        record["a"] = 2
        record["b"] = nil
        let change = record.snapshot.change(policy: .ifServerRecordUnchanged)
        #expect(change == RecordChange(recordName: "r", recordType: "Note", recordChangeTag: "t1", set: ["a": .int64(2)], cleared: ["b"]))
    }

    @Test func `a changed-keys save sends the changes without the tag`() {
        record["a"] = 2
        #expect(record.snapshot.change(policy: .changedKeys) == RecordChange(recordName: "r", recordType: "Note", set: ["a": .int64(2)]))
    }

    @Test func `an all-keys save sends every field without the tag, and says that these are all`() {
        record["a"] = 2
        let change = record.snapshot.change(policy: .allKeys)
        #expect(
            change == RecordChange(recordName: "r", recordType: "Note", set: ["a": .int64(2), "b": .string("x")], carriesAllKeys: true))
    }

    @Test func `a parent is sent when it changed`() {
        #expect(record.snapshot.change(policy: .changedKeys).parent == .keep)
        record.setParent(CKRecord.ID(recordName: "p"))
        #expect(record.parent?.recordID.recordName == "p")
        #expect(record.snapshot.change(policy: .changedKeys).parent == .set(Reference(recordName: "p", action: .none)))
        record.parent = nil
        #expect(record.snapshot.change(policy: .changedKeys).parent == .keep)
        var child = RecordChangeTests.fetched()
        child.parent = Reference(recordName: "p", action: .none)
        let fetched = CKRecord.make(wire: child, recordID: record.recordID)
        fetched.setParent(nil as CKRecord?)
        #expect(fetched.snapshot.change(policy: .changedKeys).parent == .clear)
    }

    @Test func `a parent that cannot be reads as it was set, also from a copy and an archive, and is a fault`() throws {
        let id = CKRecord.ID(recordName: "p")
        let elsewhere = ["__defaultOwner__", "_bob"].map { owner in
            CKRecord.ID(recordName: "p", zoneID: CKRecordZone.ID(zoneName: owner == "_bob" ? "_defaultZone" : "Other", ownerName: owner))
        }
        for (parent, reason) in [
            (CKRecord.Reference(recordID: id, action: .deleteSelf), ValueFault.Reason.parentAction),
            (CKRecord.Reference(recordID: elsewhere[0], action: .none), .parentZone),
            (CKRecord.Reference(recordID: elsewhere[1], action: .none), .parentZone),
        ] {
            record.parent = parent
            let data = try NSKeyedArchiver.archivedData(withRootObject: try #require(record.copy() as? CKRecord), requiringSecureCoding: true)
            let read = try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKRecord.self, from: data))
            for kept in [record, read] {
                #expect(kept.parent == parent)
                #expect(kept.snapshot.fault == ValueFault(key: "parent", reason: reason))
                kept.setParent(id)
                #expect(kept.parent?.recordID == id && kept.snapshot.fault == nil)
            }
        }
    }

    @Test func `a value that cannot be saved and was set during a save stays, with its fault`() {
        record["a"] = 2
        let sent = record.snapshot.change(policy: .ifServerRecordUnchanged)
        record["a"] = Double.nan
        record["b"] = UInt64.max
        record["_x"] = 5
        record.adopt(RecordChangeTests.fetched(["a": .int64(2), "b": .string("x")], tag: "t2"), sent: sent)
        #expect(record.recordChangeTag == "t2" && record.changedKeys() == ["_x", "a", "b"])
        #expect((record["a"] as? Double)?.isNaN == true && record["b"] as? UInt64 == .max && record["_x"] as? Int == 5)
        #expect(record.snapshot.faults.count == 3)
    }

    @Test func `after a save only later edits are changes`() {
        record["a"] = 2
        record["b"] = "y"
        let sent = record.snapshot.change(policy: .ifServerRecordUnchanged)
        record["b"] = "edited meanwhile"
        let answer = RecordChangeTests.fetched(["a": .int64(2), "b": .string("y")], tag: "t2")
        record.adopt(answer, sent: sent)
        #expect(record.changedKeys() == ["b"])
        #expect(record.recordChangeTag == "t2")
        #expect(record.snapshot.ancestor.fields == ["a": .int64(2), "b": .string("y")])
    }

    @Test func `after a save the record is the server's version, with what others saved`() {
        record["a"] = 2
        let sent = record.snapshot.change(policy: .changedKeys)
        record.adopt(RecordChangeTests.fetched(["a": .int64(2), "b": .string("theirs")], tag: "t2"), sent: sent)
        #expect(record["b"] as? String == "theirs")
        #expect(record.changedKeys().isEmpty && record.recordChangeTag == "t2")
    }

    @Test func `an answer with a newer value than was sent is taken over whole`() {
        record["a"] = 2
        let sent = record.snapshot.change(policy: .ifServerRecordUnchanged)
        record.adopt(RecordChangeTests.fetched(["a": .int64(7), "b": .string("x")], tag: "t3"), sent: sent)
        #expect(record["a"] as? Int == 7 && record.recordChangeTag == "t3")
    }

    @Test func `an edit during a save that somebody else crossed keeps the old version, so that it conflicts`() {
        record["a"] = 2
        let sent = record.snapshot.change(policy: .ifServerRecordUnchanged)
        record["a"] = 3
        record.adopt(RecordChangeTests.fetched(["a": .int64(7), "b": .string("x")], tag: "t3"), sent: sent)
        #expect(record["a"] as? Int == 3)
        #expect(record.snapshot.change(policy: .ifServerRecordUnchanged).recordChangeTag == "t1")
    }

    @Test func `a field cleared or a parent set during a save stays so`() {
        record["a"] = 2
        let sent = record.snapshot.change(policy: .ifServerRecordUnchanged)
        record["b"] = nil
        record.setParent(CKRecord.ID(recordName: "p"))
        record.adopt(RecordChangeTests.fetched(["a": .int64(2), "b": .string("x")], tag: "t2"), sent: sent)
        let next = record.snapshot.change(policy: .ifServerRecordUnchanged)
        #expect(next.cleared == ["b"] && next.set.isEmpty && next.recordChangeTag == "t2")
        #expect(next.parent == .set(Reference(recordName: "p", action: .none)))
    }

    @Test func `the ancestor is the record as it was fetched`() {
        record["a"] = 2
        record["c"] = "new"
        #expect(record.snapshot.ancestor.fields == ["a": .int64(1), "b": .string("x")])
    }

    @Test func `a copy keeps unsaved values and goes its own way`() throws {
        record["a"] = 2
        let copy = try #require(record.copy() as? CKRecord)
        copy["a"] = 3
        #expect(record["a"] as? Int == 2)
        #expect(copy.changedKeys() == ["a"])
        #expect(copy.recordChangeTag == "t1")
        #expect(copy != record)
    }

    @Test func `a record is walked in the order of its keys`() {
        let walked = record.map { key, value in "\(key)=\(value)" }
        #expect(walked == ["a=1", "b=x"])
    }

    @Test func `tokens are the words of text, folded, each once`() {
        record["b"] = "Crème brûlée, CREME!"
        record["c"] = ["tarte", "brulee"]
        #expect(record.allTokens() == ["creme", "brulee", "tarte"])
    }

    @Test func `a reference into the record's zone stays there, however its owner is spelled`() {
        let zone = CKRecordZone.ID(zoneName: "Notes", ownerName: "_owner")
        for owner in [nil, "_owner", "_3ee2"] {
            let own = Reference(recordName: "x", action: .none, zoneID: ZoneID(zoneName: "Notes", ownerRecordName: owner))
            var wire = RecordChangeTests.fetched(["r": .reference(own), "l": .referenceList([own, own])])
            wire.parent = own
            for zone in [zone, CKRecordZone.ID(zoneName: "Notes")] {
                let record = CKRecord.make(wire: wire, recordID: CKRecord.ID(recordName: "r", zoneID: zone))
                let id = CKRecord.ID(recordName: "x", zoneID: zone)
                #expect((record["r"] as? CKRecord.Reference)?.recordID == id)
                #expect((record["l"] as? [CKRecord.Reference])?.map(\.recordID) == [id, id])
                #expect(record.parent?.recordID == id)
            }
        }
    }
}
