import Foundation
import NacreCloudWire

/// Fetches the zones of a private or shared database that changed or were deleted since a token. Apple: iOS 10.
///
/// A token that the server no longer knows fails with `changeTokenExpired`: start again without one.
open class CKFetchDatabaseChangesOperation: CKDatabaseOperation, @unchecked Sendable {
    // Sendable: see `CKOperation`; only the callback queue touches `results`.

    /// The token to start from; nil for the beginning.
    open var previousServerChangeToken: CKServerChangeToken?
    /// The most zones of a batch; 0 lets the server decide.
    open var resultsLimit: Int = 0
    /// Whether to continue until there are no more changes.
    open var fetchAllChanges: Bool = true
    /// Called for each zone that is new or has changes.
    open var recordZoneWithIDChangedBlock: ((CKRecordZone.ID) -> Void)?
    /// Called for each deleted zone, unless its reason has a block of its own.
    open var recordZoneWithIDWasDeletedBlock: ((CKRecordZone.ID) -> Void)?
    /// Called instead of `recordZoneWithIDWasDeletedBlock`, if set, when the user removed the app's data.
    open var recordZoneWithIDWasPurgedBlock: ((CKRecordZone.ID) -> Void)?
    /// Called instead of `recordZoneWithIDWasDeletedBlock`, if set, when the user reset their encrypted data.
    open var recordZoneWithIDWasDeletedDueToUserEncryptedDataResetBlock: ((CKRecordZone.ID) -> Void)?
    /// Called between batches, with the token after the changes reported so far.
    open var changeTokenUpdatedBlock: ((CKServerChangeToken) -> Void)?
    /// Called last.
    open var fetchDatabaseChangesResultBlock:
        ((_ operationResult: Result<(serverChangeToken: CKServerChangeToken, moreComing: Bool), any Error>) -> Void)?
    /// The old form; not called if `fetchDatabaseChangesResultBlock` is set. Apple: deprecated in iOS 15.
    open var fetchDatabaseChangesCompletionBlock: ((CKServerChangeToken?, Bool, (any Error)?) -> Void)?

    struct Results: Sendable {
        var modifications: [CKDatabase.DatabaseChange.Modification] = []
        var deletions: [CKDatabase.DatabaseChange.Deletion] = []
        var end: (token: CKServerChangeToken, moreComing: Bool)?
    }

    private var results = Results()
    /// Receives the results; set by the single-call functions.
    var whenDone: (@Sendable (Result<Results, CKError>) -> Void)?

    public required override init() {
        super.init()
    }

    /// Makes an operation that fetches the changes since a token; nil for all changes.
    public convenience init(previousServerChangeToken: CKServerChangeToken?) {
        self.init()
        self.previousServerChangeToken = previousServerChangeToken
    }

    override func run() async throws(CKError) {
        let conversation = conversation
        let limit = resultsLimit > 0 ? resultsLimit : nil
        var token = try previousServerChangeToken?.sent
        while true {
            let page = try await conversation.changes(ChangesDatabaseRequest(syncToken: token, resultsLimit: limit))
            for zone in page.zones { callBack(zone, in: conversation.scope) }
            let reached = CKServerChangeToken(wire: page.syncToken)
            let goesOn = page.moreComing && fetchAllChanges
            guard goesOn else {
                report { self.results.end = (reached, page.moreComing) }
                return
            }
            // A server that repeats its token would cause an endless loop.
            guard page.syncToken != token else { throw .unexpectedAnswer }
            token = page.syncToken
            report { self.changeTokenUpdatedBlock?(reached) }
        }
    }

    private func callBack(_ zone: ChangesDatabaseResponse.ChangedZone, in scope: CKDatabase.Scope) {
        let zoneID = CKRecordZone.ID(wire: zone.zoneID, in: scope)
        let reason = zone.deletion.map(CKDatabase.DatabaseChange.Deletion.Reason.init)
        report { [self] in
            guard let reason else {
                results.modifications.append(CKDatabase.DatabaseChange.Modification(zoneID: zoneID))
                recordZoneWithIDChangedBlock?(zoneID)
                return
            }
            results.deletions.append(CKDatabase.DatabaseChange.Deletion(zoneID: zoneID, reason: reason))
            let special =
                switch reason {
                case .deleted: recordZoneWithIDWasDeletedBlock
                case .purged: recordZoneWithIDWasPurgedBlock
                case .encryptedDataReset: recordZoneWithIDWasDeletedDueToUserEncryptedDataResetBlock
                }
            (special ?? recordZoneWithIDWasDeletedBlock)?(zoneID)
        }
    }

    override func deliver(_ error: CKError?) {
        let end: Result<(serverChangeToken: CKServerChangeToken, moreComing: Bool), any Error>
        if error == nil, let reached = results.end {
            end = .success((serverChangeToken: reached.token, moreComing: reached.moreComing))
        } else {
            end = .failure(error ?? .unexpectedAnswer)
        }
        if let fetchDatabaseChangesResultBlock {
            fetchDatabaseChangesResultBlock(end)
        } else {
            fetchDatabaseChangesCompletionBlock?(end.value?.serverChangeToken, end.value?.moreComing ?? false, end.error)
        }
        whenDone?(error.map(Result.failure) ?? .success(results))
    }
}
