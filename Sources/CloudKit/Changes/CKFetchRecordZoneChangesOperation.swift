public import Foundation
import NacreCloudWire

/// Fetches the changes in zones of a private or shared database since a token of each zone. Each changed record comes
/// once, in its current version; each deleted record by ID and type.
///
/// Zones are fetched one after the other; a failed zone does not stop the others. Reported changes and tokens stay
/// valid whatever happens later. The assets of a record are fetched before the record is reported; `desiredKeys` can
/// leave them out. Apple: iOS 10.
open class CKFetchRecordZoneChangesOperation: CKDatabaseOperation, @unchecked Sendable {
    // Sendable: see `CKOperation`; only the callback queue touches `results`.

    /// The zones; nil for those that have a configuration, in the order of their names.
    open var recordZoneIDs: [CKRecordZone.ID]?
    /// The token, the limit and the fields for each zone.
    open var configurationsByRecordZoneID: [CKRecordZone.ID: CKFetchRecordZoneChangesOperation.ZoneConfiguration]?
    /// The old form of `configurationsByRecordZoneID`; used for zones without a configuration. Apple: deprecated in iOS
    /// 12.
    open var optionsByRecordZoneID: [CKRecordZone.ID: CKFetchRecordZoneChangesOperation.ZoneOptions]?
    /// Whether to continue in each zone until there are no more changes.
    open var fetchAllChanges: Bool = true
    /// Called for each changed record in its current version, or with the reason why it could not be fetched.
    open var recordWasChangedBlock: ((_ recordID: CKRecord.ID, _ recordResult: Result<CKRecord, any Error>) -> Void)?
    /// Called for each deleted record, with its former type.
    open var recordWithIDWasDeletedBlock: ((_ recordID: CKRecord.ID, _ recordType: CKRecord.RecordType) -> Void)?
    /// Called between a zone's batches, with the token after the changes reported so far.
    open var recordZoneChangeTokensUpdatedBlock: ((CKRecordZone.ID, CKServerChangeToken?, Data?) -> Void)?
    /// Called once for each zone, after its changes.
    open var recordZoneFetchResultBlock:
        (
            (
                _ recordZoneID: CKRecordZone.ID,
                _ fetchChangesResult: Result<(serverChangeToken: CKServerChangeToken, clientChangeTokenData: Data?, moreComing: Bool), any Error>
            ) -> Void
        )?
    /// Called last; success if the request as a whole worked, even if zones failed.
    open var fetchRecordZoneChangesResultBlock: ((_ operationResult: Result<Void, any Error>) -> Void)?
    /// The old form of `recordWasChangedBlock`; not called if that is set. Apple: deprecated in iOS 15.
    open var recordChangedBlock: ((CKRecord) -> Void)?
    /// The old form of `recordZoneFetchResultBlock`; not called if that is set. Apple: deprecated in iOS 15.
    open var recordZoneFetchCompletionBlock: ((CKRecordZone.ID, CKServerChangeToken?, Data?, Bool, (any Error)?) -> Void)?
    /// The old form of `fetchRecordZoneChangesResultBlock`; not called if that is set. Failed zones make it
    /// `partialFailure`. Apple: deprecated in iOS 15.
    open var fetchRecordZoneChangesCompletionBlock: (((any Error)?) -> Void)?

    typealias ZoneEnd = (serverChangeToken: CKServerChangeToken, clientChangeTokenData: Data?, moreComing: Bool)

    struct Results: Sendable {
        var modifications: [CKRecord.ID: Result<CKDatabase.RecordZoneChange.Modification, any Error>] = [:]
        var deletions: [CKDatabase.RecordZoneChange.Deletion] = []
        var ends: [CKRecordZone.ID: Result<ZoneEnd, any Error>] = [:]

        /// The errors by record ID and by zone ID.
        var failures: [AnyHashable: any Error] {
            var failures: [AnyHashable: any Error] = [:]
            for (recordID, result) in modifications { failures[recordID] = result.error }
            for (zoneID, result) in ends { failures[zoneID] = result.error }
            return failures
        }
    }

