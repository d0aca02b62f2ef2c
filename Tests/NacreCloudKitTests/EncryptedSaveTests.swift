import Foundation
import NacreCloudWire
import NacreEncryption
import NacreEncryptionForms
import Testing

@testable import CloudKit

/// Tests of operations on records with encrypted values, over a server that compares manifests as the real one does.
struct EncryptedSaveTests {
    private static let zone = ZoneID(zoneName: "Notes")
    private static let folder = CKRecord.ID(recordName: "folder", zoneID: SealedNote.zoneID)
    private let cloud = PretendCloud()
    private let store = KeyStore(folder: nil)

    init() async { await cloud.addZone("Notes") }

    /// Returns the private database in another process of the device with these keys.
    private func database(keys: KeyStore? = nil) throws -> CKDatabase {
        CKContainer(line: try KeyDevice(cloud, keys ?? store).line).privateCloudDatabase
    }

    private func saved(in database: CKDatabase) async throws -> CKRecord { try await database.save(SealedNote.note()) }

    private func results(
        _ records: [CKRecord], in database: CKDatabase, _ policy: CKModifyRecordsOperation.RecordSavePolicy = .ifServerRecordUnchanged,
        atomically: Bool = true
    ) async throws -> [CKRecord.ID: Result<CKRecord, any Error>] {
        try await database.modifyRecords(saving: records, deleting: [], savePolicy: policy, atomically: atomically).saveResults
    }

    @Test func `values are read by another process of the user, and no request has them`() async throws {
        let a = try database()
        let record = try await saved(in: a)
        #expect(record.encryptedValues["a"] as? String == "apple" && record.encryptedValues.changedKeys().isEmpty)
        let read = try await database().record(for: SealedNote.id)
        #expect(read.encryptedValues["a"] as? String == "apple" && read["title"] as? String == "plain")
        let bodies = await cloud.seen.map { String(decoding: $0.request.body, as: UTF8.self) }
        #expect(bodies.contains { $0.contains("plain") } && !bodies.contains { $0.contains("apple") })
        #expect(await cloud.stored("note", in: Self.zone)?.manifest != nil)
    }

    @Test func `a conflict has the server's values, those of the edit and their ancestor, and its merge is saved`() async throws {
        let (a, b) = (try database(), try database())
        _ = try await saved(in: a)
        let (mine, yours) = (try await a.record(for: SealedNote.id), try await b.record(for: SealedNote.id))
        mine.encryptedValues["a"] = "almond"
        try await a.save(mine)
        yours.encryptedValues["a"] = "anise"
        let error = try #require(await thrown { try await b.save(yours) })
        #expect(error.code == .serverRecordChanged)
        #expect(error.serverRecord?.encryptedValues["a"] as? String == "almond")
        #expect(error.clientRecord?.encryptedValues["a"] as? String == "anise")
        #expect(error.ancestorRecord?.encryptedValues["a"] as? String == "apple")
        let merged = try #require(error.serverRecord)
        merged.encryptedValues["a"] = "almond, anise"
        try await b.save(merged)
        #expect(try await a.record(for: SealedNote.id).encryptedValues["a"] as? String == "almond, anise")
    }

    @Test(arguments: [CKModifyRecordsOperation.RecordSavePolicy.changedKeys, .allKeys], [true, false])
    func `a save of changed or all keys is made anew over a newer version`(
        policy: CKModifyRecordsOperation.RecordSavePolicy, atomically: Bool
    ) async throws {
        let (a, b) = (try database(), try database())
        let mine = try await saved(in: a)
        let yours = try await b.record(for: SealedNote.id)
        mine.encryptedValues["c"] = "cheese"
        try await a.save(mine)
        yours.encryptedValues["b"] = "beans"
        let other = SealedNote.note([:], named: "other")
        let results = try await results([yours, other], in: b, policy, atomically: atomically)
        let saved = try #require(try results[SealedNote.id]?.get())
        _ = try results[other.recordID]?.get()
        let values: RecordFields = ["a": .string("apple"), "b": .string("beans"), "c": .string("cheese")]
        #expect(saved.snapshot.encrypted.values == values && yours.snapshot.encrypted.values == values)
        #expect(try await a.record(for: SealedNote.id).snapshot.encrypted.values == values)
    }

