public import Foundation

/// The old form of `CKFetchRecordZoneChangesOperation`: fetches one batch of a zone's changes; `moreComing` tells
/// whether there are more.
///
/// A record that could not be fetched appears only in the completion block's error, which is then `partialFailure`.
/// Apple: iOS 8, deprecated in iOS 10.
open class CKFetchRecordChangesOperation: CKDatabaseOperation, @unchecked Sendable {
    // Sendable: see `CKOperation`; only the callback queue touches `end` and `failures`.

    /// The zone; without one the operation fails with `invalidArguments`.
    open var recordZoneID: CKRecordZone.ID?
    /// The token to start from; nil for the beginning.
    open var previousServerChangeToken: CKServerChangeToken?
    /// The most changes; 0 lets the server decide.
    open var resultsLimit: Int = 0
    /// The fields to fetch; nil for all, empty for none.
    open var desiredKeys: [String]?
    /// Whether another operation with the resulting token finds more. Valid from the completion block on.
    open var moreComing: Bool { end?.moreComing ?? false }
    /// Called for each changed record, in its current version.
    open var recordChangedBlock: ((CKRecord) -> Void)?
    /// Called for each deleted record.
    open var recordWithIDWasDeletedBlock: ((CKRecord.ID) -> Void)?
    /// Called last, with the token after the reported changes, and the `clientChangeTokenData` of the newest save.
    open var fetchRecordChangesCompletionBlock: ((CKServerChangeToken?, Data?, (any Error)?) -> Void)?

    private var end: CKFetchRecordZoneChangesOperation.ZoneEnd?
    private var failures: [CKRecord.ID: any Error] = [:]

    public override init() {
        super.init()
    }

    /// Makes an operation that fetches one batch of a zone's changes since a token; nil for the beginning.
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

    /// Returns the new form of the operation for one batch of the zone, which passes its results on to this one.
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
