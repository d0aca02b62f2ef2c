import Foundation
import NacreCloudTestSupport
import NacreCloudWire
import NacreEncryption
import NacreEncryptionForms
import Testing

@testable import CloudKit

/// Tests of records with encrypted files, over a server that keeps what it gets.
struct EncryptedAssetTests {
    private static let zone = ZoneID(zoneName: "Notes")
    private let cloud = PretendCloud()
    private let store = KeyStore(folder: nil)
    private let folder: TemporaryFolder

    init() async throws {
        folder = try TemporaryFolder(on: .memory)
        await cloud.addZone("Notes")
    }

    /// Returns the private database in another process of the device with these keys.
    private func database(keys: KeyStore? = nil) throws -> CKDatabase {
        CKContainer(line: try KeyDevice(cloud, keys ?? store, staging: AssetStaging(folder: folder.path + "/staged")).line).privateCloudDatabase
    }

    private var staged: [String] {
        let manager = FileManager.default
        let files = (try? manager.contentsOfDirectory(atPath: folder.path + "/staged")) ?? []
        return files.filter { $0 != "sending" } + ((try? manager.contentsOfDirectory(atPath: folder.path + "/staged/sending")) ?? [])
    }

    private func asset(_ text: String) throws -> CKAsset {
        let url = folder.url(UUID().uuidString)
        try Data(text.utf8).write(to: url)
        return CKAsset(fileURL: url)
    }

    /// Makes a note with a photo, and with an encrypted value, which has the account's keys made.
    private func note(_ text: String, named name: String = "note", isPlain: Bool = false) throws -> CKRecord {
        let record = SealedNote.note(isPlain ? [:] : ["a": "apple"], named: name)
        record["photo"] = try asset(text)
        return record
    }

    private func text(_ asset: CKAsset?) -> String? {
        asset?.fileURL.flatMap { try? String(contentsOf: $0, encoding: .utf8) }
    }

    private func photo(_ record: CKRecord?) -> String? { text(record?["photo"] as? CKAsset) }

    private func list(_ record: CKRecord) -> [String?] { (record["list"] as? [CKAsset] ?? []).map { text($0) } }

    private func photo(in database: CKDatabase, _ name: String = "note") async throws -> String? {
        photo(try await database.record(for: CKRecord.ID(recordName: name, zoneID: SealedNote.zoneID)))
    }

