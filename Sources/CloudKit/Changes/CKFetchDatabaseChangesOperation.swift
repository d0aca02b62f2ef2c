import Foundation
import NacreCloudWire

/// Tells which zones of a private or shared database changed or went since a token. Apple: iOS 10.
///
/// A token that the server no longer follows is `changeTokenExpired`: start again without one.
open class CKFetchDatabaseChangesOperation: CKDatabaseOperation, @unchecked Sendable {
    // Sendable: as `CKOperation` says; `results` is touched on the callback queue alone.

    /// nil: from the beginning.
    open var previousServerChangeToken: CKServerChangeToken?
    /// 0: the server decides.
    open var resultsLimit: Int = 0
    /// Whether to go on until there are no more changes.
    open var fetchAllChanges: Bool = true
    /// Called for each zone that is new, or in which something changed.
    open var recordZoneWithIDChangedBlock: ((CKRecordZone.ID) -> Void)?
    /// Called for each zone that is gone and whose reason has no block of its own.
    open var recordZoneWithIDWasDeletedBlock: ((CKRecordZone.ID) -> Void)?
    /// Called instead of `recordZoneWithIDWasDeletedBlock`, where it is set, when the user removed the app's data.
    open var recordZoneWithIDWasPurgedBlock: ((CKRecordZone.ID) -> Void)?
    /// Called instead of `recordZoneWithIDWasDeletedBlock`, where it is set, when the user reset their encrypted data.
    open var recordZoneWithIDWasDeletedDueToUserEncryptedDataResetBlock: ((CKRecordZone.ID) -> Void)?
    /// Called between batches: up to here everything was told.
    open var changeTokenUpdatedBlock: ((CKServerChangeToken) -> Void)?
    /// Called last.
    open var fetchDatabaseChangesResultBlock:
        ((_ operationResult: Result<(serverChangeToken: CKServerChangeToken, moreComing: Bool), any Error>) -> Void)?
    /// The old form; not called where `fetchDatabaseChangesResultBlock` is set. Apple: deprecated in iOS 15.
    open var fetchDatabaseChangesCompletionBlock: ((CKServerChangeToken?, Bool, (any Error)?) -> Void)?

    struct Results: Sendable {
        var modifications: [CKDatabase.DatabaseChange.Modification] = []
        var deletions: [CKDatabase.DatabaseChange.Deletion] = []
        var end: (token: CKServerChangeToken, moreComing: Bool)?
    }

    private var results = Results()
    /// For the single-call functions.
    var whenDone: (@Sendable (Result<Results, CKError>) -> Void)?

    public required override init() {
        super.init()
    }

    /// An operation that fetches what changed since a token; nil: since the beginning.
    public convenience init(previousServerChangeToken: CKServerChangeToken?) {
        self.init()
        self.previousServerChangeToken = previousServerChangeToken
    }

    override func run() async throws(CKError) {
        let conversation = conversation
        let limit = resultsLimit > 0 ? resultsLimit : nil
        var token = previousServerChangeToken?.wire
        while true {
            let page = try await conversation.changes(ChangesDatabaseRequest(syncToken: token, resultsLimit: limit))
            for zone in page.zones { tell(zone, in: conversation.scope) }
            let reached = CKServerChangeToken(wire: page.syncToken)
            let goesOn = page.moreComing && fetchAllChanges
            guard goesOn else {
                report { self.results.end = (reached, page.moreComing) }
                return
            }
            // A server that does not move would keep us here for ever.
            guard page.syncToken != token else { throw .unexpectedAnswer }
            token = page.syncToken
            report { self.changeTokenUpdatedBlock?(reached) }
        }
    }

    private func tell(_ zone: ChangesDatabaseResponse.ChangedZone, in scope: CKDatabase.Scope) {
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
