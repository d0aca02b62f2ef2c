import CloudKit
import CloudKitTesting
import Foundation
import Testing

/// Runs the code that the articles of `Sources/CloudKit/CloudKit.docc` show.
@Suite struct ArticleTests {
    @Test func `the first record is saved, fetched, changed and found`() async throws {
        let container = try await TestCloud().signIn("alice")
        let database = container.privateCloudDatabase
        let zone = try await database.save(CKRecordZone(zoneName: "Notes"))

        let note = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "groceries", zoneID: zone.zoneID))
        note["text"] = "bread, olives"
        note["stars"] = 3
        _ = try await database.save(note)

        let fetched = try await database.record(for: note.recordID)
        let text = fetched["text"] as? String

        fetched["stars"] = 5
        let changed = try await database.save(fetched)

        let query = CKQuery(recordType: "Note", predicate: NSPredicate(format: "stars >= %d", 4))
        query.sortDescriptors = [NSSortDescriptor(key: "stars", ascending: false)]
        let (matches, _) = try await database.records(matching: query, inZoneWith: zone.zoneID)
        let found = try matches.map { try $0.1.get() }

        #expect(text == "bread, olives" && changed["stars"] as? Int == 5 && found.map(\.recordID) == [note.recordID])
    }

    @Test func `notes are found by their folder`() async throws {
        let database = try await TestCloud().signIn("alice").privateCloudDatabase
        let zone = try await database.save(CKRecordZone(zoneName: "Notes"))
        let folder = CKRecord(recordType: "Folder", recordID: CKRecord.ID(zoneID: zone.zoneID))
        folder["title"] = "Home"
        let note = CKRecord(recordType: "Note", recordID: CKRecord.ID(zoneID: zone.zoneID))
        note["title"] = "Groceries"
        note["folder"] = CKRecord.Reference(record: folder, action: .deleteSelf)
        // For shares: who sees the folder sees what hangs on it.
        note.setParent(folder)
        let (saved, _) = try await database.modifyRecords(saving: [folder, note], deleting: [])

        let notes = CKQuery(recordType: "Note", predicate: NSPredicate(format: "folder == %@", folder))
        let (inFolder, _) = try await database.records(matching: notes, inZoneWith: zone.zoneID)

        #expect(saved.count == 2 && inFolder.map(\.0) == [note.recordID])
        _ = try await database.deleteRecord(withID: folder.recordID)
        await #expect(throws: CKError.self) { try await database.record(for: note.recordID) }
    }

    @Test func `an engine brings a text to the other device`() async throws {
        let cloud = try await TestCloud()
        var texts: [[CKRecord.ID: String]] = []
        for device in ["phone", "pad"] {
            let (container, sync) = (try await cloud.signIn("alice", device: device), NoteSync())
            var configuration = CKSyncEngine.Configuration(
                database: container.privateCloudDatabase, stateSerialization: nil, delegate: sync)
            configuration.automaticallySync = false
            let engine = CKSyncEngine(configuration)

            if device == "phone" { await sync.write("bread", as: "groceries", with: engine) }
            try await engine.sendChanges()
            try await engine.fetchChanges()
            texts.append(await sync.texts)
        }
        #expect(texts[0] == texts[1] && Array(texts[1].values) == ["bread"])
    }

    @Test func `a conflict is merged, and each item has its own result`() async throws {
        let cloud = try await TestCloud()
        let (database, pad) = (
            try await cloud.signIn("alice").privateCloudDatabase, try await cloud.signIn("alice", device: "pad").privateCloudDatabase
        )
        let records = [note("one", "1"), note("two", "2")]
        for record in records { _ = try await database.save(record) }
        let other = try await pad.record(for: records[0].recordID)
        other["stars"] = 5
        _ = try await pad.save(other)
        records[0]["text"] = "uno"
        records[1]["text"] = "dos"
        var conflicts: [CKRecord.ID] = []
        let (saveResults, _) = try await database.modifyRecords(saving: records, deleting: [], atomically: false)
        for (recordID, result) in saveResults {
            switch result {
            case .success: continue
            case .failure(let error as CKError) where error.code == .serverRecordChanged: conflicts.append(recordID)
            case .failure(let error): throw error
            }
        }
        #expect(conflicts == [records[0].recordID])
        let merged = try await save(records[0], in: database)
        #expect(merged["text"] as? String == "uno" && merged["stars"] as? Int == 5)
    }

    func save(_ record: CKRecord, in database: CKDatabase) async throws -> CKRecord {
        do {
            return try await database.save(record)
        } catch let error as CKError where error.code == .serverRecordChanged {
            guard let server = error.serverRecord else { throw error }
            for key in record.changedKeys() { server[key] = record[key] }
            return try await save(server, in: database)
        }
    }

    @Test func `a cloud in a test has devices, failures and a text`() async throws {
        let cloud = try await TestCloud()
        let phone = try await cloud.signIn("alice").privateCloudDatabase
        let pad = try await cloud.signIn("alice", device: "pad").privateCloudDatabase

        let note = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "groceries"))
        note["text"] = "bread, olives"
        _ = try await phone.save(note)
        #expect(try await pad.record(for: note.recordID)["text"] as? String == "bread, olives")

        cloud.fail(next: 1, .modifyRecords, by: "alice", with: .requestRateLimited(retryAfter: 2))
        await #expect(throws: CKError.self) { try await phone.save(note) }
        await cloud.advance(by: 2)
        _ = try await phone.save(note)
        #expect(cloud.pendingFaults.isEmpty)

        #expect(
            try await cloud.snapshot() == """
                users: alice
                private of alice
                  _defaultZone
                    Note groceries
                      text = "bread, olives"

                """)
    }

    @Test func `every code of the articles stands in this file, word for word`() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let folder = root.appending(path: "Sources/CloudKit/CloudKit.docc")
        let source = try String(contentsOf: URL(filePath: #filePath), encoding: .utf8)
        let articles = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".md") }
        #expect(articles.count == 6)
        for article in articles {
            let text = try String(contentsOf: folder.appending(path: article), encoding: .utf8)
            for block in text.components(separatedBy: "```swift\n").dropFirst().compactMap({ $0.components(separatedBy: "```").first }) {
                let lines = block.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
                let isThere = [0, 4, 8, 12].contains { indent in
                    source.contains(lines.map { $0.isEmpty ? "\n" : String(repeating: " ", count: indent) + $0 + "\n" }.joined())
                }
                #expect(isThere, "\(article): \(lines.first ?? "")")
            }
        }
    }
}

