import CoreLocation
import Foundation
import NacreCloudWire
import NacreCrypto
import NacreEncryption
import NacreEncryptionForms
import Testing

@testable import CloudKit

/// A record that is sealed as a save seals it, and the keys of its zone.
struct SealedNote {
    static let zoneID = CKRecordZone.ID(zoneName: "Notes")
    static let id = CKRecord.ID(recordName: "note", zoneID: zoneID)

    let keys: ZoneKeys

    init() async throws {
        keys = try await KeyDevice(PretendCloud(), KeyStore(folder: nil)).toSave()
    }

    static func note(
        _ values: [String: any CKRecordValueProtocol] = ["a": "apple", "b": "bread"], named name: String = id.recordName
    ) -> CKRecord {
        let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name, zoneID: zoneID))
        record["title"] = "plain"
        for (key, value) in values { record.encryptedValues[key] = value }
        return record
    }

    /// Returns the record as a server keeps it after a save.
    /// - Parameter before: the record on the server before; nil for a new one.
    func saved(
        _ record: CKRecord, over before: Record? = nil, policy: SavePolicy = .ifServerRecordUnchanged, now: UInt64 = 1_000
    ) throws -> Record {
        var save = ModifyPlan.Save(record, record.snapshot, policy: policy)
        var random = SystemRandomBytes()
        save.change.put(try keys.seal(save.secrets, of: save.change, now: now, using: &random), for: save.secrets)
        var fields = before?.fields ?? RecordFields()
        for field in save.change.set.entries { fields[field.name] = field.value }
        for name in save.change.cleared { fields[name] = nil }
        let stamp = Record.Stamp(timestamp: Timestamp(secondsSince2001: 1), userRecordName: "_alice")
        var wire = Record(
            recordName: record.recordID.recordName, recordType: record.recordType, recordChangeTag: "t\(now)", created: stamp, modified: stamp,
            fields: fields)
        if case .set(let parent) = save.change.parent { wire.parent = parent } else { wire.parent = before?.parent }
        wire.manifest = save.change.manifest?.bytes
        return wire
    }

    /// Returns the app's object of a record that was fetched.
    func fetched(_ record: Record) throws -> CKRecord {
        CKRecord.make(wire: record, recordID: Self.id, encrypted: try keys.open(record, asked: nil))
    }
}

/// Tests of encrypted values between the app's record and the server's. No test asks a server but for keys.
struct EncryptedRecordTests {
    private let setting: SealedNote
    private var keys: ZoneKeys { setting.keys }

    init() async throws { setting = try await SealedNote() }

