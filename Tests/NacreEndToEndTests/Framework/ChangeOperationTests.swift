import CloudKit
import Foundation
import NacreLocks
import Testing

/// Tests of `CKFetchRecordZoneChangesOperation` and its counterpart for databases, with every callback, against the
/// server.
struct ChangeOperationTests {
    private static let names = (0..<3).map { "note-\($0)" }

    /// Notes the calls of blocks in their order.
    private final class Calls: Sendable {
        private let lines = Locked<[String]>([])

        func add(_ line: String) { lines.withLock { $0.append(line) } }
        var all: [String] { lines.withLock { $0 } }
    }

    private func run(_ operation: CKDatabaseOperation, on device: Device) async {
        await withCheckedContinuation { continuation in
            operation.completionBlock = { continuation.resume() }
            device.database.add(operation)
        }
    }

    private func text(_ result: Result<some Any, any Error>) -> String {
        switch result {
        case .success: "ok"
        case .failure(let error): "\((error as? CKError)?.code.rawValue ?? -1)"
        }
    }

    private func fill(_ device: Device) async throws {
        for name in Self.names { try await device.database.save(Device.note(name, "text of \(name)")) }
        try await device.database.deleteRecord(withID: Device.recordID(Self.names[1]))
    }

    @Test func `the new callbacks: records, tokens between pages, the zone's end, and the end of all`() async throws {
        try await Device.pair { a, b, _ in
            let start = try await b.changes().token
            try await fill(a)
            let calls = Calls()
            let configuration = CKFetchRecordZoneChangesOperation.ZoneConfiguration(previousServerChangeToken: start, resultsLimit: 1)
            let operation = CKFetchRecordZoneChangesOperation(
                recordZoneIDs: [Device.zoneID], configurationsByRecordZoneID: [Device.zoneID: configuration])
            operation.recordWasChangedBlock = { recordID, result in
                calls.add("changed \(recordID.recordName) \((try? result.get())?["text"] as? String ?? "")")
            }
            operation.recordWithIDWasDeletedBlock = { recordID, type in calls.add("deleted \(recordID.recordName) \(type)") }
            operation.recordZoneChangeTokensUpdatedBlock = { _, token, _ in calls.add(token == nil ? "no token" : "token") }
            operation.recordZoneFetchResultBlock = { zoneID, result in
                calls.add("zone \(zoneID.zoneName) \(text(result)) \((try? result.get())?.moreComing == true ? "more" : "all")")
            }
            operation.fetchRecordZoneChangesResultBlock = { calls.add("end \(text($0))") }
            operation.recordChangedBlock = { _ in calls.add("old") }
            operation.fetchRecordZoneChangesCompletionBlock = { _ in calls.add("old") }
            await run(operation, on: b)
            let changes = calls.all.filter { !$0.hasPrefix("token") }
            #expect(
                changes == [
                    "changed note-0 text of note-0", "changed note-2 text of note-2", "deleted note-1 Note", "zone Notes ok all", "end ok",
                ])
            #expect(calls.all.filter { $0 == "token" }.count >= 2)
        }
    }

    @Test func `the old callbacks tell the same, and the error of a zone that is missing is inside the whole's`() async throws {
        try await Device.pair { a, b, _ in
            try await fill(a)
            let calls = Calls()
            let missing = CKRecordZone.ID(zoneName: "Missing")
            let operation = CKFetchRecordZoneChangesOperation(recordZoneIDs: [Device.zoneID, missing])
            let partial = Locked<CKError?>(nil)
            operation.recordChangedBlock = { calls.add("changed \($0.recordID.recordName)") }
            operation.recordWithIDWasDeletedBlock = { recordID, type in calls.add("deleted \(recordID.recordName) \(type)") }
            operation.recordZoneFetchCompletionBlock = { zoneID, token, _, moreComing, error in
                calls.add("zone \(zoneID.zoneName) \(token != nil) \(moreComing) \((error as? CKError)?.code.rawValue ?? 0)")
            }
            operation.fetchRecordZoneChangesCompletionBlock = { error in
                partial.withLock { $0 = error as? CKError }
                calls.add("end")
            }
            await run(operation, on: b)
            #expect(
                calls.all == [
                    "changed note-0", "changed note-2", "zone Notes true false 0", "zone Missing false false 26", "end",
                ])
            let error = partial.withLock { $0 }
            #expect(error?.code == .partialFailure)
            #expect((error?.partialErrorsByItemID?[missing] as? CKError)?.code == .zoneNotFound)
        }
    }

    @Test func `the database's operation tells changed and deleted zones, and its token goes on from there`() async throws {
        try await Device.pair { a, b, _ in
            let extra = CKRecordZone.ID(zoneName: "Extra")
            try await a.database.save(CKRecordZone(zoneID: extra))
            let token = try await b.database.databaseChanges(since: nil).changeToken
            try await a.database.save(Device.note("one", "bread"))
            try await a.database.deleteRecordZone(withID: extra)
            let calls = Calls()
            let operation = CKFetchDatabaseChangesOperation(previousServerChangeToken: token)
            operation.recordZoneWithIDChangedBlock = { calls.add("changed \($0.zoneName)") }
            operation.recordZoneWithIDWasDeletedBlock = { calls.add("deleted \($0.zoneName)") }
            operation.fetchDatabaseChangesResultBlock = { calls.add("end \(text($0))") }
            await run(operation, on: b)
            #expect(calls.all == ["changed Notes", "deleted Extra", "end ok"])
        }
    }

    @Test func `a modify operation tells each record, each deletion, and the end, in the new style and in the old`() async throws {
        try await Device.pair { a, _, _ in
            let calls = Calls()
            let save = CKModifyRecordsOperation(recordsToSave: [Device.note("one", "bread"), Device.note("two", "wine")])
            save.perRecordSaveBlock = { recordID, result in calls.add("saved \(recordID.recordName) \(text(result))") }
            save.modifyRecordsResultBlock = { calls.add("end \(text($0))") }
            await run(save, on: a)
            let both = CKModifyRecordsOperation(
                recordsToSave: [Device.note("three", "salt")], recordIDsToDelete: [Device.recordID("one"), Device.recordID("two")])
            both.perRecordCompletionBlock = { record, error in calls.add("saved \(record.recordID.recordName) \(error == nil)") }
            both.modifyRecordsCompletionBlock = { saved, deleted, error in
                calls.add("end \(saved?.count ?? -1) \(deleted?.map(\.recordName) ?? []) \(error == nil)")
            }
            await run(both, on: a)
            #expect(
                calls.all == ["saved one ok", "saved two ok", "end ok", "saved three true", "end 1 [\"one\", \"two\"] true"])
        }
    }
}
