import CloudKit
import CloudKitTesting
import Foundation
import Testing

/// An app that keeps its visits, and uploads them again after a reset of the keys of encrypted values.
private actor VisitApp: CKSyncEngineDelegate {
    private(set) var told: [CKDatabase.DatabaseChange.Deletion.Reason] = []
    private(set) var diagnoses: [CKRecord.ID: String] = [:]

    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) {
        switch event {
        case .fetchedDatabaseChanges(let changes):
            for deletion in changes.deletions {
                told.append(deletion.reason)
                let records = diagnoses.keys.filter { $0.zoneID == deletion.zoneID }
                guard deletion.reason == .encryptedDataReset else {
                    for record in records { diagnoses[record] = nil }
                    continue
                }
                syncEngine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: deletion.zoneID))])
                syncEngine.state.add(pendingRecordZoneChanges: records.map { .saveRecord($0) })
            }
        case .fetchedRecordZoneChanges(let changes):
            for modification in changes.modifications {
                diagnoses[modification.record.recordID] = modification.record.encryptedValues["diagnosis"] as? String
            }
            for deletion in changes.deletions { diagnoses[deletion.recordID] = nil }
        default: break
        }
    }

    func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch? {
        let diagnoses = diagnoses
        let pending = syncEngine.state.pendingRecordZoneChanges.filter { context.options.scope.contains($0) }
        return await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: pending) { recordID in
            let record = CKRecord(recordType: "Visit", recordID: recordID)
            record.encryptedValues["diagnosis"] = diagnoses[recordID]
            return record
        }
    }
}

/// Tests of sync engines whose user resets the keys of encrypted values.
@Suite struct SyncedResetTests {
    private let zoneID = CKRecordZone.ID(zoneName: "Visits")
    private var visitID: CKRecord.ID { CKRecord.ID(recordName: "visit", zoneID: zoneID) }

    @Test func `an engine tells of a signed reset as the reason of a deletion, and an app that kept its data uploads all of it again`() async throws {
        let cloud = try await TestCloud()
        let phone = try await cloud.signIn("alice").privateCloudDatabase
        let pad = try await cloud.signIn("alice", device: "pad").privateCloudDatabase
        _ = try await phone.save(CKRecordZone(zoneID: zoneID))
        let visit = CKRecord(recordType: "Visit", recordID: visitID)
        visit.encryptedValues["diagnosis"] = "measles"
        _ = try await phone.save(visit)
        let app = VisitApp()
        var configuration = CKSyncEngine.Configuration(database: pad, stateSerialization: nil, delegate: app)
        configuration.automaticallySync = false
        let engine = CKSyncEngine(configuration)
        try await engine.fetchChanges()
        #expect(await app.diagnoses == [visitID: "measles"])

        // A record that is made again counts as another one by its date.
        await cloud.advance(by: 1)
        try await cloud.resetEncryptedData(of: "alice")
        try await engine.fetchChanges()
        #expect(await app.told == [.encryptedDataReset])
        #expect(await app.diagnoses == [visitID: "measles"])
        #expect(engine.state.pendingRecordZoneChanges == [.saveRecord(visitID)])
        try await engine.sendChanges()
        #expect(engine.state.pendingRecordZoneChanges.isEmpty && engine.state.pendingDatabaseChanges.isEmpty)
        #expect(try await phone.record(for: visitID).encryptedValues["diagnosis"] as? String == "measles")

        try await engine.fetchChanges()
        #expect(await app.told == [.encryptedDataReset], "the reset is told once")
        #expect(await app.diagnoses == [visitID: "measles"])
    }
}
