import CloudKit
import Foundation
import NacreRandom

/// A device of the app: notes in zones, and an engine that syncs them.
actor Device: CKSyncEngineDelegate {
    /// The zone that stays. Notes whose names begin with a device's ID may be deleted in it, by that device.
    static let steady = "Steady"
    /// The zone that is deleted and made again. A device that hears of it gives up its notes.
    static let reborn = "Reborn"
    /// Notes of a zone that every device edits.
    private static let sharedNotes = 20
    private static let batchSizeMax = 40

    private let id: String
    private let disk: Disk
    private let zones: [CKRecordZone.ID]
    private let database: CKDatabase
    private let isAtomic: Bool
    private var kept: Disk.Kept
    private var engine: CKSyncEngine?
    private var wordsMade = 0
    private var isInsideDelegate = false
    private var calls: [String: Task<Void, Never>] = [:]
    private var cancelled: [String: ContinuousClock.Instant] = [:]

    init(_ id: String, in folder: URL, _ database: CKDatabase, owner: String?, isAtomic: Bool) throws {
        self.id = id
        self.database = database
        self.isAtomic = isAtomic
        disk = try Disk(folder)
        zones =
            owner.map { [CKRecordZone.ID(zoneName: Self.steady, ownerName: $0)] } ?? [Self.steady, Self.reborn].map { CKRecordZone.ID(zoneName: $0) }
        kept = try disk.read()
        kept.launches += 1
        try disk.write(kept)
    }

    /// Makes the engine. Changes that its state does not have, because the process was killed before, are added again.
    func start() {
        let engine = CKSyncEngine(CKSyncEngine.Configuration(database: database, stateSerialization: kept.state, delegate: self))
        self.engine = engine
        engine.state.add(pendingRecordZoneChanges: kept.notes.keys.sorted().compactMap { unsent($0) })
    }

    // MARK: Names

    private func recordID(_ key: String) -> CKRecord.ID? {
        let parts = key.split(separator: "/", maxSplits: 1).map(String.init)
        guard parts.count == 2, let zoneID = zones.first(where: { $0.zoneName == parts[0] }) else { return nil }
        return CKRecord.ID(recordName: parts[1], zoneID: zoneID)
    }

    private func key(_ recordID: CKRecord.ID) -> String { "\(recordID.zoneID.zoneName)/\(recordID.recordName)" }

    /// Returns the change that is to be sent of a note; nil: none.
    private func unsent(_ key: String) -> CKSyncEngine.PendingRecordZoneChange? {
        guard let note = kept.notes[key], note.isUnsent, let recordID = recordID(key) else { return nil }
        return note.isGone ? .deleteRecord(recordID) : .saveRecord(recordID)
    }

    private func note(_ fact: Disk.Fact) {
        do { try disk.write(fact) } catch { fatal("The journal cannot be written: \(error)") }
    }

    private func keep() {
        do { try disk.write(kept) } catch { fatal("The notes cannot be written: \(error)") }
    }

    // MARK: The user

    /// Makes some edits at random.
    func edit(_ count: Int, _ seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let changes = (0..<count).compactMap { _ in edit(&random) }
        keep()
        engine?.state.add(pendingRecordZoneChanges: changes)
    }

    private func edit(_ random: inout SeededRandom) -> CKSyncEngine.PendingRecordZoneChange? {
        let dice = Int.random(in: 0..<100, using: &random)
        wordsMade += 1
        let word = "\(id).\(kept.launches).\(wordsMade)"
        let saved = kept.notes.filter { $0.value.system != nil && !$0.value.isGone }.keys.sorted()
        if dice < 4, let key = saved.filter({ $0.hasPrefix("\(Self.steady)/\(id).") }).randomElement(using: &random) {
            // The journal comes first: a deletion that it does not have must not happen.
            note(Disk.Fact(kind: .deletes, key: key))
            kept.notes[key]?.isGone = true
            kept.notes[key]?.isUnsent = true
            return unsent(key)
        }
        var key = "\(zones.randomElement(using: &random)?.zoneName ?? Self.steady)/note\(Int.random(in: 0..<Self.sharedNotes, using: &random))"
        if dice < 12 { key = "\(Self.steady)/\(word)" }
        if dice > 80 { key = saved.randomElement(using: &random) ?? key }
        var note = kept.notes[key] ?? Note()
        if dice < 30, let old = note.content.words.subtracting(note.content.struck).sorted().randomElement(using: &random) {
            note.content.struck.insert(old)
        } else {
            note.content.words.insert(word)
        }
        note.isUnsent = true
        kept.notes[key] = note
        return unsent(key)
    }

    /// Deletes a zone, which is made again once that is done.
    func remake(_ zone: String) {
        engine?.state.add(pendingDatabaseChanges: zones.filter { $0.zoneName == zone }.map { .deleteZone($0) })
    }

    func call(_ name: String, sends: Bool) {
        guard let engine else { return }
        calls[name] = Task {
            do {
                if sends { try await engine.sendChanges() } else { try await engine.fetchChanges() }
            } catch {
                // Its reason is in the events; the app tries again.
            }
            ended(name)
        }
    }

    private func ended(_ name: String) {
        calls[name] = nil
        guard let since = cancelled.removeValue(forKey: name) else { return }
        note(Disk.Fact(kind: .cancelled, seconds: (ContinuousClock.now - since) / .seconds(1)))
    }

    func cancel(_ name: String) {
        guard let call = calls[name] else { return }
        cancelled[name] = .now
        call.cancel()
    }

    func cancelAll() async {
        for name in calls.keys { cancelled[name] = .now }
        await engine?.cancelOperations()
    }

    /// The device as the driver compares it.
    struct Report: Encodable {
        var name: String
        var pending = 0
        var unsent = 0
        var notes: [String: Note.Content] = [:]
    }

    func report(_ name: String) -> Report {
        guard let state = engine?.state else { return Report(name: name, pending: 1) }
        return Report(
            name: name, pending: state.pendingRecordZoneChanges.count + state.pendingDatabaseChanges.count,
            unsent: kept.notes.values.count(where: \.isUnsent), notes: kept.notes.filter { !$0.value.isGone }.mapValues(\.content))
    }

    // MARK: The delegate

    private func enter() {
        if isInsideDelegate { note(Disk.Fact(kind: .fault, text: "Two calls of the delegate overlap")) }
        isInsideDelegate = true
    }

    func nextRecordZoneChangeBatch(_ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine) async -> CKSyncEngine.RecordZoneChangeBatch?
    {
        enter()
        defer { isInsideDelegate = false }
        let state = syncEngine.state
        state.remove(pendingRecordZoneChanges: state.pendingRecordZoneChanges.filter { unsent(key($0.recordID)) != $0 })
        let pending = state.pendingRecordZoneChanges.filter { context.options.scope.contains($0) }
        let some = Array(pending.prefix(Int.random(in: 1...Self.batchSizeMax)))
        var batch = await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: some) { recordID in await self.record(recordID) }
        batch?.atomicByZone = isAtomic
        return batch
    }

    private func record(_ recordID: CKRecord.ID) -> CKRecord? { kept.notes[key(recordID)]?.record(recordID) }

    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
        enter()
        defer { isInsideDelegate = false }
        let state = syncEngine.state
        switch event {
        case .stateUpdate(let update): kept.state = update.stateSerialization
        case .accountChange(let change):
            if case .signIn = change.changeType { break }
            kept.notes = [:]
        case .fetchedDatabaseChanges(let changes):
            for deletion in changes.deletions { giveUp(deletion.zoneID, state) }
        case .fetchedRecordZoneChanges(let changes):
            for modification in changes.modifications where modification.record.recordType == "Note" { take(modification.record) }
            for deletion in changes.deletions {
                kept.notes[key(deletion.recordID)] = nil
                state.remove(pendingRecordZoneChanges: [.saveRecord(deletion.recordID), .deleteRecord(deletion.recordID)])
            }
        case .sentDatabaseChanges(let sent): take(sent, state)
        case .sentRecordZoneChanges(let sent):
            for record in sent.savedRecords { acknowledge(record) }
            for failure in sent.failedRecordSaves { mend(failure, state) }
            for recordID in sent.deletedRecordIDs { acknowledgeDeletion(recordID) }
            for (recordID, error) in sent.failedRecordDeletes { mend(recordID, error, state) }
        default: break
        }
        keep()
    }

    private func giveUp(_ zoneID: CKRecordZone.ID, _ state: CKSyncEngine.State) {
        kept.notes = kept.notes.filter { !$0.key.hasPrefix("\(zoneID.zoneName)/") }
        state.remove(pendingRecordZoneChanges: state.pendingRecordZoneChanges.filter { $0.recordID.zoneID == zoneID })
    }

    private func take(_ sent: CKSyncEngine.Event.SentDatabaseChanges, _ state: CKSyncEngine.State) {
        let gone = sent.failedZoneDeletes.filter { $0.value.code == .zoneNotFound }.map(\.key) + sent.deletedZoneIDs
        for zoneID in gone {
            note(Disk.Fact(kind: .zoneDeleted, key: zoneID.zoneName, seconds: Date().timeIntervalSince1970))
            giveUp(zoneID, state)
            state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: zoneID))])
        }
        let pending = Set(state.pendingDatabaseChanges)
        for failure in sent.failedZoneSaves where !pending.contains(.saveZone(failure.zone)) { fault("saving a zone", failure.error) }
        for (zoneID, error) in sent.failedZoneDeletes where error.code != .zoneNotFound && !pending.contains(.deleteZone(zoneID)) {
            fault("deleting a zone", error)
        }
    }

    private func fault(_ place: String, _ error: CKError) { note(Disk.Fact(kind: .fault, text: "\(place) failed for good: \(error)")) }

    /// Merges a record that was fetched. What this device sent, or fetched before, is in it.
    private func take(_ record: CKRecord) {
        let (key, content) = (key(record.recordID), Note.Content(record))
        var note = kept.notes[key] ?? Note()
        if note.isGone { return }
        if !note.isUnsent, !note.content.isPart(of: content) {
            if record.recordID.zoneID.zoneName == Self.steady {
                self.note(Disk.Fact(kind: .fault, key: key, text: "less was fetched than was known"))
            }
            note.content = content
        }
        merge(&note, content, record)
        kept.notes[key] = note
    }

    /// Takes over the server's version: with its system fields goes all of its content.
    private func merge(_ note: inout Note, _ content: Note.Content, _ record: CKRecord) {
        note.content.merge(content)
        note.system = Note.archived(record)
        note.isUnsent = note.isUnsent && note.content != content
    }

    private func acknowledge(_ record: CKRecord) {
        let (key, content) = (key(record.recordID), Note.Content(record))
        note(Disk.Fact(kind: .saved, key: key, content: content, seconds: record.modificationDate?.timeIntervalSince1970 ?? 0))
        guard var note = kept.notes[key], !note.isGone else { return }
        merge(&note, content, record)
        kept.notes[key] = note
    }

    private func acknowledgeDeletion(_ recordID: CKRecord.ID) {
        note(Disk.Fact(kind: .deleted, key: key(recordID)))
        kept.notes[key(recordID)] = nil
    }

    private func mend(_ failure: CKSyncEngine.Event.SentRecordZoneChanges.FailedRecordSave, _ state: CKSyncEngine.State) {
        let key = key(failure.record.recordID)
        guard var note = kept.notes[key], !note.isGone else { return }
        switch failure.error.code {
        case .serverRecordChanged:
            guard let record = failure.error.serverRecord else { return fault("saving \(key), without the server's record,", failure.error) }
            merge(&note, Note.Content(record), record)
            kept.notes[key] = note
        // Its author deleted the note, or the zone is another one.
        case .unknownItem, .zoneNotFound, .userDeletedZone: kept.notes[key] = nil
        case .batchRequestFailed: break
        default: if !state.pendingRecordZoneChanges.contains(.saveRecord(failure.record.recordID)) { fault("saving \(key)", failure.error) }
        }
        if let change = unsent(key) { state.add(pendingRecordZoneChanges: [change]) }
    }

    private func mend(_ recordID: CKRecord.ID, _ error: CKError, _ state: CKSyncEngine.State) {
        switch error.code {
        case .unknownItem, .zoneNotFound, .userDeletedZone: acknowledgeDeletion(recordID)
        case .batchRequestFailed: state.add(pendingRecordZoneChanges: [.deleteRecord(recordID)])
        default: if !state.pendingRecordZoneChanges.contains(.deleteRecord(recordID)) { fault("deleting \(key(recordID))", error) }
        }
    }
}

extension CKSyncEngine.PendingRecordZoneChange {
    fileprivate var recordID: CKRecord.ID {
        switch self {
        case .saveRecord(let recordID), .deleteRecord(let recordID): recordID
        }
    }
}
