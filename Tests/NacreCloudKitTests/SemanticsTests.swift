import Foundation
import NacreCloudWire
import Testing

@testable import CloudKit

/// Tests of rules of `docs/semantics.md` that belong to no other suite.
@Suite struct SemanticsTests {
    let setting = Setting()

    @Test func `the blocks of an operation come one after the other, off the main thread`() async throws {
        let records = (0..<50).map { CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "r\($0)")) }
        let operation = CKModifyRecordsOperation(recordsToSave: records)
        let (inside, seen) = (Diary(), Diary())
        // The read before the write is only correct if no other block runs meanwhile.
        let note: (String) -> Void = { name in
            let before = inside.entries.count
            if Thread.isMainThread { seen.note("on the main thread") }
            sched_yield()
            inside.note(name)
            if inside.entries.count != before + 1 { seen.note("two blocks at once") }
        }
        operation.perRecordProgressBlock = { record, _ in note(record.recordID.recordName) }
        operation.perRecordSaveBlock = { recordID, _ in note(recordID.recordName) }
        operation.modifyRecordsResultBlock = { _ in note("end") }
        await setting.run(operation)
        #expect(seen.entries == [])
        #expect(inside.entries.count == 101 && inside.entries.last == "end")
        let isMain = Diary()
        await withCheckedContinuation { continuation in
            setting.database.fetch(withRecordID: CKRecord.ID(recordName: "r0")) { _, _ in
                isMain.note("\(Thread.isMainThread)")
                continuation.resume()
            }
        }
        #expect(isMain.entries == ["false"])
    }

    @Test func `a configuration begins with Apple's defaults, and the operation's old properties show it`() {
        let operation = CKFetchRecordsOperation()
        let configuration = CKOperation.Configuration()
        #expect(configuration.container == nil && configuration.qualityOfService == .default && configuration.allowsCellularAccess)
        #expect(!configuration.isLongLived && configuration.timeoutIntervalForRequest == 60)
        #expect(configuration.timeoutIntervalForResource == 7 * 24 * 3600)
        configuration.qualityOfService = .userInitiated
        #expect(configuration.timeoutIntervalForResource == -1)

        configuration.timeoutIntervalForRequest = 10
        configuration.allowsCellularAccess = false
        configuration.container = setting.container
        operation.configuration = configuration
        #expect(operation.timeoutIntervalForRequest == 10 && !operation.allowsCellularAccess && operation.container === setting.container)
        #expect(operation.qualityOfService == .userInitiated)
        (operation.isLongLived, operation.timeoutIntervalForResource) = (true, 5)
        #expect(operation.configuration.isLongLived && operation.configuration.timeoutIntervalForResource == 5)
        #expect(!configuration.isLongLived, "it was copied")
    }

    @Test func `names that nobody gave are UUIDs, in the zone that was said`() {
        let zoneID = CKRecordZone.ID(zoneName: "Notes")
        let (first, second) = (CKRecord(recordType: "Note"), CKRecord(recordType: "Note", zoneID: zoneID))
        #expect(UUID(uuidString: first.recordID.recordName) != nil && UUID(uuidString: second.recordID.recordName) != nil)
        #expect(first.recordID != second.recordID)
        #expect(first.recordID.zoneID == .default && second.recordID.zoneID == zoneID)
        #expect(UUID(uuidString: CKDatabaseSubscription().subscriptionID) != nil)
    }

    @Test func `IDs and references compare by value, and records and zones by identity`() {
        func id(_ name: String = "a", zone: String = "Notes", owner: String = CKCurrentUserDefaultName) -> CKRecord.ID {
            CKRecord.ID(recordName: name, zoneID: CKRecordZone.ID(zoneName: zone, ownerName: owner))
        }
        #expect(id() == id() && Set([id(), id()]).count == 1 && id().zoneID == id().zoneID)
        for other in [id("b"), id(zone: "Other"), id(owner: "_bob")] { #expect(other != id()) }
        let reference = CKRecord.Reference(recordID: id(), action: .none)
        #expect(reference == CKRecord.Reference(recordID: id(), action: .none))
        #expect(reference != CKRecord.Reference(recordID: id("b"), action: .none))
        let (record, zone) = (CKRecord(recordType: "Note", recordID: id()), CKRecordZone(zoneName: "Notes"))
        #expect(record == record && record != CKRecord(recordType: "Note", recordID: id()))
        #expect(zone == zone && zone != CKRecordZone(zoneName: "Notes") && Set([zone, CKRecordZone(zoneName: "Notes")]).count == 2)
    }

    @Test func `a zone with keys of its own is refused, and no request is made`() async throws {
        let zone = CKRecordZone(zoneName: "Secrets")
        #expect(zone.encryptionScope == .perRecord)
        zone.encryptionScope = .perZone
        let error = await thrown { try await setting.database.save(zone) }
        #expect(error?.code == .invalidArguments)
        #expect(await setting.cloud.paths == [])
    }
}
