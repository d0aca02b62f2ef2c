import Foundation
import NacreLocks
import Testing

@testable import CloudKit

/// Tests of `docs/sync-engine.md`, batches. The numbers are that page's.
@Suite struct SyncBatchTests {
    private typealias Batch = CKSyncEngine.RecordZoneChangeBatch

    private let zoneID = CKRecordZone.ID(zoneName: "Notes")

    private func id(_ name: String, _ zone: String = "Notes") -> CKRecord.ID {
        CKRecord.ID(recordName: name, zoneID: CKRecordZone.ID(zoneName: zone))
    }

    private static func record(_ id: CKRecord.ID, bytes: Int = 4) -> CKRecord {
        let record = CKRecord(recordType: "Note", recordID: id)
        record["text"] = String(repeating: "x", count: bytes)
        return record
    }

    @Test func `a batch has 250 items at most, in the order of the list, and asks for no record more (23)`() async throws {
        let changes = (0..<600).map { CKSyncEngine.PendingRecordZoneChange.saveRecord(id("\($0)")) }
        let asked = Locked(0)
        let batch = try #require(
            await Batch(pendingChanges: changes) { id in
                asked.withLock { $0 += 1 }
                return Self.record(id)
            })
        #expect(batch.recordsToSave.map(\.recordID.recordName) == (0..<250).map(String.init) && asked.withLock { $0 } == 250)
        #expect(!batch.atomicByZone)
        let mixed = try #require(
            await Batch(pendingChanges: changes.prefix(249) + [.deleteRecord(id("x")), .deleteRecord(id("y"))]) { Self.record($0) })
        #expect(mixed.recordsToSave.count == 249 && mixed.recordIDsToDelete == [id("x")])
    }

    @Test func `a batch has no more bytes than one request, and one that is too large goes alone (23)`() async throws {
        let changes = ["a", "b", "c"].map { CKSyncEngine.PendingRecordZoneChange.saveRecord(id($0)) }
        let half = try #require(await Batch(pendingChanges: changes) { Self.record($0, bytes: 900_000) })
        #expect(half.recordsToSave.map(\.recordID.recordName) == ["a", "b"])
        let alone = try #require(await Batch(pendingChanges: changes) { Self.record($0, bytes: 3_000_000) })
        #expect(alone.recordsToSave.map(\.recordID.recordName) == ["a"])
    }

    @Test func `a record that the provider does not have is left out, and a batch of nothing is nil (23)`() async {
        let changes = ["a", "b", "c"].map { CKSyncEngine.PendingRecordZoneChange.saveRecord(id($0)) }
        let some = await Batch(pendingChanges: changes) { $0.recordName == "b" ? nil : Self.record($0) }
        #expect(some?.recordsToSave.map(\.recordID.recordName) == ["a", "c"])
        #expect(await Batch(pendingChanges: changes) { _ in nil } == nil)
        #expect(await Batch(pendingChanges: []) { Self.record($0) } == nil)
    }

    @Test func `what failed is left out, and with it all of a zone that is to be whole (16, 25)`() {
        let records = [id("a"), id("b"), id("c", "Other")].map { Self.record($0) }
        let failed: Set = [id("a")]
        let loose = Batch(recordsToSave: records, recordIDsToDelete: [id("d"), id("a")])
        #expect(loose.without(failed).recordIDs == [id("b"), id("c", "Other"), id("d")])
        let whole = Batch(recordsToSave: records, recordIDsToDelete: [id("d"), id("e", "Other")], atomicByZone: true)
        #expect(whole.without(failed).recordIDs == [id("c", "Other"), id("e", "Other")] && whole.without(failed).atomicByZone)
        #expect(whole.without([id("x")]).count == 5, "a record that is not in the batch takes nothing out of it")
    }

    @Test func `parts are halves, or the zones of what is to be whole (24)`() {
        let records = ["a", "b", "c"].map { Self.record(id($0)) }
        let loose = Batch(recordsToSave: records, recordIDsToDelete: [id("d")])
        #expect(loose.parts?.map(\.recordIDs) == [[id("a"), id("b")], [id("c"), id("d")]])
        #expect(Batch(recordsToSave: [records[0]]).parts == nil)
        #expect(Batch(recordsToSave: records, atomicByZone: true).parts == nil)
        let zones = Batch(
            recordsToSave: records + [Self.record(id("e", "Other"))], recordIDsToDelete: [id("f", "Other"), id("g")], atomicByZone: true)
        #expect(zones.parts?.map(\.recordIDs) == [[id("a"), id("b"), id("c"), id("g")], [id("e", "Other"), id("f", "Other")]])
        #expect(zones.parts?.allSatisfy(\.atomicByZone) == true)
    }
}
