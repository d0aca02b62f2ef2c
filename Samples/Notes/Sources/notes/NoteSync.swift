import CloudKit

/// Syncs the cache of this device with the user's private database, by a `CKSyncEngine`.
///
/// The user's changes go into the cache and need no network; `sync()` sends and fetches. The engine keeps pending
/// changes in its state, and the cache marks them as unsent, so that a change made just before the app was killed is
/// sent too.
actor NoteSync: CKSyncEngineDelegate {
    private let database: CKDatabase
    private let cache: NoteCache
    private var madeEngine: CKSyncEngine?
    /// Changes of other devices, in words, since the last sync.
    private var news: [String] = []
    /// The first failure of the cache during an event of the engine: a delegate cannot throw.
    private var cacheFailure: (any Error)?

    /// Attempts of a send that met another device's version, or a zone that was deleted.
    private static let sends = 5

    /// Makes the sync.
    /// - Parameter cache: The path of the cache's file.
    init(_ container: CKContainer, cache: String) throws {
        database = container.privateCloudDatabase
        self.cache = try NoteCache(path: cache)
    }

    private func engine() throws -> CKSyncEngine {
        if let madeEngine { return madeEngine }
        var configuration = CKSyncEngine.Configuration(database: database, stateSerialization: try cache.state(), delegate: self)
        // A command ends before the system would start a sync.
        configuration.automaticallySync = false
        let engine = CKSyncEngine(configuration)
        madeEngine = engine
        if engine.state.pendingDatabaseChanges.isEmpty, try cache.state() == nil { addZone(to: engine) }
        addUnsent(to: engine)
        return engine
    }

    // MARK: The user's changes

    func folders() throws -> [Entry] { try cache.entries(in: nil) }
    func notes(in folder: Entry) throws -> [Entry] { try cache.entries(in: folder.name) }
    func note(titled title: String) throws -> Entry {
        guard let note = try cache.entry(titled: title, .note) else { throw NotesError.noNote(title) }
        return note
    }

    /// Writes a new note, and makes its folder where there is none of this title.
    func add(_ title: String, text: String, toFolder folderTitle: String) throws {
        let folder: Entry
        if let known = try cache.entry(titled: folderTitle, .folder) {
            folder = known
        } else {
            folder = Entry(name: UUID().uuidString, kind: .folder, title: folderTitle)
            try change(folder)
        }
        try change(Entry(name: UUID().uuidString, kind: .note, title: title, text: text, folder: folder.name))
    }

    func edit(_ title: String, text: String) throws {
        var note = try note(titled: title)
        note.text = text
        try change(note)
    }

    func deleteNote(_ title: String) throws { try delete(try note(titled: title)) }

    /// Deletes a folder and its notes: here at once, and on the server with the folder, to which they refer.
    func deleteFolder(_ title: String) throws {
        guard let folder = try cache.entry(titled: title, .folder) else { throw NotesError.noFolder(title) }
        let pending = try cache.entries(in: folder.name).map { CKSyncEngine.PendingRecordZoneChange.saveRecord($0.recordID) }
        try engine().state.remove(pendingRecordZoneChanges: pending)
        try delete(folder)
    }

    private func change(_ entry: Entry) throws {
        var entry = entry
        entry.isUnsent = true
        try cache.put(entry)
        try engine().state.add(pendingRecordZoneChanges: [.saveRecord(entry.recordID)])
    }

    private func delete(_ entry: Entry) throws {
        try cache.remove(entry.name)
        var entry = entry
        (entry.isUnsent, entry.isGone) = (true, true)
        try cache.put(entry)
        try engine().state.add(pendingRecordZoneChanges: [.deleteRecord(entry.recordID)])
    }

    // MARK: Sync

    /// Fetches the changes of other devices, and sends the changes of this one.
    ///
    /// - Returns: The changes of other devices, in words.
    @discardableResult
    func sync() async throws -> [String] {
        let engine = try engine()
        try await engine.fetchChanges()
        let isAnythingPending = !engine.state.pendingRecordZoneChanges.isEmpty
        for attempt in 1...Self.sends where !engine.state.pendingRecordZoneChanges.isEmpty || !engine.state.pendingDatabaseChanges.isEmpty {
            do {
                try await engine.sendChanges()
            } catch let error as CKError where error.code == .partialFailure && attempt < Self.sends {
                // The delegate has handled each failure, and added again the changes that may succeed now.
            }
        }
        // A device that sends into a zone before any fetch begins without a token, and misses earlier deletions.
        if isAnythingPending { try await engine.fetchChanges() }
        if let cacheFailure { throw cacheFailure }
        defer { news = [] }
        return news.sorted()
    }

    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
        do {
            try handle(event, of: syncEngine)
        } catch {
            cacheFailure = cacheFailure ?? error
        }
    }

    func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch? {
        let changes = syncEngine.state.pendingRecordZoneChanges.filter { context.options.scope.contains($0) }
        return await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: changes) { recordID in
            await self.record(for: recordID, of: syncEngine)
        }
    }

    private func record(for recordID: CKRecord.ID, of engine: CKSyncEngine) -> CKRecord? {
        if let entry = try? cache.entry(named: recordID.recordName), !entry.isGone { return entry.record }
        engine.state.remove(pendingRecordZoneChanges: [.saveRecord(recordID)])
        return nil
    }

    private func handle(_ event: CKSyncEngine.Event, of engine: CKSyncEngine) throws {
        switch event {
        case .stateUpdate(let update): try cache.keep(update.stateSerialization)
        case .accountChange(let change): try handle(change.changeType, of: engine)
        case .fetchedDatabaseChanges(let changes):
            for deletion in changes.deletions where deletion.zoneID == Entry.zoneID { try zoneIsGone(deletion.reason, of: engine) }
        case .fetchedRecordZoneChanges(let changes):
            for change in changes.modifications { try take(change.record) }
            for deletion in changes.deletions { try forget(deletion.recordID) }
        case .sentRecordZoneChanges(let sent):
            for record in sent.savedRecords { try wasSaved(record, of: engine) }
            for recordID in sent.deletedRecordIDs { try cache.remove(recordID.recordName) }
            for failure in sent.failedRecordSaves { try couldNotSave(failure.record, failure.error, of: engine) }
            for recordID in sent.failedRecordDeletes.filter({ $0.value.code == .zoneNotFound }).keys { try cache.remove(recordID.recordName) }
        default: break
        }
    }

    private func handle(_ change: CKSyncEngine.Event.AccountChange.ChangeType, of engine: CKSyncEngine) throws {
        switch change {
        case .signIn:
            // Entries made before the sign-in belong to the new user.
            addZone(to: engine)
            addUnsent(to: engine)
        case .signOut, .switchAccounts: try cache.removeAll()
        @unknown default: break
        }
    }

    private func zoneIsGone(_ reason: CKDatabase.DatabaseChange.Deletion.Reason, of engine: CKSyncEngine) throws {
        switch reason {
        case .encryptedDataReset:
            try cache.forgetServer()
            addZone(to: engine)
            addUnsent(to: engine)
        default: try cache.removeAll()
        }
    }

    // MARK: The server's changes

    private func take(_ record: CKRecord) throws {
        guard let theirs = Entry(record) else { return }
        // An unsent entry stays: its send meets the newer version, and the conflict is resolved then.
        let ours = try cache.entry(named: theirs.name)
        if ours?.isUnsent ?? false { return }
        // The feed also returns a device's own changes.
        if ours.map({ ($0.title, $0.text, $0.folder) != (theirs.title, theirs.text, theirs.folder) }) ?? true {
            news.append("\(theirs.kind.rawValue.lowercased()) \(theirs.title)")
        }
        try cache.put(theirs)
    }

    private func forget(_ recordID: CKRecord.ID) throws {
        guard let entry = try cache.entry(named: recordID.recordName), !entry.isUnsent else { return }
        // The order of a folder's and its notes' deletions is not guaranteed.
        let notes = entry.kind == .folder ? try cache.entries(in: entry.name) : []
        news += (notes + [entry]).map { "deleted \($0.title)" }
        try cache.remove(entry.name)
    }

    private func wasSaved(_ record: CKRecord, of engine: CKSyncEngine) throws {
        guard var entry = try cache.entry(named: record.recordID.recordName) else { return }
        entry.systemFields = Entry.systemFields(of: record)
        // If it was edited while it was sent, it is pending again.
        entry.isUnsent = engine.state.pendingRecordZoneChanges.contains { $0.recordID == record.recordID }
        try cache.put(entry)
    }

    private func couldNotSave(_ record: CKRecord, _ error: CKError, of engine: CKSyncEngine) throws {
        guard var ours = try cache.entry(named: record.recordID.recordName) else { return }
        switch error.code {
        case .serverRecordChanged:
            guard let server = error.serverRecord, let theirs = Entry(server) else { return }
            try cache.put(theirs)
            // Both texts stay: this device's text becomes a note of its own.
            guard ours.kind == .note, ours.text != theirs.text else { return }
            try change(
                Entry(name: UUID().uuidString, kind: .note, title: "\(ours.title) (other version)", text: ours.text, folder: theirs.folder))
        case .zoneNotFound:
            addZone(to: engine)
            fallthrough
        case .unknownItem:
            // Deleted on the server, and edited here: it is made again.
            ours.systemFields = nil
            try change(ours)
        case .referenceViolation:
            // The note's folder was deleted, so the note is too.
            try cache.remove(ours.name)
        default: break  // What may pass is still pending; the rest stays unsent, and is tried at the next launch.
        }
    }

    // MARK: Pending changes

    private func addZone(to engine: CKSyncEngine) {
        engine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: Entry.zoneID))])
    }

    private func addUnsent(to engine: CKSyncEngine) {
        let unsent = (try? cache.unsent()) ?? []
        engine.state.add(pendingRecordZoneChanges: unsent.map { $0.isGone ? .deleteRecord($0.recordID) : .saveRecord($0.recordID) })
    }
}

extension CKSyncEngine.PendingRecordZoneChange {
    fileprivate var recordID: CKRecord.ID? {
        switch self {
        case .saveRecord(let recordID), .deleteRecord(let recordID): recordID
        @unknown default: nil
        }
    }
}

enum NotesError: Error, Equatable, CustomStringConvertible {
    case noNote(String)
    case noFolder(String)
    case usage(String)

    var description: String {
        switch self {
        case .noNote(let title): "there is no note \"\(title)\""
        case .noFolder(let title): "there is no folder \"\(title)\""
        case .usage(let text): text
        }
    }
}