    private func stored(_ name: String = "note") async throws -> Record { try #require(await cloud.stored(name, in: Self.zone)) }

    private func roots(_ record: Record) throws -> [String: Int] {
        guard let manifest = record.manifest else { return [:] }
        return try RecordManifest(manifest).parts.files.reduce(into: [:]) { $0[$1.name] = $1.roots.count }
    }

    private var uploads: Int { get async { await cloud.transfers.count { $0.hasPrefix("bytes/to-") } } }

    @Test func `files of an account without keys stay plain, and those after its first key are sealed`() async throws {
        let a = try database()
        try await a.save(note("a plain picture", named: "plain", isPlain: true))
        let before = try await stored("plain")
        #expect(before.manifest == nil && before.fields["photo"]?.assets?.first?.size == 15)
        try await a.save(note("a sealed picture"))
        let kept = try await stored()
        #expect(try roots(kept) == ["photo": 1])
        let sealed = try #require(await cloud.files[kept.fields["photo"]?.assets?.first?.fileChecksum ?? ""])
        #expect(String(decoding: sealed, as: UTF8.self).contains("picture") == false && sealed.count == 134)
        try await a.save(note("another picture", named: "other", isPlain: true))
        #expect(try await roots(stored("other")) == ["photo": 1], "no encrypted value is needed any more")
        let b = try database()
        #expect(try await photo(in: b) == "a sealed picture")
        #expect(try await photo(in: b, "plain") == "a plain picture")
        #expect(staged.count == 2, "sealed bytes are gone when they were sent or opened")
    }

    @Test func `files of an account without keys need no folder for keys, and leave nothing there`() async throws {
        let path = folder.path + "/keys"
        try await database(keys: KeyStore(folder: path)).save(note("a plain picture", isPlain: true))
        #expect(try await stored().manifest == nil)
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    @Test func `files of an account without keys are saved also where the server's tree of logs is smaller than the one that was seen`() async throws
    {
        let other = try KeyDevice(PretendCloud(), KeyStore(folder: nil))
        _ = try await other.toSave()
        let seen = try #require(try await other.kept().tree)
        let account = try #require(KeyDevice.account)
        try await store.update(account) { kept throws(CKError) in kept.tree = seen }
        try await database().save(note("a plain picture", isPlain: true))
        #expect(try await stored().manifest == nil)
        #expect(try await store.keys(of: account).tree == seen)
    }

    @Test func `a file is sent once, and its manifest follows when it is replaced and taken away`() async throws {
        let (a, b) = (try database(), try database())
        try await a.save(note("first"))
        let record = try await b.record(for: SealedNote.id)
        let before = try await stored().manifest
        record["title"] = "other"
        try await b.save(record)
        #expect(try await stored().manifest == before)
        _ = try await b.modifyRecords(saving: [record], deleting: [], savePolicy: .allKeys)
        #expect(await uploads == 1)
        #expect(try await roots(stored()) == ["photo": 1])
        record["photo"] = try asset("second")
        let saved = try await b.save(record)
        #expect(photo(saved) == "second" && saved.changedKeys().isEmpty)
        let read = try await a.record(for: SealedNote.id)
        #expect(photo(read) == "second" && read.encryptedValues["a"] as? String == "apple")
        read["photo"] = nil
        try await a.save(read)
        #expect(try await roots(stored()).isEmpty)
        #expect(try await b.record(for: SealedNote.id)["photo"] == nil)
    }

    @Test func `a list loses a file and gets one, and only the new one is sent`() async throws {
        let a = try database()
        let record = try note("photo")
        record["list"] = [try asset("one"), try asset("two")]
        try await a.save(record)
        let read = try await database().record(for: SealedNote.id)
        let list = try #require(read["list"] as? [CKAsset])
        #expect(self.list(read) == ["one", "two"])
        read["list"] = [list[1]]
        try await a.save(read)
        #expect(try await roots(stored()) == ["list": 1, "photo": 1])
        let sent = await uploads
        let three = try asset("three")
        read["list"] = [list[1], three]
        try await a.save(read)
        #expect(await uploads == sent + 1)
        let last = try await database().record(for: SealedNote.id)
        #expect(self.list(last) == ["two", "three"])
    }

    @Test func `a plain list that gets a sealed file is sealed as a whole`() async throws {
        let a = try database()
        let record = try note("photo", isPlain: true)
        record["list"] = [try asset("one")]
        let saved = try await a.save(record)
        try await a.save(note("x", named: "other"))
        let two = try asset("two")
        saved["list"] = (saved["list"] as? [CKAsset] ?? []) + [two]
        try await a.save(saved)
        #expect(try await roots(stored()) == ["list": 2], "the photo was not touched")
        let read = try await database().record(for: SealedNote.id)
        #expect(list(read) == ["one", "two"] && photo(read) == "photo")
    }

    @Test func `a plain list is sealed as a whole, also if its files are gone from the cache`() async throws {
        let a = try database()
        let record = try note("photo", isPlain: true)
        record["list"] = [try asset("one")]
        try await a.save(record)
        try await a.save(note("x", named: "other"))
        let read = try await a.record(for: SealedNote.id)
        let one = try #require((read["list"] as? [CKAsset])?.first)
        try FileManager.default.removeItem(at: #require(one.fileURL))
        let (two, before) = (try asset("two"), staged.count)
        read["list"] = [one, two]
        try await a.save(read)
        #expect(try await roots(stored()) == ["list": 2])
        #expect(staged.count == before, "the file that was fetched again is gone")
        #expect(list(try await database().record(for: SealedNote.id)) == ["one", "two"])
    }

    @Test func `a save of changed keys with a file goes over a newer version`() async throws {
        let (a, b) = (try database(), try database())
        let mine = try await a.save(note("first"))
        let yours = try await b.record(for: SealedNote.id)
        mine.encryptedValues["a"] = "almond"
        try await a.save(mine)
        yours["photo"] = try asset("second")
        let sent = await uploads
        let results = try await b.modifyRecords(saving: [yours], deleting: [], savePolicy: .changedKeys)
        _ = try results.saveResults[SealedNote.id]?.get()
        #expect(await uploads == sent + 1)
        let read = try await a.record(for: SealedNote.id)
        #expect(photo(read) == "second" && read.encryptedValues["a"] as? String == "almond")
    }

    @Test func `A13 and A15: another file, a plain one, none, and a list of another length are that record's error alone`() async throws {
        let a = try database()
        try await a.save(note("true"))
        let other = try await a.save(note("foreign", named: "other"))
        let foreign = try #require(try await stored("other").fields["photo"])
        let own = try #require(try await stored().fields["photo"])
        let asset = try #require(own.assets?.first)
        let bytes = try #require(await cloud.files[asset.fileChecksum])
        let changes: [(FieldValue?, Bool)] = [
            (foreign, true), (nil, false), (.assetList([asset, asset]), false), (.string("x"), false),
        ]
        func refused() async throws -> CKError? {
            let ids = [SealedNote.id, other.recordID]
            let found = try await database().records(for: ids)
            #expect(try photo(found[other.recordID]?.get()) == "foreign")
            return found[SealedNote.id]?.error as? CKError
        }
        for (value, hasField) in changes {
            await cloud.alter("note", in: Self.zone) { $0.fields["photo"] = value }
            let before = staged.count
            let error = try #require(try await refused())
            #expect(error.code == .internalError && (error.userInfo["CKErrorField"] as? String == "photo") == hasField)
            #expect(staged.count == before + 1, "the other record's file alone")
        }
        await cloud.alter("note", in: Self.zone) { $0.fields["photo"] = own }
        #expect(try await refused() == nil)
        await cloud.replace(asset.fileChecksum, with: Array("plain".utf8) + Array(bytes.dropFirst(5)))
        #expect(try await refused()?.code == .internalError)
    }

    @Test func `a record whose manifest is gone is refused by who has seen it`() async throws {
        let a = try database()
        try await a.save(note("true"))
        await cloud.alter("note", in: Self.zone) { record in
            record.manifest = nil
            record.fields["a"] = nil
        }
        let error = await #expect(throws: CKError.self) { try await a.record(for: SealedNote.id) }
        #expect(error?.code == .internalError)
    }

    @Test func `a device without keys gets no sealed file, keeps it in a save, and sends none`() async throws {
        try await database().save(note("secret"))
        let stranger = try database(keys: KeyStore(folder: nil))
        let record = try await stranger.record(for: SealedNote.id)
        let asset = try #require(record["photo"] as? CKAsset)
        #expect(asset.fileURL == nil && staged.isEmpty)
        record["title"] = "other"
        try await stranger.save(record)
        #expect(try await photo(in: database()) == "secret")
        let sent = await uploads
        record["photo"] = try self.asset("plain")
        let error = await #expect(throws: CKError.self) { try await stranger.save(record) }
        #expect(error?.code == .accountTemporarilyUnavailable)
        #expect(await uploads == sent)
    }

    @Test func `a pass sends a record's files under the newest key, also below a newer manifest, once, and ends the older key`() async throws {
        let device = try KeyDevice(cloud, store, staging: AssetStaging(folder: folder.path + "/staged"))
        let database = CKContainer(line: device.line).privateCloudDatabase
        let record = try note("old")
        record["list"] = [try asset("one"), try asset("two")]
        let saved = try await database.save(record)
        try await device.replaceRecovery()
        device.forget()
        saved.encryptedValues["a"] = "almond"
        try await database.save(saved)
        let kept = try await stored()
        #expect(try RecordManifest(#require(kept.manifest)).parts.keyID.version == 2)
        let sent = await uploads
        await cloud.answerZoneChanges(
            .page(ChangesZoneResponse.Page(zoneID: Self.zone, records: [.record(kept)], syncToken: "1", moreComing: true)))
        // The feed shows the record again after its save.
        await cloud.beforeNextAnswer(to: "records/modify") { [cloud] in
            guard let record = await cloud.stored("note", in: Self.zone) else { return }
            await cloud.answerZoneChanges(
                .page(ChangesZoneResponse.Page(zoneID: Self.zone, records: [.record(record)], syncToken: "2", moreComing: false)))
        }
        let outcome = try await device.userKeys().sealAnew(zone: "Notes")
        #expect(outcome.map(\.left) == [0] && outcome.map(\.records) == [1])
        #expect(await uploads == sent + 3)
        let next = try KeyDevice(cloud, store, staging: AssetStaging(folder: folder.path + "/staged"))
        #expect(try await next.toOpen()?.older.isEmpty == true)
        let read = try await CKContainer(line: next.line).privateCloudDatabase.record(for: SealedNote.id)
        #expect(photo(read) == "old" && list(read) == ["one", "two"] && read.encryptedValues["a"] as? String == "almond")
    }

    /// Saves a plain root, and makes a share of it.
    private func shareList(by device: KeyDevice) async throws -> CKRecord {
        let list = SealedNote.note([:], named: "list")
        try await CKContainer(line: device.line).privateCloudDatabase.save(list)
        _ = try await device.makeShare(of: "list")
        await cloud.alter("list", in: Self.zone) { $0.share = Reference(recordName: "share", action: .none) }
        return list
    }

    @Test func `a save leaves files in their place also where this process remembers the parent in another`() async throws {
        let device = try KeyDevice(cloud, store, staging: AssetStaging(folder: folder.path + "/staged"))
        let (a, b) = (CKContainer(line: device.line).privateCloudDatabase, try database())
        let above = SealedNote.note(["a": "apple"], named: "above")
        above.setParent(try await shareList(by: device).recordID)
        try await a.save(above)
        // Another process takes the parent out of the share, and saves a file below it.
        let theirs = try await b.record(for: above.recordID)
        theirs.parent = nil
        try await b.save(theirs)
        let below = try note("a picture")
        below.setParent(above.recordID)
        try await b.save(below)
        let record = try await a.record(for: SealedNote.id)
        record.encryptedValues["a"] = "almond"
        try await a.save(record)
        let read = try await database().record(for: SealedNote.id)
        #expect(read.encryptedValues["a"] as? String == "almond" && photo(read) == "a picture")
    }

    @Test func `a file that is sealed for a share of records is not plain`() async throws {
        let device = try KeyDevice(cloud, store, staging: AssetStaging(folder: folder.path + "/staged"))
        let below = try note("a picture")
        below.setParent(try await shareList(by: device).recordID)
        try await CKContainer(line: device.line).privateCloudDatabase.save(below)
        let kept = try await stored()
        #expect(try roots(kept) == ["photo": 1])
        var plain = kept
        (plain.recordName, plain.manifest) = ("plain", nil)
        await cloud.answerZoneChanges(
            .page(ChangesZoneResponse.Page(zoneID: Self.zone, records: [.record(kept), .record(plain)], syncToken: "1", moreComing: false)))
        var found: [PlainFiles] = []
        try await device.userKeys().plainFiles(zone: "Notes") { found += $0 }
        #expect(found.map(\.record) == ["plain"])
    }

    @Test func `a record whose file does not verify keeps the older key, and nothing of it is sent`() async throws {
        let device = try KeyDevice(cloud, store, staging: AssetStaging(folder: folder.path + "/staged"))
        try await CKContainer(line: device.line).privateCloudDatabase.save(note("true"))
        let kept = try await stored()
        let checksum = try #require(kept.fields["photo"]?.assets?.first?.fileChecksum)
        let bytes = try #require(await cloud.files[checksum])
        await cloud.replace(checksum, with: [bytes[0] ^ 1] + bytes.dropFirst())
        try await device.replaceRecovery()
        device.forget()
        // A save after the words are other ones makes the zone's next key.
        let other = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "other", zoneID: SealedNote.id.zoneID))
        other.encryptedValues["a"] = "almond"
        try await CKContainer(line: device.line).privateCloudDatabase.save(other)
        await cloud.answerZoneChanges(
            .page(ChangesZoneResponse.Page(zoneID: Self.zone, records: [.record(kept)], syncToken: "1", moreComing: false)))
        let outcome = try await device.userKeys().sealAnew(zone: "Notes")
        #expect(outcome.map(\.left) == [1] && outcome.map(\.records) == [0])
        #expect(await uploads == 1)
        #expect(try await KeyDevice(cloud, store).toOpen()?.older.count == 1)
    }

    @Test func `a file that was sent under a key which is not the newest any more fails its save, and is sent again`() async throws {
        let (a, other) = (try database(), try KeyDevice(cloud, store))
        let record = try await a.save(note("first"))
        try await other.replaceRecovery()
        other.forget()
        #expect(try await other.toSave().newest.id.version == 2)
        record["photo"] = try asset("second")
        await cloud.refuseSealed([ServerError(.badRequest, ServerError.keyIsNotNewestReason)])
        let error = await #expect(throws: CKError.self) { try await a.save(record) }
        #expect(error?.code == .zoneBusy)
        let sent = await uploads
        try await a.save(record)
        #expect(await uploads == sent + 1)
        #expect(try await photo(in: database()) == "second")
        let bytes = try await cloud.files[#require(stored().fields["photo"]?.assets?.first?.fileChecksum)] ?? []
        #expect(try NacreEncryptionForms.SealedValue(bytes).keyID.version == 2)
    }

    @Test func `a field that was not asked for is no fault, and costs no byte`() async throws {
        try await database().save(note("true"))
        let found = try await database().records(for: [SealedNote.id], desiredKeys: ["title"])
        #expect(try found[SealedNote.id]?.get()["title"] as? String == "plain" && staged.isEmpty)
    }
}
