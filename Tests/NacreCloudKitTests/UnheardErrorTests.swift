import Foundation
import NacreCloudWire
import NacreLocks
import Testing

@testable import CloudKit

/// Tests that an item's error without a block of the app is logged for its developer.
struct UnheardErrorTests {
    /// Runs operations on a record of a zone that is missing, and returns the framework's log.
    private func lines(_ make: (CKRecord) -> [CKDatabaseOperation]) async -> [String] {
        let setting = Setting()
        let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "a", zoneID: CKRecordZone.ID(zoneName: "Missing")))
        for operation in make(record) { await setting.run(operation) }
        return setting.log.entries
    }

    @Test func `a save into a missing zone whose result block hears success is a notice`() async throws {
        let heard = Locked<[Bool]>([])
        let lines = await lines { record in
            let operation = CKModifyRecordsOperation(recordsToSave: [record])
            operation.modifyRecordsResultBlock = { result in heard.withLock { $0.append(result.error == nil) } }
            return [operation]
        }
        #expect(heard.withLock { $0 } == [true])
        #expect(lines.count == 1)
        let line = try #require(lines.first)
        #expect(
            line.hasPrefix("notice: CloudKit: CKModifyRecordsOperation: records to save ") && line.contains("that failed: 1")
                && line.contains("Zone Not Found"))
        #expect(!line.contains("\"a\"") && !line.contains("Missing"), "names are the user's")
    }

    @Test func `whoever hears of items is told there alone`() async {
        let lines = await lines { record in
            let new = CKModifyRecordsOperation(recordsToSave: [record])
            new.perRecordSaveBlock = { _, _ in }
            new.modifyRecordsResultBlock = { _ in }
            let old = CKModifyRecordsOperation(recordsToSave: [record])
            old.perRecordCompletionBlock = { _, _ in }
            let whole = CKModifyRecordsOperation(recordsToSave: [record])
            whole.modifyRecordsCompletionBlock = { _, _, _ in }
            let fetch = CKFetchRecordsOperation(recordIDs: [record.recordID])
            fetch.perRecordResultBlock = { _, _ in }
            return [new, old, whole, fetch]
        }
        #expect(lines == [])
    }

    @Test func `a fetch and a deletion that fail unheard are notices too`() async {
        let lines = await lines { record in
            let fetch = CKFetchRecordsOperation(recordIDs: [record.recordID])
            fetch.fetchRecordsResultBlock = { _ in }
            let delete = CKModifyRecordsOperation(recordIDsToDelete: [record.recordID])
            delete.modifyRecordsResultBlock = { _ in }
            let zone = CKFetchRecordZonesOperation(recordZoneIDs: [record.recordID.zoneID])
            zone.fetchRecordZonesResultBlock = { _ in }
            let zones = CKModifyRecordZonesOperation(recordZoneIDsToDelete: [record.recordID.zoneID])
            zones.modifyRecordZonesResultBlock = { _ in }
            return [fetch, delete, zone, zones]
        }
        #expect(lines.count == 4)
        for what in ["records to fetch", "records to delete", "zones to fetch", "zones to delete"] {
            #expect(lines.count { $0.contains(what) } == 1, "\(what)")
        }
    }

    @Test func `a zone and a record that a feed cannot give are notices, unless a block hears of them`() async {
        let zone = CKRecordZone.ID(zoneName: "Notes")
        let damaged = RecordResult.failure(recordName: "a", ServerError(.internalError, "damaged"))
        let page = ChangesZoneResponse.Page(zoneID: zone.wire, records: [damaged], syncToken: "1", moreComing: false)
        let gone = ChangesZoneResponse.Result.failure(zone.wire, ServerError(.zoneNotFound, "Zone does not exist"))
        func lines(_ answer: ChangesZoneResponse.Result, _ set: (CKFetchRecordZoneChangesOperation) -> Void) async -> [String] {
            let setting = Setting()
            await setting.cloud.answerZoneChanges(answer)
            let operation = CKFetchRecordZoneChangesOperation(recordZoneIDs: [zone])
            set(operation)
            await setting.run(operation)
            return setting.log.entries
        }
        for answer in [.page(page), gone] {
            let unheard = await lines(answer) { operation in
                operation.recordChangedBlock = { _ in }
                operation.fetchRecordZoneChangesResultBlock = { _ in }
            }
            #expect(unheard.count == 1 && unheard.first?.hasPrefix("notice: CloudKit: CKFetchRecordZoneChangesOperation: ") == true)
            #expect(
                await lines(answer) { operation in
                    operation.recordWasChangedBlock = { _, _ in }
                    operation.recordZoneFetchResultBlock = { _, _ in }
                } == [])
            #expect(await lines(answer) { $0.fetchRecordZoneChangesCompletionBlock = { _ in } } == [], "it hears of a partial failure")
        }
    }

    @Test func `a record that a query meets and cannot give is a notice, unless a block hears of it`() async {
        let failure = RecordsQueryResponse.Failure(recordName: "a", zoneID: .defaultZone, error: ServerError(.internalError, "damaged"))
        func lines(_ set: (CKQueryOperation) -> Void) async -> [String] {
            let setting = Setting()
            await setting.cloud.answerQueries(RecordsQueryResponse(records: [], failures: [failure]))
            let operation = CKQueryOperation(query: CKQuery(recordType: "Note", predicate: NSPredicate(value: true)))
            set(operation)
            await setting.run(operation)
            return setting.log.entries
        }
        let unheard = await lines { operation in
            operation.recordFetchedBlock = { _ in }
            operation.queryResultBlock = { _ in }
        }
        #expect(unheard.count == 1 && unheard.first?.hasPrefix("notice: CloudKit: CKQueryOperation: records to fetch ") == true)
        #expect(await lines { $0.recordMatchedBlock = { _, _ in } } == [])
    }
}