    private func manifest(_ record: Record) throws -> RecordManifest { try RecordManifest(try #require(record.manifest)) }

    private static var values: [String: any CKRecordValueProtocol] {
        [
            "string": "é", "empty": "", "int": Int64.min, "double": 0.1 + 0.2, "zero": -0.0, "data": Data([0, 128, 0]),
            "date": Date(timeIntervalSinceReferenceDate: 700_000_000.123_456_7),
            "place": CLLocation(
                coordinate: CLLocationCoordinate2D(latitude: 52.5, longitude: 13.4), altitude: 34, horizontalAccuracy: 5, verticalAccuracy: 3,
                course: 1, speed: 2, timestamp: Date(timeIntervalSinceReferenceDate: 0.1)),
            "strings": ["a", ""], "none": [String](), "unknown": NSArray(), "ints": [1, -1], "doubles": [0.5, 2],
            "dates": [Date(timeIntervalSinceReferenceDate: 0.1)], "parts": [Data([1]), Data()], "places": [CLLocation(latitude: 1, longitude: 2)],
        ]
    }

    @Test func `a value of each type comes back as it was, and the server sees none`() throws {
        let record = SealedNote.note(Self.values)
        #expect(record.snapshot.fault == nil)
        let wire = try setting.saved(record)
        #expect(wire.fields.sealed.map(\.name) == Self.values.keys.sorted())
        #expect(wire.fields["title"] == .string("plain"))
        let read = try setting.fetched(wire)
        #expect(read.encryptedValues.allKeys() == Self.values.keys.sorted() && read.allKeys() == ["title"])
        #expect(read.snapshot.encrypted.values == record.snapshot.encrypted.values)
        #expect(read.encryptedValues["date"] as? Date == Self.values["date"] as? Date)
        #expect((read.encryptedValues["zero"] as? Double)?.sign == .minus)
        #expect(read.encryptedValues.changedKeys().isEmpty)
    }

    @Test func `a save of some keys seals those anew, and the manifest keeps the hashes of the others`() throws {
        let first = try setting.saved(SealedNote.note())
        let record = try setting.fetched(first)
        record.encryptedValues["a"] = "almond"
        let second = try setting.saved(record, over: first, now: 500)
        #expect(first.fields["b"] == second.fields["b"] && first.fields["a"] != second.fields["a"])
        #expect(try manifest(second).parts.stamp == manifest(first).parts.stamp + 1)
        #expect(try setting.fetched(second).encryptedValues["a"] as? String == "almond")
        record.encryptedValues["b"] = nil
        let third = try setting.saved(record, over: first, now: 2_000)
        #expect(try manifest(third).parts.fields.map(\.name) == ["a"] && manifest(third).parts.stamp == 2_000)
        #expect(try setting.fetched(third).encryptedValues["b"] as? String == nil)
    }

    @Test func `a save of all keys seals all of them, and another parent is in the manifest`() throws {
        let first = try setting.saved(SealedNote.note())
        let record = try setting.fetched(first)
        record.setParent(CKRecord.ID(recordName: "folder", zoneID: SealedNote.zoneID))
        let second = try setting.saved(record, over: first, policy: .allKeys)
        #expect(first.fields["a"] != second.fields["a"] && first.fields["b"] != second.fields["b"])
        #expect(try manifest(second).parts.parent == "folder")
        let third = try setting.saved(try setting.fetched(first), over: first)
        #expect(third.fields == first.fields)
    }

    @Test func `a save of plain fields needs no keys, and one of the parent of a record with a manifest does`() throws {
        let record = try setting.fetched(try setting.saved(SealedNote.note()))
        record["title"] = "new"
        #expect(!ModifyPlan.Save(record, record.snapshot, policy: .changedKeys).needsSealing)
        record.setParent(CKRecord.ID(recordName: "folder", zoneID: SealedNote.zoneID))
        #expect(ModifyPlan.Save(record, record.snapshot, policy: .changedKeys).needsSealing)
        let plain = CKRecord(recordType: "Note", recordID: SealedNote.id)
        plain.setParent(CKRecord.ID(recordName: "folder", zoneID: SealedNote.zoneID))
        #expect(!ModifyPlan.Save(plain, plain.snapshot, policy: .allKeys).needsSealing)
    }

    /// A way in which a server alters a record, and the fault by which it is found.
    struct Tampering: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let fault: SecretFault
        let alter: @Sendable (inout Record) -> Void
    }

    private static let tampering: [Tampering] = [
        Tampering(testDescription: "a value in another field", fault: .changed) { $0.fields["a"] = $0.fields["b"] },
        Tampering(testDescription: "a value dropped", fault: .changed) { $0.fields["a"] = nil },
        Tampering(testDescription: "a value more", fault: .changed) { $0.fields["c"] = $0.fields["a"] },
        Tampering(testDescription: "a plain value", fault: .changed) { $0.fields["a"] = .string("apple") },
        Tampering(testDescription: "bytes that are no value", fault: .changed) {
            $0.fields["a"] = .sealed(NacreCloudWire.SealedValue(type: .string, keyID: "k", bytes: [1]))
        },
        Tampering(testDescription: "a value of another type", fault: .changed) {
            guard case .sealed(var value)? = $0.fields["a"] else { return }
            value.type = .bytes
            $0.fields["a"] = .sealed(value)
        },
        Tampering(testDescription: "another parent", fault: .changed) { $0.parent = Reference(recordName: "other", action: .none) },
        Tampering(testDescription: "another name", fault: .changed) { $0.recordName = "other" },
        Tampering(testDescription: "another type of record", fault: .changed) { $0.recordType = "Other" },
        Tampering(testDescription: "no manifest", fault: .changed) { $0.manifest = nil },
        Tampering(testDescription: "bytes that are no manifest", fault: .changed) { $0.manifest = [1] },
        Tampering(testDescription: "a later stamp", fault: .changed) { $0.manifest?[2 + KeyID.length] = 1 },
        Tampering(testDescription: "the key of another scope", fault: .otherScope) { $0.manifest?[2] ^= 1 },
    ]

    @Test(arguments: tampering)
    func `A10 and A13 to A15: a record that was altered is refused as a whole`(tampering: Tampering) throws {
        var record = try setting.saved(SealedNote.note())
        _ = try keys.open(record, asked: nil)
        tampering.alter(&record)
        #expect(throws: tampering.fault) { try keys.open(record, asked: nil) }
    }

    @Test func `A12: an older version than one that was seen is refused, and so are two of one stamp`() throws {
        let old = try setting.saved(SealedNote.note())
        let new = try setting.saved(SealedNote.note(), now: 2_000)
        let kept = try manifest(new).version
        #expect(throws: SecretFault.rolledBack) { try keys.open(old, asked: nil, kept: kept) }
        let twin = try setting.saved(SealedNote.note(), now: 2_000)
        #expect(throws: SecretFault.rolledBack) { try keys.open(twin, asked: nil, kept: kept) }
        _ = try keys.open(new, asked: nil, kept: kept)
    }

    @Test func `A13: a record with some of its keys shows those, and one that was asked for cannot be kept back`() throws {
        var record = try setting.saved(SealedNote.note())
        record.fields["b"] = nil
        #expect(try keys.open(record, asked: ["a"]).values == ["a": .string("apple")])
        #expect(throws: SecretFault.changed) { try keys.open(record, asked: ["a", "b"]) }
        // A save of the part keeps the rest.
        let part = CKRecord.make(wire: record, recordID: SealedNote.id, encrypted: try keys.open(record, asked: ["a"]))
        part.encryptedValues["a"] = "almond"
        #expect(try manifest(setting.saved(part, over: record)).parts.fields.map(\.name) == ["a", "b"])
    }

    @Test func `A15: a manifest that does not verify is not built upon`() throws {
        var wire = try setting.saved(SealedNote.note())
        let opened = try keys.open(wire, asked: nil)
        wire.manifest?[2 + KeyID.length] = 1
        var forged = opened
        forged.manifest = wire.manifest
        let record = CKRecord.make(wire: wire, recordID: SealedNote.id, encrypted: forged)
        record.encryptedValues["a"] = "almond"
        #expect(throws: SecretFault.changed) { try setting.saved(record, over: wire) }
    }

    @Test func `a record of an earlier scope of its zone has no values, and a save of one builds on its version without them`() async throws {
        let before = SealedNote(keys: try await KeyDevice(PretendCloud(), KeyStore(folder: nil)).toSave())
        let old = try before.saved(SealedNote.note())
        #expect(throws: SecretFault.otherScope) { try keys.open(old, asked: nil) }
        let record = CKRecord.make(wire: old, recordID: SealedNote.id, encrypted: EncryptedFields(unopened: old))
        record.encryptedValues["a"] = "almond"
        let new = try setting.saved(record, over: old, now: 2_000)
        #expect(try setting.fetched(new).snapshot.encrypted.values == ["a": .string("almond")], "b is cleared: nobody can open it")
        #expect(try manifest(new).parts.admission?.stamp == 2_000)
        #expect(throws: SecretFault.rolledBack) { try keys.open(old, asked: nil, kept: manifest(new).version) }
    }

    @Test func `A12: a version is held against an answer that was asked for before a newer version was seen`() throws {
        let versions = try [1_000, 2_000, 3_000].map { try setting.saved(SealedNote.note(), now: $0) }
        var seen = SeenRecords()
        seen.note(try manifest(versions[1]), of: versions[1], SealedNote.id)
        let asked = seen.moment
        for now in 3_000..<3_020 {
            let newer = try setting.saved(SealedNote.note(), now: UInt64(now))
            seen.note(try manifest(newer), of: newer, SealedNote.id)
        }
        let kept = try #require(seen.version(of: SealedNote.id, before: asked))
        #expect(throws: SecretFault.rolledBack) { try keys.open(versions[0], asked: nil, kept: kept) }
    }

    @Test func `a clear of a value that is not there leaves no change behind`() throws {
        let first = try setting.saved(SealedNote.note())
        let record = try setting.fetched(first)
        record.encryptedValues["none"] = nil
        record.encryptedValues["a"] = "almond"
        let save = ModifyPlan.Save(record, record.snapshot, policy: .ifServerRecordUnchanged)
        let second = try setting.saved(record, over: first, now: 2_000)
        record.adopt(second, sent: save.change, secrets: save.secrets, opened: try keys.open(second, asked: nil))
        #expect(record.encryptedValues.changedKeys().isEmpty)
    }

    @Test func `values under an older key are read, and a save seals under the newest`() async throws {
        let device = try KeyDevice(PretendCloud(), KeyStore(folder: nil))
        let old = try await device.toSave()
        let note = SealedNote(keys: old)
        let first = try note.saved(SealedNote.note())
        try await device.replaceRecovery()
        device.forget()
        let new = SealedNote(keys: try await device.toSave())
        #expect(new.keys.newest.id.version == 2)
        let record = try new.fetched(first)
        record.encryptedValues["a"] = "almond"
        let second = try new.saved(record, over: first)
        #expect(try manifest(second).parts.keyID == new.keys.newest.id)
        #expect(try new.fetched(second).snapshot.encrypted.values == ["a": .string("almond"), "b": .string("bread")])
        #expect(throws: SecretFault.otherKey) { try old.open(second, asked: nil) }
        #expect(throws: SecretFault.otherScope) { try keys.open(second, asked: nil) }
    }

    // MARK: The app's record

    @Test func `encrypted values have keys of their own, and copies keep them`() throws {
        let record = try setting.fetched(try setting.saved(SealedNote.note()))
        record.encryptedValues["c"] = 5
        record.encryptedValues["b"] = nil
        let copy = try #require(record.copy() as? CKRecord)
        for record in [record, copy] {
            #expect(record.encryptedValues.allKeys() == ["a", "c"] && record.encryptedValues.changedKeys() == ["b", "c"])
            #expect(record.allKeys() == ["title"] && record.changedKeys().isEmpty)
            #expect(record["a"] as? String == nil && !record.description.contains("apple"))
        }
        #expect(record.ancestor.encryptedValues["b"] as? String == "bread")
    }

    @Test func `A22: a key that is plain and encrypted fails the save, and so does a plain value of an encrypted field`() throws {
        let record = SealedNote.note()
        record.encryptedValues["title"] = "secret"
        #expect(record.snapshot.fault == ValueFault(key: "title", reason: .plainAndEncrypted))
        record["title"] = nil
        #expect(record.snapshot.fault == nil)
        let fetched = try setting.fetched(try setting.saved(SealedNote.note()))
        fetched["a"] = "plain"
        #expect(fetched.snapshot.fault == ValueFault(key: "a", reason: .plainAndEncrypted))
    }

    @Test func `values that no encrypted field holds are read as they were set, and fail the save`() {
        let record = SealedNote.note([:])
        let reference = CKRecord.Reference(recordID: SealedNote.id, action: .none)
        let cases: [(any CKRecordValueProtocol, ValueFault.Reason)] = [
            (reference, .encryptedAsset), (NSArray(array: [reference]), .encryptedAsset), (Double.nan, .notFinite),
            (NSArray(array: [1, "x" as NSString]), .mixedList), (UInt64.max, .beyondInt64),
        ]
        for (value, reason) in cases {
            record.encryptedValues["x"] = value
            #expect(record.snapshot.fault == ValueFault(key: "x", reason: reason))
            #expect(record.encryptedValues.allKeys() == ["x"])
        }
        record.encryptedValues["x"] = "s"
        #expect(record.snapshot.fault == nil)
        record.encryptedValues["_x"] = "s"
        #expect(record.snapshot.fault == ValueFault(key: "_x", reason: .invalidKey))
    }

    @Test func `edits during a save stay, and are crossed by another device's`() throws {
        let record = SealedNote.note()
        let save = ModifyPlan.Save(record, record.snapshot, policy: .ifServerRecordUnchanged)
        let wire = try setting.saved(record)
        record.encryptedValues["a"] = "almond"
        record.adopt(wire, sent: save.change, secrets: save.secrets, opened: try keys.open(wire, asked: nil))
        #expect(record.encryptedValues.changedKeys() == ["a"] && record.encryptedValues["a"] as? String == "almond")
        #expect(record.recordChangeTag == "t1000" && record.snapshot.encrypted.manifest == wire.manifest)
        // The answer to the next save has another device's value of a key that was edited meanwhile.
        record["title"] = "new"
        let next = ModifyPlan.Save(record, record.snapshot, policy: .changedKeys)
        var crossed = EncryptedFields()
        crossed.values = ["a": .string("almond"), "b": .string("butter")]
        record.encryptedValues["b"] = "beans"
        record.adopt(wire, sent: next.change, secrets: next.secrets, opened: crossed)
        #expect(record.encryptedValues["b"] as? String == "beans" && record.snapshot.encrypted.manifest == wire.manifest)
    }

    // MARK: Versions that were seen

    @Test func `versions are held against answers that were asked for later, and forgotten with their record or zone`() throws {
        let old = try setting.saved(SealedNote.note())
        let new = try setting.saved(SealedNote.note(), now: 2_000)
        var seen = SeenRecords()
        seen.note(try manifest(new), of: new, SealedNote.id)
        seen.note(try manifest(old), of: old, SealedNote.id)
        #expect(try seen.version(of: SealedNote.id, before: seen.moment) == manifest(new).version)
        #expect(seen.version(of: SealedNote.id, before: seen.moment - 1) == nil)
        #expect(seen.isEncrypted("a", of: "Note") && !seen.isEncrypted("a", of: "Other"))
        var other = seen
        other.forget(zonesNamed: ["Notes"])
        #expect(other.version(of: SealedNote.id, before: other.moment) == nil)
        seen.forget(SealedNote.id)
        #expect(seen.version(of: SealedNote.id, before: seen.moment) == nil)
    }

    @Test func `the newest half of the most versions is kept at least`() throws {
        let record = try setting.saved(SealedNote.note())
        let manifest = try manifest(record)
        var seen = SeenRecords()
        let ids = (0..<SeenRecords.entriesMax * 2).map { CKRecord.ID(recordName: "r\($0)") }
        for id in ids { seen.note(manifest, of: record, id) }
        let kept = ids.filter { seen.version(of: $0, before: seen.moment) != nil }
        #expect(kept.count <= SeenRecords.entriesMax && kept.count >= SeenRecords.entriesMax / 2)
        #expect(kept == Array(ids.suffix(kept.count)))
    }
}

extension SealedNote {
    fileprivate init(keys: ZoneKeys) { self.keys = keys }
}
