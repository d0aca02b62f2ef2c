import CloudKit
import Foundation

/// Fetches all changes of a zone with one operation, and counts them.
final class Sync: @unchecked Sendable {
    // Sendable: the operation's blocks run one after another on its queue, and `run` reads after the last.

    private struct NoToken: Error {}

    private let zone: CKRecordZone.ID
    private let since: CKServerChangeToken?
    private(set) var records = 0
    private(set) var token: CKServerChangeToken?

    init(zone: CKRecordZone.ID, since: CKServerChangeToken?) {
        self.zone = zone
        self.since = since
    }

    func run(in database: CKDatabase) async throws -> Sync {
        let configuration = CKFetchRecordZoneChangesOperation.ZoneConfiguration()
        configuration.previousServerChangeToken = since
        let operation = CKFetchRecordZoneChangesOperation(recordZoneIDs: [zone], configurationsByRecordZoneID: [zone: configuration])
        operation.recordWasChangedBlock = { [self] _, result in
            // One value of each record is read, as by an app.
            if case .success(let record) = result, record["title"] as? String != nil { records += 1 }
        }
        operation.recordZoneFetchResultBlock = { [self] _, result in token = try? result.get().serverChangeToken }
        return try await withCheckedThrowingContinuation { continuation in
            operation.fetchRecordZoneChangesResultBlock = { [self] result in
                continuation.resume(with: result.flatMap { token == nil ? .failure(NoToken()) : .success(self) })
            }
            database.add(operation)
        }
    }
}
