import CloudKit
import Foundation

/// A device of one of the demo's users: a container, and a copy of a zone that follows its changes.
///
/// An actor, because it mostly waits: two devices work at once.
actor Device {
    /// The result of fetching changes once.
    struct News: Sendable {
        var changes = 0
        var deletions: [String] = []
        var pages = 0

        static func += (left: inout News, right: News) {
            left.changes += right.changes
            left.deletions += right.deletions
            left.pages += right.pages
        }
    }

    nonisolated let name: String
    nonisolated let container: CKContainer
    nonisolated let scope: CKDatabase.Scope
    nonisolated let zoneID: CKRecordZone.ID
    private(set) var copy: [String: CKRecord] = [:]
    private var token: CKServerChangeToken?

    init(name: String, container: CKContainer, scope: CKDatabase.Scope, zoneID: CKRecordZone.ID) {
        self.name = name
        self.container = container
        self.scope = scope
        self.zoneID = zoneID
    }

    nonisolated var database: CKDatabase { container.database(with: scope) }

    /// Returns whether the database's changes name the zone.
    func seesZone() async throws -> Bool {
        var token: CKServerChangeToken?
        while true {
            let page = try await database.databaseChanges(since: token)
            if page.modifications.contains(where: { $0.zoneID == zoneID }) { return true }
            guard page.moreComing else { return false }
            token = page.changeToken
        }
    }

    /// Brings the copy up to date.
    func follow() async throws -> News {
        var news = News()
        var moreComing = true
        while moreComing {
            let page = try await database.recordZoneChanges(inZoneWith: zoneID, since: token)
            for (id, result) in page.modificationResultsByID { copy[id.recordName] = try result.get().record }
            for deletion in page.deletions {
                copy[deletion.recordID.recordName] = nil
                news.deletions.append(deletion.recordID.recordName)
            }
            news.changes += page.modificationResultsByID.count
            news.pages += 1
            token = page.changeToken
            moreComing = page.moreComing
        }
        return news
    }

    /// Fetches changes at each nudge, and once more at the end.
    func follow(_ nudges: AsyncStream<Void>) async throws -> News {
        var news = News()
        for await _ in nudges { news += try await follow() }
        news += try await follow()
        return news
    }

    /// Returns the copy's record of this name.
    func record(_ name: String) throws -> CKRecord {
        guard let record = copy[name] else { throw DemoFailure("device \(self.name) has no record \(name)") }
        return record
    }

    /// Saves a batch atomically.
    func save(_ batch: [CKRecord], _ policy: CKModifyRecordsOperation.RecordSavePolicy) async throws {
        let results = try await database.modifyRecords(saving: batch, deleting: [], savePolicy: policy, atomically: true)
        guard results.saveResults.count == batch.count else {
            throw DemoFailure("\(batch.count) records were saved and \(results.saveResults.count) answered for")
        }
        for result in results.saveResults.values { _ = try result.get() }
    }

    /// Deletes records of the zone, whether they exist or not.
    func delete(_ names: [String]) async throws {
        let ids = names.map { CKRecord.ID(recordName: $0, zoneID: zoneID) }
        let results = try await database.modifyRecords(saving: [], deleting: ids)
        for result in results.deleteResults.values { try result.get() }
    }
}

/// A result that the demo did not expect.
struct DemoFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
