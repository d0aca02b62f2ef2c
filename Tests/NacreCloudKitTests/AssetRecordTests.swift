import Foundation
import NacreCloudWire
import Testing

@testable import CloudKit

/// Tests of assets in the fields of records, before any transfer.
struct AssetRecordTests {
    private let file = URL(fileURLWithPath: "/tmp/a.png")
    private let other = URL(fileURLWithPath: "/tmp/b.png")
    private static let known = Asset(fileChecksum: "one", size: 3, downloadURL: "http://bytes.test/one")

    private static func fetched(_ fields: RecordFields, tag: String = "t1") -> Record {
        let stamp = Record.Stamp(timestamp: Timestamp(secondsSince2001: 1), userRecordName: "_a", deviceID: nil)
        return Record(recordName: "r", recordType: "Note", recordChangeTag: tag, created: stamp, modified: stamp, fields: fields)
    }

    private static func record(_ fields: RecordFields) -> CKRecord {
        CKRecord.make(wire: fetched(fields), recordID: CKRecord.ID(recordName: "r"))
    }

    @Test func `an asset is set and read under every form of access`() throws {
        let record = CKRecord(recordType: "Note")
        let asset = CKAsset(fileURL: file)
        record["photo"] = asset
        #expect(record["photo"] as? CKAsset === asset && record.object(forKey: "photo") as? CKAsset === asset)
        let typed: CKAsset? = record["photo"]
        #expect(typed?.fileURL == file)
        record.setValue(CKAsset(fileURL: other), forKey: "second")
        record["list"] = [asset, CKAsset(fileURL: other)]
        #expect((record["list"] as? [CKAsset])?.map(\.fileURL) == [file, other])
        let list: [CKAsset]? = record["list"]
        #expect(list?.first === asset)
        #expect(record.changedKeys() == ["list", "photo", "second"] && record.allKeys() == record.changedKeys())
        #expect(Dictionary(uniqueKeysWithValues: record.map { ($0, $1) })["photo"] as? CKAsset === asset)
        record["photo"] = nil
        #expect(record["photo"] == nil && record.snapshot.assets["photo"] == nil)
        record["photo"] = "now a text"
        #expect(record["photo"] as? String == "now a text" && record.snapshot.fault == nil)
    }

    @Test func `what is no file, and lists of files and other things, are faults`() {
        let record = CKRecord(recordType: "Note")
        record["photo"] = URL(string: "https://example.com/a.png").map { CKAsset(fileURL: $0) }
        #expect(record.snapshot.fault == ValueFault(key: "photo", reason: .assetURL))
        record["photo"] = nil
        record["list"] = NSArray(array: [CKAsset(fileURL: file), "text" as NSString])
        #expect(record.snapshot.fault == ValueFault(key: "list", reason: .mixedList))
    }

    @Test func `encrypted values take no assets, and say so until the key is set to something else`() {
        let record = CKRecord(recordType: "Note")
        record.encryptedValues["photo"] = CKAsset(fileURL: file)
        #expect(record.snapshot.fault == ValueFault(key: "photo", reason: .encryptedAsset))
        record.encryptedValues.setObject(nil, forKey: "photo")
        #expect(record.snapshot.fault == nil)
    }

    @Test func `no predicate takes an asset`() {
        let query = CKQuery(recordType: "Note", predicate: NSPredicate(format: "photo == %@", CKAsset(fileURL: file)))
        #expect(throws: CKError.self) { try query.wire(now: Timestamp(secondsSince2001: 0)) }
    }

    @Test func `a fetched asset has no file unless one was fetched, and is no change`() {
        let record = Self.record(["photo": .asset(Self.known), "list": .assetList([Self.known])])
        #expect((record["photo"] as? CKAsset).map { $0.fileURL == nil } == true && (record["list"] as? [CKAsset])?.count == 1)
        let own = record.snapshot.change(policy: .ifServerRecordUnchanged)
        #expect(own.set.isEmpty && ModifyPlan.Save(record, record.snapshot, policy: .ifServerRecordUnchanged).assets.isEmpty)
        let all = record.snapshot.change(policy: .allKeys)
        #expect(all.set["photo"] == .asset(Asset(fileChecksum: "one", size: 3)), "as it was read, and not where it can be had")
    }

