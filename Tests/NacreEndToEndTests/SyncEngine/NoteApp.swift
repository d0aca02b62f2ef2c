import Foundation
import NacreLocks

@testable import CloudKit

/// The app for tests of `CKSyncEngine`, and its disk: notes are sets of words, merged by their union; a deletion wins
/// over everything.
///
/// The app stores its notes and the engine's state together, at each `.stateUpdate`, and its notes once the engine has
/// handled a user's change. Anything not stored by then is lost when the app dies.
final class NoteApp: CKSyncEngineDelegate {
    struct Note: Equatable, Sendable {
        var words: Set<String> = []
        /// The same words as encrypted values.
        var secrets: Set<String> = []
        /// The system fields of the server's version.
        var system: Data?
        /// The note that this note is deleted with.
        var parent: CKRecord.ID?
        /// A field of newer versions of the app.
        var colour: String?
    }

    struct Disk: Sendable {
        var notes: [CKRecord.ID: Note] = [:]
        var state: Data?
    }

    private struct Memory {
        var disk: Disk
        var notes: [CKRecord.ID: Note]
        var log: [String] = []
        var waiting: [(line: String, count: Int, continuation: CheckedContinuation<Void, Never>)] = []
        /// Events until the app dies; nil: it does not die.
        var eventsLeft: Int?
        var isDead = false
    }

    typealias Hook = @Sendable (CKSyncEngine.Event, CKSyncEngine) async -> Void
    typealias Batch = @Sendable (CKSyncEngine.SendChangesContext, CKSyncEngine) async -> CKSyncEngine.RecordZoneChangeBatch?
    typealias Options = @Sendable (CKSyncEngine.FetchChangesContext, CKSyncEngine) async -> CKSyncEngine.FetchChangesOptions

    let zoneID: CKRecordZone.ID
    private let memory: Locked<Memory>
    /// Called after the app has handled an event.
    let hook = Locked<Hook?>(nil)
    /// Used instead of the app's own batch.
    let batch = Locked<Batch?>(nil)
    let options = Locked<Options?>(nil)
    let isAtomic = Locked(false)
    /// Whether the app resolves a conflict, a missing zone and a lost batch as a good app does.
    let mends = Locked(true)
    /// Whether it is a newer version of the app, which has notes with colours.
    let knowsColours: Bool
    /// Whether notes have each word as an encrypted value too.
    let seals: Bool

    init(
        zoneID: CKRecordZone.ID = CKRecordZone.ID(zoneName: "Notes"), disk: Disk = Disk(), diesAfter events: Int? = nil, knowsColours: Bool = false,
        seals: Bool = false
    ) {
        self.zoneID = zoneID
        self.knowsColours = knowsColours
        self.seals = seals
        memory = Locked(Memory(disk: disk, notes: disk.notes, eventsLeft: events))
    }

    // MARK: State for tests

    /// The engine's events, a line each.
    var log: [String] { memory.withLock(\.log) }
    /// The log without state updates.
    var events: [String] { log.filter { $0 != "state" } }
    func clearLog() { memory.withLock { $0.log = [] } }
    func note(_ line: String) { memory.withLock { $0.log.append(line) } }

    var disk: Disk { memory.withLock(\.disk) }
    /// Stores the notes; does nothing once the app is dead.
    func keepNotes() { memory.withLock { if !$0.isDead { $0.disk.notes = $0.notes } } }
    var isDead: Bool { memory.withLock(\.isDead) }
    var notes: [CKRecord.ID: Note] { memory.withLock(\.notes) }
    var words: [String: Set<String>] { Dictionary(notes.map { ($0.key.recordName, $0.value.words) }) { $1 } }
    func recordID(_ name: String) -> CKRecord.ID { CKRecord.ID(recordName: name, zoneID: zoneID) }

    /// Returns once the log has had this line so many times.
    func heard(_ line: String, _ count: Int = 1) async {
        await withCheckedContinuation { continuation in
            let isThere = memory.withLock { memory in
                if memory.log.count(where: { $0 == line }) >= count { return true }
                memory.waiting.append((line, count, continuation))
                return false
            }
            if isThere { continuation.resume() }
        }
    }

    // MARK: The user's changes

    func write(_ name: String, _ word: String, _ engine: CKSyncEngine, in zoneID: CKRecordZone.ID? = nil) {
        change(CKRecord.ID(recordName: name, zoneID: zoneID ?? self.zoneID), engine) { note in
            note.words.insert(word)
            if seals { note.secrets.insert(Self.secret(word)) }
        }
    }

    /// Returns a word as an encrypted value: a text that is in no plain field.
    static func secret(_ word: String) -> String { "sealed-7f31-\(word)" }

    func change(_ id: CKRecord.ID, _ engine: CKSyncEngine, _ edit: (inout Note) -> Void) {
        memory.withLock { edit(&$0.notes[id, default: Note()]) }
        engine.state.add(pendingRecordZoneChanges: [.saveRecord(id)])
    }