actor NoteSync: CKSyncEngineDelegate {
    private let zoneID = CKRecordZone.ID(zoneName: "Notes")
    private var state: CKSyncEngine.State.Serialization?
    private var records: [CKRecord.ID: CKRecord] = [:]
    private(set) var texts: [CKRecord.ID: String] = [:]

    func write(_ text: String, as name: String, with engine: CKSyncEngine) {
        let recordID = CKRecord.ID(recordName: name, zoneID: zoneID)
        texts[recordID] = text
        engine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: zoneID))])
        engine.state.add(pendingRecordZoneChanges: [.saveRecord(recordID)])
    }

    func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch? {
        let changes = syncEngine.state.pendingRecordZoneChanges.filter { context.options.scope.contains($0) }
        return await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: changes) { await self.record(for: $0) }
    }

    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
        switch event {
        case .stateUpdate(let update):
            // Keep it where the data are: an engine that begins with it fetches what came after.
            state = update.stateSerialization
        case .fetchedRecordZoneChanges(let changes):
            for change in changes.modifications { take(change.record) }
            for deletion in changes.deletions { (records[deletion.recordID], texts[deletion.recordID]) = (nil, nil) }
        case .sentRecordZoneChanges(let sent):
            for record in sent.savedRecords { records[record.recordID] = record }
            for failure in sent.failedRecordSaves where failure.error.code == .serverRecordChanged {
                guard let server = failure.error.serverRecord else { continue }
                // Here the server's text stays; an app may merge both and add the record again.
                take(server)
            }
        case .accountChange(let change):
            if case .signIn = change.changeType { break }
            (records, texts) = ([:], [:])
        default: break
        }
    }

    private func record(for recordID: CKRecord.ID) -> CKRecord? {
        guard let text = texts[recordID] else { return nil }
        let record = records[recordID] ?? CKRecord(recordType: "Note", recordID: recordID)
        record["text"] = text
        return record
    }

    private func take(_ record: CKRecord) {
        records[record.recordID] = record
        texts[record.recordID] = record["text"]
    }
}