    private var results = Results()
    /// Whether to fetch only the token with which a zone begins or continues. No records are reported then.
    var wantsTokenOnly = false
    /// Receives the results; set by the single-call functions.
    var whenDone: (@Sendable (Result<Results, CKError>) -> Void)?

    public required override init() {
        super.init()
    }

    /// Makes an operation that fetches the changes of these zones.
    public convenience init(
        recordZoneIDs: [CKRecordZone.ID]? = nil,
        configurationsByRecordZoneID: [CKRecordZone.ID: CKFetchRecordZoneChangesOperation.ZoneConfiguration]? = nil
    ) {
        self.init()
        self.recordZoneIDs = recordZoneIDs
        self.configurationsByRecordZoneID = configurationsByRecordZoneID
    }

    /// Makes an operation with the old form of configurations. Apple: deprecated in iOS 12.
    @_disfavoredOverload
    public convenience init(
        recordZoneIDs: [CKRecordZone.ID], optionsByRecordZoneID: [CKRecordZone.ID: CKFetchRecordZoneChangesOperation.ZoneOptions]? = nil
    ) {
        self.init()
        self.recordZoneIDs = recordZoneIDs
        self.optionsByRecordZoneID = optionsByRecordZoneID
    }

    // MARK: Asking

    /// Returns the item of one zone in a request, as the app configured it.
    private func item(_ zoneID: CKRecordZone.ID) throws(CKError) -> ChangesZoneRequest.Item {
        let configuration = configurationsByRecordZoneID?[zoneID]
        let options = optionsByRecordZoneID?[zoneID]
        let limit = configuration?.resultsLimit ?? options?.resultsLimit ?? 0
        return ChangesZoneRequest.Item(
            zoneID: zoneID.wire, syncToken: try (configuration?.previousServerChangeToken ?? options?.previousServerChangeToken)?.sent,
            resultsLimit: limit > 0 ? limit : nil, desiredKeys: configuration == nil ? options?.desiredKeys : configuration?.desiredKeys)
    }

    override func run() async throws(CKError) {
        let conversation = conversation
        let configured = Set((configurationsByRecordZoneID ?? [:]).keys).union((optionsByRecordZoneID ?? [:]).keys)
        var seen: Set<CKRecordZone.ID> = []
        let zoneIDs = (recordZoneIDs ?? configured.sorted { $0.zoneName < $1.zoneName }).filter { seen.insert($0).inserted }
        for zoneID in zoneIDs {
            if let error = zoneID.error(in: conversation.scope) { callBack(zoneID, .failure(error)) }
        }
        try await conversation.eachZone(zoneIDs.filter { $0.error(in: conversation.scope) == nil }) { zoneID throws(CKError) in
            try await fetch(zoneID, over: conversation)
        } failed: { zoneID, error in
            callBack(zoneID, .failure(error))
        }
    }

    private func fetch(_ zoneID: CKRecordZone.ID, over conversation: Conversation) async throws(CKError) {
        var item = try item(zoneID)
        var answer = await conversation.changes(in: item, wantsTokenOnly: wantsTokenOnly)
        while true {
            let found = try answer.get()
            // The next page is requested while this one is decoded and reported. Only one page is fetched ahead,
            // however slow the app is.
            let asked = item
            let hint = fetchAllChanges ? found.tokenOfMore : nil
            async let early = conversation.changes(in: asked, after: hint == asked.syncToken ? nil : hint)
            let page = try found.page()
            let token = CKServerChangeToken(wire: page.syncToken)
            let data = page.clientChangeToken.map { Data($0) }
            // No token inside a commit is safe to keep. A commit is therefore fetched to its end, even if one batch was
            // requested.
            guard page.moreComing, fetchAllChanges || page.isMidCommit else {
                try await callBack(page.records, of: zoneID, asked: item.desiredKeys, since: found.moment)
                callBack(zoneID, .success((token, data, page.moreComing)))
                return
            }
            // A server that repeats its token would cause an endless loop.
            guard page.syncToken != asked.syncToken else {
                try await callBack(page.records, of: zoneID, asked: item.desiredKeys, since: found.moment)
                throw .unexpectedAnswer
            }
            async let late = conversation.changes(in: asked, after: hint == page.syncToken ? nil : page.syncToken)
            try await callBack(page.records, of: zoneID, asked: item.desiredKeys, since: found.moment)
            if fetchAllChanges && !page.isMidCommit {
                report { self.recordZoneChangeTokensUpdatedBlock?(zoneID, token, data) }
            }
            await reported()
            item.syncToken = page.syncToken
            if let next = await late { answer = next } else if let next = await early { answer = next }
        }
    }

