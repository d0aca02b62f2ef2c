import CloudKit
import Foundation
import NacreCloudWire

/// The demo: two devices of one user edit one zone, and hold the same records at the end.
struct AtlasDemo {
    /// Fields besides those of the input: the run, and what each device writes into the record that both edit.
    static let ownKeys: Set = ["edition", "noteOfA", "seenByB"]

    let session: DemoSession
    let timeline: Timeline
    let a: Device
    let b: Device
    let entries: [AtlasEntry]
    var report: DemoReport

    init(session: DemoSession, timeline: Timeline, report: DemoReport, entries: [AtlasEntry]) {
        self.session = session
        self.timeline = timeline
        self.report = report
        self.entries = entries
        (a, b) = session.devices()
    }

    /// Runs the demo.
    /// - Throws: `DemoFailure` for an unexpected result, or the framework's errors.
    mutating func run() async throws {
        try await openZone()
        try await forget()
        try await fill()
        try await compare(entries)
        try await edit()
        try await delete()
        let nearest = try await findNearest()
        try await findByWord()
        try await hearOfChanges()
        try await cascade(through: nearest)
        try await showPicture()
        try await showChangedPicture()
        try await showUserRecords()
        try await shareTripAndGuide()
        try await keepSecret()
        try await meetTheSignedOut()
    }

    // MARK: The zone

    private mutating func openZone() async throws {
        guard try await a.container.accountStatus() == .available else { throw DemoFailure("device A has no account") }
        let ids = (try await a.container.userRecordID(), try await b.container.userRecordID())
        guard ids.0 == ids.1, ids.0.recordName == session.user else { throw DemoFailure("the devices are not the same user") }
        _ = try await a.database.save(CKRecordZone(zoneID: a.zoneID))
        guard try await b.seesZone() else { throw DemoFailure("device B does not hear of the zone that A saved") }
        try timeline.say("A saved the zone \(a.zoneID.zoneName), and B heard of it")

        let start = timeline.now
        let news = try await a.follow()
        _ = try await b.follow()
        let editions = await a.copy.values.compactMap { $0["edition"] as? Int }
        report.run = (editions.max() ?? 0) + 1
        if news.changes > 0 {
            let seconds = Timeline.text(timeline.seconds(since: start), digits: 2)
            try timeline.say("both fetched \(news.changes) records of earlier runs in \(seconds) s: this is run \(report.run)")
        }
    }

    /// Deletes on device A the records whose input lines are gone since an earlier run.
    private func forget() async throws {
        let names = Set(await a.copy.keys).subtracting(entries.map(\.recordName)).sorted()
        guard !names.isEmpty else { return }
        for start in stride(from: 0, to: names.count, by: Limits.itemsPerNativeRequest) {
            try await a.delete(Array(names[start..<min(start + Limits.itemsPerNativeRequest, names.count)]))
        }
        try timeline.say("A deleted \(names.count) records that the input has no longer")
    }

    /// Saves everything on A in atomic batches, while B follows the changes and is told of each batch.
    private mutating func fill() async throws {
        let start = timeline.now
        let records = try await draft()
        let policy: CKModifyRecordsOperation.RecordSavePolicy = report.run == 1 ? .ifServerRecordUnchanged : .changedKeys
        let (nudges, nudge) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let (a, b) = (a, b)
        async let following = b.follow(nudges)
        do {
            for start in stride(from: 0, to: records.count, by: Limits.itemsPerNativeRequest) {
                let batch = Array(records[start..<min(start + Limits.itemsPerNativeRequest, records.count)])
                try await a.save(batch, policy)
                report.batches += 1
                nudge.yield()
            }
        } catch {
            nudge.finish()
            throw error
        }
        report.recordsSaved = records.count
        report.saveSeconds = timeline.seconds(since: start)
        nudge.finish()
        try timeline.say(
            "A saved \(records.count) records in \(report.batches) atomic batches, \(policy.name): "
                + Timeline.rate(records.count, "records", in: report.saveSeconds))
        let news = try await following
        report.changesFollowed = news.changes
        report.pagesFollowed = news.pages
        try timeline.say("B followed: \(news.changes) changes in \(news.pages) pages")
        _ = try await a.follow()
    }

    /// Returns the records to save: those that A holds, or new ones, with the fields of the input.
    private func draft() async throws -> [CKRecord] {
        let copy = await a.copy
        return entries.map { entry in
            let id = CKRecord.ID(recordName: entry.recordName, zoneID: a.zoneID)
            let record = copy[entry.recordName] ?? CKRecord(recordType: entry.recordType, recordID: id)
            entry.write(to: record, besides: Self.ownKeys)
            record["edition"] = report.run
            return record
        }
    }

