import CloudKit
import Testing

// An app of the usual form on `CKSyncEngine`: an actor that is the delegate and keeps the engine. It imports CloudKit
// alone, and is compiled in both language modes: `NacreCloudKitSwift5Tests` has a link to this file.

private actor NoteStore: CKSyncEngineDelegate {
    private let database: CKDatabase
    private let zoneID = CKRecordZone.ID(zoneName: "Notes")
    private var titles: [CKRecord.ID: String] = [:]
    private var savedState: Data?
    private var _engine: CKSyncEngine?

    init(_ database: CKDatabase) {
        self.database = database
    }

    var engine: CKSyncEngine {
        if let _engine { return _engine }
        let state = savedState.flatMap { try? JSONDecoder().decode(CKSyncEngine.State.Serialization.self, from: $0) }
        var configuration = CKSyncEngine.Configuration(database: database, stateSerialization: state, delegate: self)
        configuration.automaticallySync = false
        configuration.subscriptionID = "notes"
        let made = CKSyncEngine(configuration)
        _engine = made
        return made
    }

    func save(_ title: String) {
        let recordID = CKRecord.ID(recordName: UUID().uuidString, zoneID: zoneID)
        titles[recordID] = title
        engine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: zoneID))])
        engine.state.add(pendingRecordZoneChanges: [.saveRecord(recordID)])
    }

    func synced() async -> [CKError.Code] {
        var codes: [CKError.Code] = []
        do { try await engine.fetchChanges() } catch let error as CKError { codes.append(error.code) } catch {}
        do {
            try await engine.sendChanges(.init(scope: .zoneIDs([zoneID]), operationGroup: CKOperationGroup()))
        } catch let error as CKError { codes.append(error.code) } catch {}
        await engine.cancelOperations()
        return codes
    }

    var pending: Int { engine.state.pendingRecordZoneChanges.count }

    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
        switch event {
        case .stateUpdate(let event):
            savedState = try? JSONEncoder().encode(event.stateSerialization)
        case .accountChange(let event):
            switch event.changeType {
            case .signIn(let currentUser): print("signed in as \(currentUser.recordName)")
            case .signOut(previousUser: _), .switchAccounts(previousUser: _, currentUser: _): titles = [:]
            @unknown default: break
            }
        case .fetchedDatabaseChanges(let event):
            for deletion in event.deletions where deletion.reason != .encryptedDataReset && deletion.zoneID == zoneID { titles = [:] }
        case .fetchedRecordZoneChanges(let event):
            for modification in event.modifications { titles[modification.record.recordID] = modification.record["title"] }
            for deletion in event.deletions { titles[deletion.recordID] = nil }
        case .sentRecordZoneChanges(let event):
            for failure in event.failedRecordSaves {
                switch failure.error.code {
                case .serverRecordChanged:
                    guard let server = failure.error.serverRecord else { continue }
                    titles[failure.record.recordID] = server["title"]
                case .zoneNotFound: syncEngine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: failure.record.recordID.zoneID))])
                case .networkFailure, .networkUnavailable, .zoneBusy, .serviceUnavailable, .notAuthenticated, .operationCancelled: break
                default: print("\(failure.record.recordID): \(failure.error)")
                }
            }
        case .sentDatabaseChanges, .willFetchChanges, .willFetchRecordZoneChanges, .didFetchRecordZoneChanges, .didFetchChanges, .willSendChanges,
            .didSendChanges:
            break
        @unknown default: print("\(event)")
        }
    }

    func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch? {
        let scope = context.options.scope
        let changes = syncEngine.state.pendingRecordZoneChanges.filter { scope.contains($0) }
        let titles = titles
        return await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: changes) { recordID in
            guard let title = titles[recordID] else {
                syncEngine.state.remove(pendingRecordZoneChanges: [.saveRecord(recordID)])
                return nil
            }
            let record = CKRecord(recordType: "Note", recordID: recordID)
            record["title"] = title
            return record
        }
    }
}

@Suite struct SyncAppCodeTests {
    @Test func `an app of the usual shape compiles, and without an account its changes wait`() async throws {
        let url = try #require(URL(string: "http://127.0.0.1:1"))
        let container = CKContainer(identifier: "iCloud.app", server: CloudKitServer(url: url, apiToken: "a"))
        let store = NoteStore(container.privateCloudDatabase)
        await store.save("bread")
        #expect(await store.synced() == [.notAuthenticated, .notAuthenticated])
        #expect(await store.pending == 1)
        let engine = await store.engine
        #expect("\(engine)".contains("private") && engine.database === container.privateCloudDatabase)
        #expect(CKSyncEngine.SyncReason.manual.description == "manual" && CKSyncEngineEventType.didSendChanges.rawValue == 11)
        let groups = (0..<2).map { _ in CKSyncEngine.FetchChangesOptions().operationGroup.operationGroupID }
        #expect(Set(groups).count == 2, "each has a group of its own")
    }
}