    func delete(_ name: String, _ engine: CKSyncEngine, in zoneID: CKRecordZone.ID? = nil) {
        let id = CKRecord.ID(recordName: name, zoneID: zoneID ?? self.zoneID)
        memory.withLock { $0.notes[id] = nil }
        engine.state.add(pendingRecordZoneChanges: [.deleteRecord(id)])
    }

    // MARK: The delegate

    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
        let lives = memory.withLock { memory in
            if let left = memory.eventsLeft { (memory.eventsLeft, memory.isDead) = (left - 1, left <= 0) }
            return !memory.isDead
        }
        guard lives else { return }
        await take(event, syncEngine)
        let heard = memory.withLock { memory in
            memory.log += Self.lines(event)
            let log = memory.log
            let heard = memory.waiting.filter { waiting in log.count { $0 == waiting.line } >= waiting.count }.map(\.continuation)
            memory.waiting.removeAll { waiting in log.count { $0 == waiting.line } >= waiting.count }
            return heard
        }
        for continuation in heard { continuation.resume() }
        let called = hook.withLock { $0 }
        await called?(event, syncEngine)
    }

    func nextRecordZoneChangeBatch(_ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine) async -> CKSyncEngine.RecordZoneChangeBatch?
    {
        if isDead { return nil }
        let asked = batch.withLock { $0 }
        if let asked { return await asked(context, syncEngine) }
        return await ownBatch(context, syncEngine)
    }

    func nextFetchChangesOptions(_ context: CKSyncEngine.FetchChangesContext, syncEngine: CKSyncEngine) async -> CKSyncEngine.FetchChangesOptions {
        let asked = options.withLock { $0 }
        return await asked?(context, syncEngine) ?? context.options
    }

    func ownBatch(_ context: CKSyncEngine.SendChangesContext, _ engine: CKSyncEngine) async -> CKSyncEngine.RecordZoneChangeBatch? {
        let pending = engine.state.pendingRecordZoneChanges.filter { context.options.scope.contains($0) }
        var batch = await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: pending) { recordID in
            if let record = self.record(recordID) { return record }
            engine.state.remove(pendingRecordZoneChanges: [.saveRecord(recordID)])
            return nil
        }
        batch?.atomicByZone = isAtomic.withLock { $0 }
        return batch
    }

    func record(_ recordID: CKRecord.ID) -> CKRecord? {
        guard let note = notes[recordID] else { return nil }
        let record = note.system.flatMap(Self.unarchived) ?? CKRecord(recordType: "Note", recordID: recordID)
        record["words"] = note.words.sorted()
        if seals { record.encryptedValues["secrets"] = note.secrets.sorted() }
        if let parent = note.parent { record["parent"] = CKRecord.Reference(recordID: parent, action: .deleteSelf) }
        if knowsColours, let colour = note.colour { record["colour"] = colour }
        return record
    }

    private func take(_ event: CKSyncEngine.Event, _ engine: CKSyncEngine) async {
        switch event {
        case .stateUpdate(let update):
            let state = try? JSONEncoder().encode(update.stateSerialization)
            memory.withLock { $0.disk = Disk(notes: $0.notes, state: state) }
        case .accountChange(let change): take(change.changeType, engine)
        case .fetchedDatabaseChanges(let changes):
            for deletion in changes.deletions { forget(deletion.zoneID) }
        case .fetchedRecordZoneChanges(let changes):
            let pending = Set(engine.state.pendingRecordZoneChanges)
            for modification in changes.modifications where modification.record.recordType == "Note" {
                if pending.contains(.deleteRecord(modification.record.recordID)) { continue }
                merge(modification.record, keepsOwn: pending.contains(.saveRecord(modification.record.recordID)))
            }
            for deletion in changes.deletions {
                // The server has not seen the note that this device has made again since.
                if pending.contains(.saveRecord(deletion.recordID)), let note = notes[deletion.recordID], note.system == nil { continue }
                memory.withLock { $0.notes[deletion.recordID] = nil }
                engine.state.remove(pendingRecordZoneChanges: [.saveRecord(deletion.recordID)])
            }
        case .sentRecordZoneChanges(let sent):
            for record in sent.savedRecords { memory.withLock { $0.notes[record.recordID]?.system = Self.archived(record) } }
            if mends.withLock({ $0 }) { for failure in sent.failedRecordSaves { await mend(failure, engine) } }
        default: break
        }
    }

    private func take(_ change: CKSyncEngine.Event.AccountChange.ChangeType, _ engine: CKSyncEngine) {
        switch change {
        case .signIn:
            let notes = notes.keys.sorted { $0.recordName < $1.recordName }
            engine.state.add(pendingDatabaseChanges: engine.database.databaseScope == .private ? [.saveZone(CKRecordZone(zoneID: zoneID))] : [])
            engine.state.add(pendingRecordZoneChanges: notes.map { .saveRecord($0) })
        case .signOut: memory.withLock { $0.notes = [:] }
        case .switchAccounts:
            memory.withLock { $0.notes = [:] }
            engine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: zoneID))])
        }
    }

    private func forget(_ zoneID: CKRecordZone.ID) {
        memory.withLock { memory in memory.notes = memory.notes.filter { $0.key.zoneID != zoneID } }
    }

    private func merge(_ record: CKRecord, keepsOwn: Bool) {
        let words = Set(record["words"] as? [String] ?? [])
        let secrets = Set(record.encryptedValues["secrets"] as? [String] ?? [])
        memory.withLock { memory in
            let own = keepsOwn ? memory.notes[record.recordID] : nil
            memory.notes[record.recordID] = Note(
                words: words.union(own?.words ?? []), secrets: secrets.union(own?.secrets ?? []), system: Self.archived(record),
                parent: (record["parent"] as? CKRecord.Reference)?.recordID,
                colour: own?.colour ?? record["colour"] as? String)
        }
    }

    private func mend(_ failure: CKSyncEngine.Event.SentRecordZoneChanges.FailedRecordSave, _ engine: CKSyncEngine) async {
        let recordID = failure.record.recordID
        // The note was deleted since.
        guard notes[recordID] != nil else { return }
        switch failure.error.code {
        case .serverRecordChanged:
            guard let server = failure.error.serverRecord else { return }
            merge(server, keepsOwn: true)
            engine.state.add(pendingRecordZoneChanges: [.saveRecord(recordID)])
        case .zoneNotFound:
            memory.withLock { $0.notes[recordID]?.system = nil }
            engine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: recordID.zoneID))])
            engine.state.add(pendingRecordZoneChanges: [.saveRecord(recordID)])
        case .batchRequestFailed: engine.state.add(pendingRecordZoneChanges: [.saveRecord(recordID)])
        case .unknownItem: memory.withLock { $0.notes[recordID] = nil }
        // Its parent is gone, so the note is deleted too.
        case .referenceViolation: memory.withLock { $0.notes[recordID] = nil }
        case .permissionFailure:
            // Returns to the server's version. The feed does not show it again: while the server cannot be reached,
            // the refused change stays pending.
            do {
                merge(try await engine.database.record(for: recordID), keepsOwn: false)
            } catch let error as CKError where error.code == .unknownItem {
                memory.withLock { $0.notes[recordID] = nil }
            } catch {
                engine.state.add(pendingRecordZoneChanges: [.saveRecord(recordID)])
            }
        default: break
        }
    }

    private static func archived(_ record: CKRecord) -> Data {
        let coder = NSKeyedArchiver(requiringSecureCoding: true)
        record.encodeSystemFields(with: coder)
        coder.finishEncoding()
        return coder.encodedData
    }

    private static func unarchived(_ data: Data) -> CKRecord? {
        guard let coder = try? NSKeyedUnarchiver(forReadingFrom: data) else { return nil }
        coder.requiresSecureCoding = true
        return CKRecord(coder: coder)
    }

    // MARK: Lines

    private static func lines(_ event: CKSyncEngine.Event) -> [String] {
        switch event {
        case .stateUpdate: ["state"]
        case .accountChange(let change):
            switch change.changeType {
            case .signIn: ["signIn"]
            case .signOut: ["signOut"]
            case .switchAccounts: ["switchAccounts"]
            }
        case .willFetchChanges: ["willFetch"]
        case .fetchedDatabaseChanges(let changes):
            [
                "zones" + changes.modifications.map { " +\($0.zoneID.zoneName)" }.joined()
                    + changes.deletions.map { " -\($0.zoneID.zoneName)" }.joined()
            ]
        case .willFetchRecordZoneChanges(let zone): ["willFetch \(zone.zoneID.zoneName)"]
        case .fetchedRecordZoneChanges(let changes):
            [
                "fetched" + changes.modifications.map { " +\($0.record.recordID.recordName)" }.sorted().joined()
                    + changes.deletions.map { " -\($0.recordID.recordName)" }.sorted().joined()
            ]
        case .didFetchRecordZoneChanges(let zone): ["didFetch \(zone.zoneID.zoneName)" + (zone.error.map { " \($0.code)" } ?? "")]
        case .didFetchChanges: ["didFetch"]
        case .willSendChanges: ["willSend"]
        case .sentDatabaseChanges(let sent):
            [
                "sentZones" + sent.savedZones.map { " +\($0.zoneID.zoneName)" }.joined() + sent.deletedZoneIDs.map { " -\($0.zoneName)" }.joined()
                    + sent.failedZoneSaves.map { " !\($0.zone.zoneID.zoneName) \($0.error.code)" }.joined()
                    + sent.failedZoneDeletes.map { " !-\($0.key.zoneName) \($0.value.code)" }.joined()
            ]
        case .sentRecordZoneChanges(let sent):
            [
                "sent" + sent.savedRecords.map { " +\($0.recordID.recordName)" }.joined()
                    + sent.deletedRecordIDs.map { " -\($0.recordName)" }.joined()
                    + sent.failedRecordSaves.map { " !\($0.record.recordID.recordName) \($0.error.code)" }.joined()
                    + sent.failedRecordDeletes.map { " !-\($0.key.recordName) \($0.value.code)" }.joined()
            ]
        case .didSendChanges: ["didSend"]
        }
    }
}