    @Test func `an asset set back where it was is known to the server, and anywhere else a file to be sent`() {
        let record = Self.record(["photo": .asset(Self.known), "list": .assetList([Self.known])])
        let asset = record["photo"] as? CKAsset
        record["photo"] = asset
        record["copy"] = asset
        #expect(record.snapshot.fields["photo"]?.assets?.first?.fileChecksum == "one" && record.changedKeys() == ["copy", "photo"])
        #expect(record.snapshot.fields["copy"] == .asset(.unsent))
        record["list"] = [CKAsset(fileURL: file), asset].compactMap { $0 }
        #expect(record.snapshot.fields["list"]?.assets?.map(\.isUnsent) == [true, false])
        let elsewhere = CKRecord(recordType: "Note")
        elsewhere["photo"] = asset
        #expect(elsewhere.snapshot.fields["photo"] == .asset(.unsent))
    }

    // MARK: After a save

    @Test func `after a save an asset is the server's, and its file still the app's`() {
        let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "r"))
        record["photo"] = CKAsset(fileURL: file)
        let save = ModifyPlan.Save(record, record.snapshot, policy: .ifServerRecordUnchanged)
        record.adopt(
            Self.fetched(["photo": .asset(Self.known), "theirs": .asset(Asset(fileChecksum: "two", size: 1))]), sent: save.change, assets: save.assets
        )
        #expect(record.changedKeys().isEmpty && (record["photo"] as? CKAsset)?.fileURL == file)
        #expect((record["photo"] as? CKAsset)?.known?.fileChecksum == "one")
        #expect((record["theirs"] as? CKAsset).map { $0.fileURL == nil } == true)
    }

    @Test func `another file set during a save stays a change`() {
        let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "r"))
        record["photo"] = CKAsset(fileURL: file)
        var save = ModifyPlan.Save(record, record.snapshot, policy: .ifServerRecordUnchanged)
        save.change.set["photo"] = .asset(Asset(fileChecksum: "one", size: 3, receipt: "receipt"))
        record["photo"] = CKAsset(fileURL: other)
        record.adopt(Self.fetched(["photo": .asset(Self.known)]), sent: save.change, assets: save.assets)
        #expect(record.changedKeys() == ["photo"] && record.recordChangeTag == "t1")
        #expect((record["photo"] as? CKAsset)?.fileURL == other && record.snapshot.fields["photo"] == .asset(.unsent))
    }

    @Test func `a text set in its place during a save stays a change`() {
        let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "r"))
        record["photo"] = CKAsset(fileURL: file)
        var save = ModifyPlan.Save(record, record.snapshot, policy: .ifServerRecordUnchanged)
        save.change.set["photo"] = .asset(Asset(fileChecksum: "one", size: 3, receipt: "receipt"))
        record["photo"] = "none"
        record.adopt(Self.fetched(["photo": .asset(Self.known)]), sent: save.change, assets: save.assets)
        #expect(record["photo"] as? String == "none" && record.changedKeys() == ["photo"] && record.snapshot.assets["photo"] == nil)
    }

    @Test func `how an asset travels does not make it another`() {
        let seen = FieldValue.asset(Asset(fileChecksum: "one", size: 3, wrappingKey: "k", receipt: "r"))
        #expect(seen.isSame(as: .asset(Self.known)))
        #expect(!seen.isSame(as: .asset(Asset(fileChecksum: "one", size: 4))) && !seen.isSame(as: .asset(Asset(fileChecksum: "two", size: 3))))
        #expect(!seen.isSame(as: .assetList([Self.known])) && !seen.isSame(as: nil) && FieldValue.int64(1).isSame(as: .int64(1)))
    }

    // MARK: Copies and archives

    @Test func `a copy has the same assets`() throws {
        let record = CKRecord(recordType: "Note")
        record["photo"] = CKAsset(fileURL: file)
        let copy = try #require(record.copy() as? CKRecord)
        #expect(copy["photo"] as? CKAsset === record["photo"] as? CKAsset && copy.changedKeys() == ["photo"])
    }

    @Test func `an archive keeps where files are, and which assets the server has`() throws {
        let record = Self.record(["old": .asset(Self.known), "list": .assetList([Self.known]), "text": .string("x")])
        record["photo"] = CKAsset(fileURL: file)
        record["more"] = [CKAsset(fileURL: file), CKAsset(fileURL: other)]
        let data = try NSKeyedArchiver.archivedData(withRootObject: record, requiringSecureCoding: true)
        let back = try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKRecord.self, from: data))
        #expect((back["photo"] as? CKAsset)?.fileURL == file && (back["more"] as? [CKAsset])?.map(\.fileURL) == [file, other])
        #expect(back.changedKeys() == ["more", "photo"] && back.snapshot.fields["photo"] == .asset(.unsent))
        #expect((back["old"] as? CKAsset)?.known == Asset(fileChecksum: "one", size: 3) && (back["list"] as? [CKAsset])?.count == 1)
        #expect(back.snapshot.change(policy: .ifServerRecordUnchanged).set.count == 2)
    }

    /// Returns the record in `Fixtures/archives-2.plist`. A version that writes another form gets another fixture;
    /// this one stays.
    static func archived() -> CKRecord {
        let record = Self.record(["old": .asset(Self.known), "list": .assetList([Self.known]), "text": .string("x")])
        record["photo"] = CKAsset(fileURL: URL(fileURLWithPath: "/tmp/a.png"))
        record["more"] = [CKAsset(fileURL: URL(fileURLWithPath: "/tmp/a.png")), CKAsset(fileURL: URL(fileURLWithPath: "/tmp/ü.png"))]
        return record
    }

    @Test func `archives of version 2 are read`() throws {
        let url = try #require(Bundle.module.url(forResource: "Fixtures/archives-2", withExtension: "plist"))
        let record = try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKRecord.self, from: Data(contentsOf: url)))
        let (found, expected) = (record.snapshot, Self.archived().snapshot)
        #expect(found.changed == expected.changed && Set(found.fields.entries.map(\.name)) == ["list", "more", "old", "photo", "text"])
        for field in expected.fields.entries { #expect(field.value.isSame(as: found.fields[field.name]), "\(field.name)") }
        #expect(found.assets["more"]?.map(\.fileURL?.path) == ["/tmp/a.png", "/tmp/ü.png"])
    }

    @Test func `an asset is archived by itself, with the URL of its file and not its bytes`() throws {
        let fetched = try #require(Self.record(["old": .asset(Self.known)])["old"] as? CKAsset)
        let assets = NSArray(array: [CKAsset(fileURL: file), fetched, CKAsset(file: nil, known: nil, isImport: true)])
        let data = try NSKeyedArchiver.archivedData(withRootObject: assets, requiringSecureCoding: true)
        let back = try #require(try NSKeyedUnarchiver.unarchivedObject(ofClasses: [NSArray.self, CKAsset.self], from: data) as? [CKAsset])
        #expect(back.map(\.fileURL) == [file, nil, nil] && back.map(\.known) == [nil, Asset(fileChecksum: "one", size: 3), nil])
        #expect(back.map(\.isImport) == [false, false, true])
    }

    @Test func `system fields have no assets`() throws {
        let record = Self.record(["old": .asset(Self.known)])
        let archiver = NSKeyedArchiver(requiringSecureCoding: true)
        record.encodeSystemFields(with: archiver)
        let unarchiver = try NSKeyedUnarchiver(forReadingFrom: archiver.encodedData)
        let back = try #require(CKRecord(coder: unarchiver))
        #expect(back.allKeys().isEmpty && back.snapshot.assets.isEmpty && back.recordChangeTag == "t1")
    }

    @Test(arguments: [true, false])
    func `only an archive with assets asks for a version that knows them`(hasAsset: Bool) throws {
        let record = CKRecord(recordType: "Note")
        record["text"] = "x"
        if hasAsset { record["photo"] = CKAsset(fileURL: file) }
        let archiver = NSKeyedArchiver(requiringSecureCoding: true)
        record.encode(with: archiver)
        let unarchiver = try NSKeyedUnarchiver(forReadingFrom: archiver.encodedData)
        let kept = try #require(unarchiver.decodeObject(of: NSData.self, forKey: ArchivedRecord.key))
        let archived = try PropertyListDecoder().decode(ArchivedRecord.self, from: Data(referencing: kept))
        #expect(archived.version == (hasAsset ? 2 : 1))
    }
}
