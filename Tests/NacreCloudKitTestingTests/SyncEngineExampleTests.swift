import CloudKit
import CloudKitTesting
import Foundation
import Synchronization
import Testing

/// A notes app on `CKSyncEngine`, on two devices of a cloud in the test.
@Suite struct SyncEngineExampleTests {
    @Test func `a note that is written on the phone is read on the pad`() async throws {
        let cloud = try await TestCloud()
        let phone = NotesApp(try await cloud.signIn("alice"))
        let pad = NotesApp(try await cloud.signIn("alice", device: "pad"))
        phone.write("groceries", "bread")
        try await phone.engine.sendChanges()
        try await pad.engine.fetchChanges()
        #expect(pad.notes == ["groceries": "bread"])
    }

    @Test func `two devices that write one note end with the same text`() async throws {
        let cloud = try await TestCloud()
        let phone = NotesApp(try await cloud.signIn("alice"))
        let pad = NotesApp(try await cloud.signIn("alice", device: "pad"))
        phone.write("groceries", "bread")
        try await phone.engine.sendChanges()
        pad.write("groceries", "olives")
        // The first attempt meets the server's version, which the app takes.
        try? await pad.engine.sendChanges()
        try await pad.engine.sendChanges()
        try await phone.engine.fetchChanges()
        #expect(phone.notes == pad.notes)
        #expect(phone.notes == ["groceries": "bread, olives"])
    }

    @Test func `a note that the server does not take now is pending, and is sent later`() async throws {
        let cloud = try await TestCloud()
        let phone = NotesApp(try await cloud.signIn("alice"))
        try await phone.engine.sendChanges()
        cloud.fail(next: 3, .modifyRecords, by: "alice", inZone: "Notes", with: .requestRateLimited(retryAfter: 2))
        phone.write("groceries", "bread")
        for _ in 0..<3 {
            await #expect(throws: CKError.self) { try await phone.engine.sendChanges() }
            #expect(phone.engine.state.pendingRecordZoneChanges.count == 1)
        }
        try await phone.engine.sendChanges()
        #expect(phone.engine.state.pendingRecordZoneChanges.isEmpty)
        #expect(cloud.pendingFaults == [])
        #expect(
            try await cloud.snapshot() == """
                users: alice
                private of alice
                  Notes
                    Note groceries
                      text = "bread"

                """)
    }

    @Test func `an answer that is lost does not make a conflict of the app's own save`() async throws {
        let cloud = try await TestCloud()
        let phone = NotesApp(try await cloud.signIn("alice"))
        phone.write("groceries", "bread")
        cloud.fail(.modifyRecords, with: .connectionLostAfterCommit)
        try await phone.engine.sendChanges()
        #expect(phone.conflicts == 0)
        #expect(phone.notes == ["groceries": "bread"])
    }

    @Test func `an engine whose token has expired fetches everything again, and misses nothing`() async throws {
        let cloud = try await TestCloud()
        let phone = NotesApp(try await cloud.signIn("alice"))
        let pad = NotesApp(try await cloud.signIn("alice", device: "pad"))
        phone.write("one", "1")
        try await phone.engine.sendChanges()
        try await pad.engine.fetchChanges()
        phone.write("two", "2")
        try await phone.engine.sendChanges()
        cloud.fail(.fetchZoneChanges, by: "alice", device: "pad", with: .changeTokenExpired)
        try await pad.engine.fetchChanges()
        #expect(pad.notes == ["one": "1", "two": "2"])
        #expect(cloud.pendingFaults == [])
    }

    @Test func `a zone that the user purges takes the app's notes along`() async throws {
        let cloud = try await TestCloud()
        let phone = NotesApp(try await cloud.signIn("alice"))
        phone.write("groceries", "bread")
        try await phone.engine.sendChanges()
        try await phone.engine.fetchChanges()
        try await cloud.removeZone("Notes", of: "alice")
        try await phone.engine.fetchChanges()
        #expect(phone.notes == [:])
    }

    @Test func `an engine that works by itself sends through failures without a wait, and the other device hears of it`() async throws {
        let cloud = try await TestCloud()
        cloud.fail(next: 3, .modifyRecords, by: "alice", with: .serviceUnavailable(retryAfter: 30))
        let pad = NotesApp(try await cloud.signIn("alice", device: "pad"), automatically: true)
        let phone = NotesApp(try await cloud.signIn("alice"), automatically: true)
        phone.write("groceries", "bread")
        await pad.heard("groceries")
        #expect(pad.notes == ["groceries": "bread"])
        #expect(cloud.pendingFaults == [])
        await cloud.shutDown()
    }
}