    @Test func `a move into a share that is made anew over a newer version keeps the values of that version`() async throws {
        let device = try KeyDevice(cloud, store)
        let (a, b) = (CKContainer(line: device.line).privateCloudDatabase, try database())
        let list = SealedNote.note([:], named: "list")
        try await a.save(list)
        let share = try await device.makeShare(of: "list")
        await cloud.alter("list", in: Self.zone) { $0.share = Reference(recordName: "share", action: .none) }
        _ = try await saved(in: b)
        let mine = try await a.record(for: SealedNote.id)
        mine.setParent(list.recordID)
        await cloud.refuseSealed([ServerError(.conflict, "client oplock error updating record", internalCode: 2004)])
        await cloud.beforeNextAnswer(to: "records/modify") {
            guard let yours = try? await b.record(for: SealedNote.id) else { return }
            yours.encryptedValues["a"] = "almond"
            _ = try? await b.save(yours)
        }
        _ = try await results([mine], in: a, .changedKeys)[SealedNote.id]?.get()
        let read = try await database().record(for: SealedNote.id)
        #expect(read.snapshot.encrypted.values == ["a": .string("almond"), "b": .string("bread")] && read.parent?.recordID == list.recordID)
        let manifest = try RecordManifest(try #require(read.snapshot.encrypted.manifest))
        #expect(manifest.parts.keyID.scope == share.newest.id.scope)
    }

    @Test func `a save of changed keys of a record that is gone makes a new one, and one of its version does not`() async throws {
        let (a, b) = (try database(), try database())
        _ = try await saved(in: a)
        let yours = try await b.record(for: SealedNote.id)
        try await a.deleteRecord(withID: SealedNote.id)
        yours.encryptedValues["b"] = "beans"
        let unchanged = try await results([yours], in: b)
        #expect((unchanged[SealedNote.id]?.error as? CKError)?.code == .unknownItem)
        let changed = try await results([yours], in: b, .changedKeys)
        #expect(try changed[SealedNote.id]?.get().snapshot.encrypted.values == ["b": .string("beans")])
    }

    @Test(arguments: [CKModifyRecordsOperation.RecordSavePolicy.changedKeys, .allKeys])
    func `a save of the parent by an object that has not seen the record is made anew over the record's manifest`(
        policy: CKModifyRecordsOperation.RecordSavePolicy
    ) async throws {
        _ = try await saved(in: database())
        let unseen = CKRecord(recordType: "Note", recordID: SealedNote.id)
        unseen.setParent(Self.folder)
        let results = try await results([unseen], in: database(), policy)
        for record in [try #require(results[SealedNote.id]).get(), try await database().record(for: SealedNote.id)] {
            #expect(record.parent?.recordID == Self.folder && record["title"] as? String == "plain")
            #expect(record.snapshot.encrypted.values == ["a": .string("apple"), "b": .string("bread")])
        }
    }

    @Test func `the answer to a save of plain fields has the values that the object holds, but not for another parent`() async throws {
        let device = try KeyDevice(cloud, store)
        let database = CKContainer(line: device.line).privateCloudDatabase
        let record = SealedNote.note()
        record.setParent(Self.folder)
        try await database.save(record)
        device.forget()
        let count = await cloud.paths.count
        record["title"] = "new"
        let answered = try await database.save(record)
        #expect(answered.encryptedValues["a"] as? String == "apple")
        #expect(await cloud.paths.dropFirst(count) == ["records/modify"], "no key is needed")
        await cloud.alter("note", in: Self.zone) { $0.parent = Reference(recordName: "other", action: .none) }
        record["title"] = "newer"
        #expect(await thrown { try await database.save(record) }?.code == .internalError)
    }

    @Test func `a save of plain fields that the server has made succeeds where the keys of its answer cannot be fetched`() async throws {
        _ = try await saved(in: database())
        await cloud.change { $0.scopes["Notes"]?.wraps = [] }
        let other = try database()
        let record = SealedNote.note([:])
        record["title"] = "new"
        let results = try await results([record], in: other, .changedKeys)
        let answered = try #require(results[SealedNote.id]).get()
        #expect(answered["title"] as? String == "new" && answered.encryptedValues.allKeys().isEmpty)
        #expect(await cloud.stored("note", in: Self.zone)?.fields["title"] == .string("new"))
        #expect(await thrown { try await other.record(for: SealedNote.id) }?.code == .internalError, "a fetch fails for the same keys")
    }

    @Test func `a save that other devices are always quicker than fails after four requests`() async throws {
        let record = SealedNote.note()
        await cloud.refuseSealed((0..<9).map { _ in ServerError(.conflict, "client oplock error updating record", internalCode: 2004) })
        let failed = try await results([record], in: database(), .changedKeys)
        #expect((failed[SealedNote.id]?.error as? CKError)?.code == .serverRecordChanged)
        #expect(await cloud.paths.filter { $0 == "records/modify" }.count == 4)
    }

    @Test func `A19: a refusal of an old key has the keys asked for again, once`() async throws {
        let old = ServerError(.badRequest, ServerError.keyIsNotNewestReason)
        let database = try database()
        let record = try await saved(in: database)
        for (refusals, word) in [(1, "ok"), (2, "invalidArguments")] {
            record.encryptedValues["a"] = "almond \(refusals)"
            await cloud.refuseSealed((0..<refusals).map { _ in old })
            let asked = await cloud.paths.filter { $0 == "scopes/list" }.count
            #expect(try await results([record], in: database)[SealedNote.id]?.word == word)
            #expect(await cloud.paths.filter { $0 == "scopes/list" }.count == asked + 1)
        }
    }

    @Test func `whom a share invites stays wished for when its batch is sent again, and waits no more once the save is answered`() async throws {
        let share = CKShare(recordZoneID: SealedNote.zoneID)
        let invited = ShareParticipant(participantID: "bob", identity: ParticipantIdentity(lookupInfo: .emailAddress("bob@example.com")))
        share.addParticipant(CKShareParticipant(wire: invited))
        await cloud.refuseSealed([ServerError(.badRequest, ServerError.keyIsNotNewestReason)])
        #expect(try await results([SealedNote.note(), share], in: database())[SealedNote.id]?.word == "ok")
        let wishes = try #require(try await KeyDevice(cloud, store).kept().wishes["Notes"])
        #expect(wishes.map(\.participant) == ["bob"] && wishes[0].isPending == nil)
    }

    @Test func `a record under a key that another process has made is read, after the keys were asked for again`() async throws {
        let (first, second) = (try KeyDevice(cloud, store), try KeyDevice(cloud, store))
        let (a, b) = (CKContainer(line: first.line).privateCloudDatabase, CKContainer(line: second.line).privateCloudDatabase)
        let record = try await saved(in: a)
        _ = try await b.record(for: SealedNote.id)
        try await first.replaceRecovery()
        first.forget()
        record.encryptedValues["a"] = "almond"
        try await a.save(record)
        #expect(try await b.record(for: SealedNote.id).encryptedValues["a"] as? String == "almond")
    }

    @Test func `a device without keys reads and saves what is plain, and its other saves fail alone`() async throws {
        let first = try await saved(in: database())
        let stranger = try database(keys: KeyStore(folder: nil))
        let record = try await stranger.record(for: SealedNote.id)
        #expect(record["title"] as? String == "plain" && record.encryptedValues.allKeys().isEmpty)
        record["title"] = "new"
        try await stranger.save(record)
        record.encryptedValues["a"] = "almond"
        let other = SealedNote.note([:], named: "other")
        let failed = try await results([record, other], in: stranger, atomically: false)
        #expect((failed[SealedNote.id]?.error as? CKError)?.code == .accountTemporarilyUnavailable)
        #expect(failed[other.recordID]?.word == "ok")
        let read = try await database().record(for: SealedNote.id)
        #expect(read["title"] as? String == "new" && read.snapshot.encrypted.values == first.snapshot.encrypted.values)
    }

    // MARK: A server that lies

    @Test func `a plain record below a parent is saved without a manifest where its place has no keys for this device`() async throws {
        _ = try await saved(in: database())
        let device = try KeyDevice(cloud, store)
        _ = try await device.makeShare(of: "list")
        await cloud.change { $0.scopes["Notes"]?.manifests = [[1]] }
        let record = SealedNote.note([:], named: "below")
        record.setParent(Self.folder)
        try await CKContainer(line: device.line).privateCloudDatabase.save(record)
        let kept = try #require(await cloud.stored("below", in: Self.zone))
        #expect(kept.manifest == nil && kept.parent?.recordName == "folder")
        record.encryptedValues["a"] = "apple"
        #expect(await thrown { try await CKContainer(line: device.line).privateCloudDatabase.save(record) } != nil)
    }

    @Test func `A10: a record that was altered fails alone, in a fetch and in the feed`() async throws {
        let database = try database()
        _ = try await saved(in: database)
        let other = SealedNote.note(named: "other")
        try await database.save(other)
        await cloud.alter("note", in: Self.zone) { $0.fields["a"] = $0.fields["b"] }
        let found = try await database.records(for: [SealedNote.id, other.recordID])
        let error = try #require(found[SealedNote.id]?.error as? CKError)
        #expect(error.code == .internalError && error.localizedDescription.contains("'note'"))
        #expect(found[other.recordID]?.word == "ok")
        let records = [await cloud.stored("note", in: Self.zone), await cloud.stored("other", in: Self.zone)].compactMap(\.self)
        await cloud.answerZoneChanges(
            .page(ChangesZoneResponse.Page(zoneID: Self.zone, records: records.map { .record($0) }, syncToken: "1", moreComing: false)))
        let changes = try await database.recordZoneChanges(inZoneWith: SealedNote.zoneID, since: nil)
        #expect((changes.modificationResultsByID[SealedNote.id]?.error as? CKError)?.code == .internalError)
        #expect(try changes.modificationResultsByID[other.recordID]?.get().record.encryptedValues["a"] as? String == "apple")
    }

    @Test func `A12 and A22: a version that goes back, or loses its encryption, is refused by a process that has seen it`() async throws {
        let database = try database()
        let record = try await saved(in: database)
        let old = try #require(await cloud.stored("note", in: Self.zone))
        record.encryptedValues["a"] = "almond"
        try await database.save(record)
        await cloud.alter("note", in: Self.zone) { $0 = old }
        #expect(await thrown { try await database.record(for: SealedNote.id) }?.code == .internalError)
        await cloud.alter("note", in: Self.zone) { record in
            record.manifest = nil
            record.fields = ["a": .string("apple"), "b": .string("bread")]
        }
        #expect(await thrown { try await database.record(for: SealedNote.id) }?.code == .internalError)
        let plain = SealedNote.note([:], named: "plain")
        try await database.save(plain)
        await cloud.alter("plain", in: Self.zone) { $0.fields["a"] = .string("apple") }
        let error = try #require(await thrown { try await database.record(for: plain.recordID) })
        #expect(error.userInfo["CKErrorField"] as? String == "a")
        let later = try #require(await thrown { try await self.database().record(for: plain.recordID) })
        #expect(later.userInfo["CKErrorField"] as? String == "a", "another process of the device")
    }

    @Test func `a record of a name that was deleted may begin anew without encrypted values`() async throws {
        let database = try database()
        _ = try await saved(in: database)
        try await database.deleteRecord(withID: SealedNote.id)
        try await database.save(SealedNote.note([:]))
        #expect(try await database.record(for: SealedNote.id).encryptedValues.allKeys().isEmpty)
    }

    @Test func `the public database takes no encrypted values`() async throws {
        let container = CKContainer(line: try KeyDevice(cloud, store).line)
        let record = CKRecord(recordType: "Note")
        record.encryptedValues["a"] = "apple"
        let error = try #require(await thrown { try await container.publicCloudDatabase.save(record) })
        #expect(error.localizedDescription == "Encrypted fields are not supported in the public database: 'a'")
        #expect(await cloud.paths == [])
    }
}