    // MARK: Reporting

    private func callBack(
        _ changes: [RecordResult], of zoneID: CKRecordZone.ID, asked: [String]?, since moment: Int
    ) async throws(CKError) {
        try await conversation.withAssets(changes, asked: asked, since: moment) { change in
            guard case .record(let record) = change else { return nil }
            return (record, CKRecord.ID(recordName: record.recordName, zoneID: zoneID))
        } callBack: { change, record in
            callBack(change, record, of: zoneID)
        }
    }

    private func callBack(_ change: RecordResult, _ found: Result<CKRecord, CKError>?, of zoneID: CKRecordZone.ID) {
        switch change {
        case .record(let record):
            callBack(CKRecord.ID(recordName: record.recordName, zoneID: zoneID), found ?? .failure(.unexpectedAnswer))
        case .deleted(let tombstone):
            let recordID = CKRecord.ID(recordName: tombstone.recordName, zoneID: zoneID)
            conversation.forgetVersion(of: recordID)
            let deletion = CKDatabase.RecordZoneChange.Deletion(recordID: recordID, recordType: tombstone.recordType ?? "")
            report { [self] in
                if whenDone != nil { results.deletions.append(deletion) }
                recordWithIDWasDeletedBlock?(recordID, deletion.recordType)
            }
        case .failure(let recordName, let error):
            callBack(CKRecord.ID(recordName: recordName ?? "", zoneID: zoneID), .failure(CKError(error)))
        }
    }

    private func callBack(_ recordID: CKRecord.ID, _ result: Result<CKRecord, CKError>) {
        report { [self] in
            let result = result.mapError { $0 as any Error }
            // Successful records are not collected for an app with a block for each record.
            if whenDone != nil || result.error != nil {
                results.modifications[recordID] = result.map(CKDatabase.RecordZoneChange.Modification.init)
            }
            if let recordWasChangedBlock {
                recordWasChangedBlock(recordID, result)
            } else if let record = result.value {
                recordChangedBlock?(record)
            }
        }
    }

    private func callBack(_ zoneID: CKRecordZone.ID, _ result: Result<ZoneEnd, CKError>) {
        report { [self] in
            let result = result.mapError { $0 as any Error }
            results.ends[zoneID] = result
            if let recordZoneFetchResultBlock {
                recordZoneFetchResultBlock(zoneID, result)
            } else {
                let end = result.value
                recordZoneFetchCompletionBlock?(
                    zoneID, end?.serverChangeToken, end?.clientChangeTokenData, end?.moreComing ?? false, result.error)
            }
        }
    }

    override func deliver(_ error: CKError?) {
        if error == nil, whenDone == nil, fetchRecordZoneChangesResultBlock != nil || fetchRecordZoneChangesCompletionBlock == nil {
            noteUnheard()
        }
        if let fetchRecordZoneChangesResultBlock {
            fetchRecordZoneChangesResultBlock(Result(error))
        } else {
            fetchRecordZoneChangesCompletionBlock?(error ?? .partial("Failed to fetch some record zone changes", of: results.failures))
        }
        whenDone?(error.map(Result.failure) ?? .success(results))
    }

    /// Logs errors that no block of the app receives: the result block reports success, and the old record block gets
    /// only records.
    private func noteUnheard() {
        if recordWasChangedBlock == nil {
            noteUnheard(results.modifications.values.compactMap(\.error), "CKFetchRecordZoneChangesOperation: changed records to fetch")
        }
        if recordZoneFetchResultBlock == nil && recordZoneFetchCompletionBlock == nil {
            noteUnheard(results.ends.values.compactMap(\.error), "CKFetchRecordZoneChangesOperation: zones to fetch")
        }
    }
}
