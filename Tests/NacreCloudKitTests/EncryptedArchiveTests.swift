import Foundation
import NacreCloudWire
import Testing

@testable import CloudKit

/// Tests of archives of records with encrypted values.
struct EncryptedArchiveTests {
    private let setting: SealedNote
    private let device = KeyStore(folder: nil)

    init() async throws { setting = try await SealedNote() }

    private func archived(_ record: CKRecord) throws -> Data {
        try ArchivedSecrets.$keys.withValue(device) {
            try NSKeyedArchiver.archivedData(withRootObject: record, requiringSecureCoding: true)
        }
    }

    private func read(_ data: Data, on device: KeyStore) throws -> CKRecord {
        try ArchivedSecrets.$keys.withValue(device) {
            try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKRecord.self, from: data))
        }
    }

    /// A record with a value of each state: as fetched, changed, cleared and new.
    private func edited() throws -> CKRecord {
        let record = try setting.fetched(try setting.saved(SealedNote.note(["a": "apple", "b": "bread", "c": "cheese"])))
        record.encryptedValues["b"] = "butter"
        record.encryptedValues["c"] = nil
        record.encryptedValues["d"] = Date(timeIntervalSinceReferenceDate: 0.1)
        return record
    }

    @Test func `a record comes back with its encrypted values on the device that archived it`() throws {
        let record = try edited()
        let back = try read(archived(record), on: device)
        let (before, after) = (record.snapshot.encrypted, back.snapshot.encrypted)
        #expect(after.values == before.values && after.fetched == before.fetched && after.changed == before.changed)
        #expect(after.manifest == before.manifest && after.listed == before.listed && back.snapshot.fault == nil)
    }

    @Test func `no archive has a value in the clear`() throws {
        let record = try edited()
        record.encryptedValues["e"] = NSArray(array: ["mixed" as NSString, 5])
        let data = try archived(record)
        for text in ["apple", "bread", "butter", "cheese", "mixed"] {
            #expect(data.range(of: Data(text.utf8)) == nil)
            #expect(data.range(of: Data(text.utf8).base64EncodedData()) == nil)
        }
        #expect(data.range(of: Data("plain".utf8)) != nil)
    }

    @Test func `on another device a value is not there, and one that was changed fails the save`() throws {
        let back = try read(archived(edited()), on: KeyStore(folder: nil))
        #expect(back.encryptedValues.allKeys().isEmpty && back["title"] as? String == "plain")
        #expect(back.snapshot.encrypted.manifest != nil)
        #expect(back.snapshot.fault == ValueFault(key: "b", reason: .encryptedLost))
        back.encryptedValues["b"] = "butter"
        #expect(back.snapshot.fault == ValueFault(key: "d", reason: .encryptedLost))
        back.encryptedValues["d"] = nil
        #expect(back.snapshot.fault == nil)
        let unchanged = try setting.fetched(try setting.saved(SealedNote.note()))
        #expect(try read(archived(unchanged), on: KeyStore(folder: nil)).snapshot.fault == nil)
    }

    @Test func `a value of one record's archive does not open in another's`() throws {
        let state = try edited().snapshot
        var archive = try #require(ArchivedSecrets.$keys.withValue(device) { ArchivedSecrets(state.encrypted, of: state) })
        (archive.values["b"], archive.values["d"]) = (archive.values["d"], archive.values["b"])
        let moved = ArchivedSecrets.$keys.withValue(device) { archive.fields(of: state) }
        #expect(moved.values == ["a": .string("apple")])
        let other = RecordState(recordType: "Note", recordID: CKRecord.ID(recordName: "other", zoneID: SealedNote.zoneID))
        #expect(ArchivedSecrets.$keys.withValue(device) { archive.fields(of: other) }.values.isEmpty)
        archive.values = archive.fetched
        #expect(ArchivedSecrets.$keys.withValue(device) { archive.fields(of: state) }.values.isEmpty)
    }

    @Test func `system fields have the manifest, so that a save of some keys keeps the others`() throws {
        let wire = try setting.saved(SealedNote.note())
        let archiver = NSKeyedArchiver(requiringSecureCoding: true)
        try setting.fetched(wire).encodeSystemFields(with: archiver)
        archiver.finishEncoding()
        let unarchiver = try NSKeyedUnarchiver(forReadingFrom: archiver.encodedData)
        unarchiver.requiresSecureCoding = true
        let record = try #require(CKRecord(coder: unarchiver))
        #expect(record.encryptedValues.allKeys().isEmpty)
        record.encryptedValues["a"] = "almond"
        let saved = try setting.fetched(try setting.saved(record, over: wire))
        #expect(saved.snapshot.encrypted.values == ["a": .string("almond"), "b": .string("bread")])
    }
}
