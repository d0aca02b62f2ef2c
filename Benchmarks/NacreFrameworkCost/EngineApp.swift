import CloudKit
import Foundation

/// An app that leaves its records to a `CKSyncEngine`, and decides itself when the engine works.
actor EngineApp: CKSyncEngineDelegate {
    private let database: CKDatabase
    private var saved = 0
    private var fetched = 0

    init(_ database: CKDatabase) {
        self.database = database
    }

    private func engine() -> CKSyncEngine {
        var configuration = CKSyncEngine.Configuration(database: database, stateSerialization: nil, delegate: self)
        configuration.automaticallySync = false
        return CKSyncEngine(configuration)
    }

    func save(_ count: Int, into zone: CKRecordZone.ID) async throws -> Int {
        let engine = engine()
        let prefix = UUID().uuidString
        engine.state.add(pendingRecordZoneChanges: (0..<count).map { .saveRecord(CKRecord.ID(recordName: "\(prefix)-\($0)", zoneID: zone)) })
        try await engine.sendChanges()
        return saved
    }

    func fetch(_ zone: CKRecordZone.ID) async throws -> Int {
        try await engine().fetchChanges(CKSyncEngine.FetchChangesOptions(scope: .zoneIDs([zone])))
        return fetched
    }

    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
        switch event {
        case .sentRecordZoneChanges(let sent): saved += sent.savedRecords.count
        case .fetchedRecordZoneChanges(let changes):
            // One value of each record is read, as by an app.
            for modification in changes.modifications where modification.record["title"] as? String != nil { fetched += 1 }
        default: break
        }
    }

    func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch? {
        await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: syncEngine.state.pendingRecordZoneChanges) {
            NacreFrameworkCost.record($0.recordName, in: $0.zoneID)
        }
    }
}
