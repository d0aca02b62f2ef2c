public import Foundation

/// The old form of `CKFetchRecordZoneChangesOperation`: one batch of what changed in one zone, and `moreComing` says whether to ask again.
///
/// A record that could not be had is in the error of the completion block alone, which is `partialFailure` then. Apple: iOS 8, deprecated in iOS 10.
open class CKFetchRecordChangesOperation: CKDatabaseOperation, @unchecked Sendable {
    // Sendable: as `CKOperation` says; `end` and `failures` are touched on the callback queue alone.

    /// Without one the operation fails with `invalidArguments`.
    open var recordZoneID: CKRecordZone.ID?
    /// nil: from the beginning.
    open var previousServerChangeToken: CKServerChangeToken?
    /// 0: as many as the server sends at a time.
    open var resultsLimit: Int = 0
    /// nil: all fields; empty: none.
    open var desiredKeys: [String]?
    /// Whether another operation, with the token that the completion block got, finds more. Good from the completion block on.
    open var moreComing: Bool { end?.moreComing ?? false }
    /// Called for each changed record, as it is now.
    open var recordChangedBlock: ((CKRecord) -> Void)?
    /// Called for each record that is gone.
    open var recordWithIDWasDeletedBlock: ((CKRecord.ID) -> Void)?
    /// Called last, with the token up to which everything was told, and what the app gave the newest save as `clientChangeTokenData`.
    open var fetchRecordChangesCompletionBlock: ((CKServerChangeToken?, Data?, (any Error)?) -> Void)?

    private var end: CKFetchRecordZoneChangesOperation.ZoneEnd?
    private var failures: [CKRecord.ID: any Error] = [:]

    public override init() {
        super.init()
    }

    /// An operation that fetches one batch of a zone's changes since a token; nil: since the beginning.
    public convenience init(recordZoneID: CKRecordZone.ID, previousServerChangeToken: CKServerChangeToken?) {
        self.init()
        self.recordZoneID = recordZoneID
        self.previousServerChangeToken = previousServerChangeToken
    }

    override func run() async throws(CKError) {
        guard let recordZoneID else { throw .malformed("A fetch of changes names a zone: set recordZoneID") }
        let zone = batch(of: recordZoneID)
        let results = try await SingleCall.result { done in
            zone.whenDone = done
            return zone
        }.get()
        guard let result = results.ends[recordZoneID] else { throw .unexpectedAnswer }
        switch result {
        case .success(let end): report { self.end = end }
        case .failure(let error): throw error as? CKError ?? .unexpectedAnswer
        }
    }

    /// The operation of today for one batch of the zone; what it tells is told here.
    private func batch(of zoneID: CKRecordZone.ID) -> CKFetchRecordZoneChangesOperation {
        let operation = CKFetchRecordZoneChangesOperation(
            recordZoneIDs: [zoneID],
            configurationsByRecordZoneID: [
                zoneID: .init(previousServerChangeToken: previousServerChangeToken, resultsLimit: resultsLimit, desiredKeys: desiredKeys)
            ])
        operation.configuration = configuration
        operation.group = group
        operation.database = effectiveDatabase
        operation.fetchAllChanges = false
        operation.recordWasChangedBlock = { [self] recordID, result in
            report {
                switch result {
                case .success(let record): self.recordChangedBlock?(record)
                case .failure(let error): self.failures[recordID] = error
                }
            }
        }
        operation.recordWithIDWasDeletedBlock = { [self] recordID, _ in
            report { self.recordWithIDWasDeletedBlock?(recordID) }
        }
        return operation
    }

    override func deliver(_ error: CKError?) {
        fetchRecordChangesCompletionBlock?(
            end?.serverChangeToken, end?.clientChangeTokenData, error ?? .partial("Failed to fetch some record changes", of: failures))
    }
}