    /// Checks that both devices hold exactly the input, and that their records are equal in all other parts.
    mutating func compare(_ expected: [AtlasEntry]) async throws {
        let (ofA, ofB) = (await a.copy, await b.copy)
        guard ofA.count == expected.count, ofB.count == expected.count else {
            throw DemoFailure("there are \(expected.count) entries, device A holds \(ofA.count) records and B \(ofB.count)")
        }
        for entry in expected {
            guard let one = ofA[entry.recordName], let other = ofB[entry.recordName] else {
                throw DemoFailure("a device lacks the record \(entry.recordName)")
            }
            if let key = entry.difference(from: one, besides: Self.ownKeys) { throw DemoFailure("\(entry.recordName): \(key) is not what was read") }
            if let part = HeldRecord(one).difference(from: HeldRecord(other)) { throw DemoFailure("\(entry.recordName): A and B differ in \(part)") }
        }
        report.recordsCompared = expected.count
        try timeline.say("A and B hold the same \(expected.count) records, every field of them")
    }

    // MARK: Edits

    /// Edits one record on both devices; B is late, gets the server's record with the error, merges and saves.
    private mutating func edit() async throws {
        guard let contestedName = entries.first?.recordName else { throw DemoFailure("the input is empty") }
        let note = "edited by A in run \(report.run)"
        let seen = Date()
        let (ofA, ofB) = (try await a.record(contestedName), try await b.record(contestedName))
        ofA["noteOfA"] = note
        _ = try await a.database.save(ofA)
        ofB["seenByB"] = seen
        let server = try await conflict(saving: ofB)
        guard server["noteOfA"] as? String == note else { throw DemoFailure("the server's record in B's conflict lacks the edit of A") }
        server["seenByB"] = seen
        _ = try await b.database.save(server)
        report.conflictsResolved += 1
        _ = try await a.follow()
        _ = try await b.follow()
        for device in [a, b] {
            let record = try await device.record(contestedName)
            guard record["noteOfA"] as? String == note, record["seenByB"] as? Date == seen else {
                throw DemoFailure("device \(device.name) lacks an edit of \(contestedName)")
            }
        }
        try timeline.say("A and B edited \(contestedName): B got serverRecordChanged, merged, saved; both edits are on both")
    }

    /// Returns the server's record from the error of a save that came too late.
    private func conflict(saving record: CKRecord) async throws -> CKRecord {
        do {
            _ = try await b.database.save(record)
        } catch let error as CKError where error.code == .serverRecordChanged {
            guard let server = error.serverRecord, error.clientRecord != nil, error.ancestorRecord != nil else {
                throw DemoFailure("the conflict does not bring its three records")
            }
            return server
        }
        throw DemoFailure("B overwrote the edit of A without a word")
    }

    /// Deletes the last record on A; B follows. The next run saves it again.
    private mutating func delete() async throws {
        guard let entry = entries.last else { throw DemoFailure("the input is empty") }
        _ = try await a.database.deleteRecord(withID: CKRecord.ID(recordName: entry.recordName, zoneID: a.zoneID))
        _ = try await a.follow()
        let news = try await b.follow()
        guard news.deletions == [entry.recordName] else {
            throw DemoFailure(
                "A deleted \(entry.recordName), and B heard of \(news.deletions.isEmpty ? "nothing" : news.deletions.joined(separator: ", "))")
        }
        report.deletionsFollowed = news.deletions.count
        try timeline.say("A deleted \(entry.recordName), and B heard of it")
        try await compare(entries.dropLast())
    }

    // MARK: The public database

    /// Publishes a record on A; a third device, signed out, reads it and is refused the private database.
    private func meetTheSignedOut() async throws {
        let record = CKRecord(recordType: "Atlas", recordID: CKRecord.ID(recordName: "atlas-of-" + session.user.drop { $0 == "_" }))
        record["records"] = report.recordsCompared
        record["edition"] = report.run
        let published = try await a.container.publicCloudDatabase.modifyRecords(saving: [record], deleting: [], savePolicy: .allKeys)
        guard let saved = try published.saveResults[record.recordID]?.get() else { throw DemoFailure("the public record was not answered for") }

        let c = session.signedOut()
        guard try await c.accountStatus() == .noAccount else { throw DemoFailure("device C has an account without a token") }
        do {
            _ = try await c.privateCloudDatabase.allRecordZones()
            throw DemoFailure("device C has no account and was let into a private database")
        } catch let error as CKError where error.code == .notAuthenticated {
            // The expected error.
        }
        let read = try await c.publicCloudDatabase.record(for: record.recordID)
        let adaID = try await a.container.userRecordID()
        if let part = HeldRecord(saved, heldBy: adaID).difference(from: HeldRecord(read)) {
            throw DemoFailure("the public record: A and C differ in \(part)")
        }
        try timeline.say("C, signed out, was refused the private database (notAuthenticated) and read the public record")
    }
}

extension CKModifyRecordsOperation.RecordSavePolicy {
    fileprivate var name: String {
        switch self {
        case .ifServerRecordUnchanged: "ifServerRecordUnchanged"
        case .changedKeys: "changedKeys"
        case .allKeys: "allKeys"
        }
    }
}