/// Keeps notes in memory, and both texts of a conflict.
private final class NotesApp: CKSyncEngineDelegate {
    private struct Memory {
        var notes: [String: String] = [:]
        /// The server's versions, as they were last seen.
        var records: [String: CKRecord] = [:]
        var conflicts = 0
        var engine: CKSyncEngine?
        var waiting: [(name: String, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let zoneID = CKRecordZone.ID(zoneName: "Notes")
    private let memory = Mutex(Memory())
    private let database: CKDatabase
    private let automatically: Bool

    init(_ container: CKContainer, automatically: Bool = false) {
        database = container.privateCloudDatabase
        self.automatically = automatically
        engine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: zoneID))])
    }

    var engine: CKSyncEngine {
        memory.withLock { memory in
            if let engine = memory.engine { return engine }
            var configuration = CKSyncEngine.Configuration(database: database, stateSerialization: nil, delegate: self)
            configuration.automaticallySync = automatically
            let engine = CKSyncEngine(configuration)
            memory.engine = engine
            return engine
        }
    }

    var notes: [String: String] { memory.withLock { $0.notes } }
    var conflicts: Int { memory.withLock { $0.conflicts } }

    func write(_ name: String, _ text: String) {
        memory.withLock { $0.notes[name] = text }
        engine.state.add(pendingRecordZoneChanges: [.saveRecord(CKRecord.ID(recordName: name, zoneID: zoneID))])
    }

    /// Returns once a note of this name has been fetched.
    func heard(_ name: String) async {
        await withCheckedContinuation { continuation in
            let isThere = memory.withLock { memory in
                if memory.records[name] != nil { return true }
                memory.waiting.append((name, continuation))
                return false
            }
            if isThere { continuation.resume() }
        }
    }

    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
        switch event {
        case .fetchedRecordZoneChanges(let changes):
            for change in changes.modifications { take(change.record, isPending: isPending(change.record.recordID, syncEngine)) }
            for deletion in changes.deletions { forget(deletion.recordID.recordName) }
        case .fetchedDatabaseChanges(let changes):
            if changes.deletions.contains(where: { $0.zoneID == zoneID }) {
                memory.withLock { ($0.notes, $0.records) = ([:], [:]) }
            }
        case .sentRecordZoneChanges(let sent):
            for record in sent.savedRecords { memory.withLock { $0.records[record.recordID.recordName] = record } }
            for failure in sent.failedRecordSaves {
                guard failure.error.code == .serverRecordChanged, let server = failure.error.serverRecord else { continue }
                memory.withLock { $0.conflicts += 1 }
                take(server, isPending: true)
                syncEngine.state.add(pendingRecordZoneChanges: [.saveRecord(server.recordID)])
            }
        default: break
        }
    }

    func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch? {
        let changes = syncEngine.state.pendingRecordZoneChanges.filter { context.options.scope.contains($0) }
        return await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: changes) { recordID in
            self.memory.withLock { memory in
                let name = recordID.recordName
                let record = memory.records[name] ?? CKRecord(recordType: "Note", recordID: recordID)
                record["text"] = memory.notes[name]
                return record
            }
        }
    }

    private func isPending(_ recordID: CKRecord.ID, _ engine: CKSyncEngine) -> Bool {
        engine.state.pendingRecordZoneChanges.contains(.saveRecord(recordID))
    }

    private func take(_ record: CKRecord, isPending: Bool) {
        let (name, text) = (record.recordID.recordName, record["text"] as? String ?? "")
        let waiting = memory.withLock { memory in
            memory.records[name] = record
            let own = memory.notes[name]
            memory.notes[name] = isPending && own != nil && own != text ? "\(text), \(own ?? "")" : text
            defer { memory.waiting.removeAll { $0.name == name } }
            return memory.waiting.filter { $0.name == name }
        }
        for waiter in waiting { waiter.continuation.resume() }
    }

    private func forget(_ name: String) {
        memory.withLock { ($0.notes[name], $0.records[name]) = (nil, nil) }
    }
}
