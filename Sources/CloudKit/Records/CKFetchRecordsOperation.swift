import Foundation
import NacreCloudWire

/// Fetches records by ID, from any number of zones of one database.
///
/// Duplicate IDs are fetched once. A missing record fails with `unknownItem`. More than 400 IDs fail with
/// `limitExceeded`: split them and try again. On this server a request has at most 200 records of a zone, or fewer
/// large ones; the operation splits requests by itself.
///
/// The assets of a record are fetched before the record is reported, four at a time; `desiredKeys` can leave them out.
/// Apple: iOS 8.
open class CKFetchRecordsOperation: CKDatabaseOperation, @unchecked Sendable {
    // Sendable: see `CKOperation`; only the callback queue touches `results`.

    /// The records to fetch.
    open var recordIDs: [CKRecord.ID]?
    /// The fields to fetch; nil for all fields, empty for system fields alone.
    open var desiredKeys: [CKRecord.FieldKey]?
    /// Called with 1.0 for each record that was fetched, and before that with the fraction of its assets' bytes
    /// received.
    open var perRecordProgressBlock: ((CKRecord.ID, Double) -> Void)?
    /// Called once for each ID.
    open var perRecordResultBlock: ((_ recordID: CKRecord.ID, _ recordResult: Result<CKRecord, any Error>) -> Void)?
    /// Called last; success if the request as a whole worked, even if items failed.
    open var fetchRecordsResultBlock: ((_ operationResult: Result<Void, any Error>) -> Void)?
    /// The old form of `perRecordResultBlock`; not called if that is set. Apple: deprecated in iOS 15.
    open var perRecordCompletionBlock: ((CKRecord?, CKRecord.ID?, (any Error)?) -> Void)?
    /// The old form of `fetchRecordsResultBlock`; not called if that is set. Failed items make it `partialFailure`.
    /// Apple: deprecated in iOS 15.
    open var fetchRecordsCompletionBlock: (([CKRecord.ID: CKRecord]?, (any Error)?) -> Void)?

    typealias Results = [CKRecord.ID: Result<CKRecord, any Error>]

    final var fetchesCurrentUser = false
    private var results: Results = [:]
    /// Receives the results; set by the single-call functions.
    var whenDone: (@Sendable (Result<Results, CKError>) -> Void)?

    public required override init() {
        super.init()
    }

    /// Makes an operation that fetches these records, from any zones of the database.
    public convenience init(recordIDs: [CKRecord.ID]) {
        self.init()
        self.recordIDs = recordIDs
    }

    /// Returns an operation that fetches the signed-in user's record and ignores `recordIDs`. It fails with
    /// `notAuthenticated` without an account.
    open class func fetchCurrentUserRecordOperation() -> Self {
        let operation = Self()
        operation.fetchesCurrentUser = true
        return operation
    }

    private struct Batch {
        var zoneID: CKRecordZone.ID
        var recordIDs: [CKRecord.ID]
    }

    /// Returns one request for each zone, or for each 200 records of one. CloudKit Web Services: 200 records a
    /// response, with any credential.
    private func batches(_ recordIDs: [CKRecord.ID]) -> [Batch] {
        var batches: [Batch] = []
        var open: [CKRecordZone.ID: Int] = [:]
        for recordID in recordIDs {
            if let place = open[recordID.zoneID], batches[place].recordIDs.count < Limits.resultsPerPage {
                batches[place].recordIDs.append(recordID)
            } else {
                open[recordID.zoneID] = batches.count
                batches.append(Batch(zoneID: recordID.zoneID, recordIDs: [recordID]))
            }
        }
        return batches
    }

    override func run() async throws(CKError) {
        let count = recordIDs?.count ?? 0
        guard count <= Limits.itemsPerNativeRequest else { throw .tooManyItems(count: count, maximum: Limits.itemsPerNativeRequest) }
        if count == 0 { try conversation.checkAccess() }
        var seen: Set<CKRecord.ID> = []
        let asked = fetchesCurrentUser ? [try await currentUser()] : (recordIDs ?? []).filter { seen.insert($0).inserted }
        let scope = conversation.scope
        for recordID in asked {
            if let error = recordID.error(in: scope) { callBack(recordID, .failure(error)) }
        }
        let desiredKeys = desiredKeys
        try await conversation.eachZone(batches(asked.filter { $0.error(in: scope) == nil })) { batch throws(CKError) in
            let moment = conversation.seenMoment
            let answers = try await conversation.lookup(batch.recordIDs[...], in: batch.zoneID, desiredKeys)
            try await callBack(Array(zip(batch.recordIDs, answers)), since: moment)
        } failed: { batch, error in
            for recordID in batch.recordIDs { callBack(recordID, .failure(error)) }
        }
    }

    private func callBack(_ answers: [(CKRecord.ID, RecordResult)], since moment: Int) async throws(CKError) {
        try await conversation.withAssets(answers, asked: desiredKeys, since: moment) { recordID, answer in
            guard case .record(let record) = answer, record.recordName == recordID.recordName else { return nil }
            return (record, recordID)
        } progress: { [self] recordID, fraction in
            report { self.perRecordProgressBlock?(recordID, fraction) }
        } callBack: { answer, found in
            if let found {
                callBack(answer.0, found)
            } else if case .failure(_, let error) = answer.1 {
                if error.nativeCode == NativeErrorCode.unknownItem.rawValue { conversation.forgetVersion(of: answer.0) }
                callBack(answer.0, .failure(CKError(error)))
            } else {
                callBack(answer.0, .failure(.unexpectedAnswer))
            }
        }
    }

    private func currentUser() async throws(CKError) -> CKRecord.ID {
        let conversation = conversation
        guard try conversation.line.settings().accountToken != nil else { throw .needsAccount }
        return CKRecord.ID(recordName: try await conversation.caller().userRecordName)
    }

    private func callBack(_ recordID: CKRecord.ID, _ result: Result<CKRecord, CKError>) {
        report { [self] in
            let result = result.mapError { $0 as any Error }
            results[recordID] = result
            if result.error == nil { perRecordProgressBlock?(recordID, 1) }
            if let perRecordResultBlock {
                perRecordResultBlock(recordID, result)
            } else {
                perRecordCompletionBlock?(result.value, recordID, result.error)
            }
        }
    }

    override func deliver(_ error: CKError?) {
        let isHeard = perRecordResultBlock != nil || perRecordCompletionBlock != nil || whenDone != nil
        if error == nil, !isHeard, fetchRecordsResultBlock != nil || fetchRecordsCompletionBlock == nil {
            noteUnheard(results.values.compactMap(\.error), "CKFetchRecordsOperation: records to fetch")
        }
        if let fetchRecordsResultBlock {
            fetchRecordsResultBlock(Result(error))
        } else {
            let failure = error ?? .partial("Failed to fetch some records", of: results.compactMapValues(\.error))
            fetchRecordsCompletionBlock?(results.compactMapValues(\.value), failure)
        }
        whenDone?(error.map(Result.failure) ?? .success(results))
    }
}

extension Conversation {
    /// Returns the results for records of one zone, in their order. A request whose answer would be too large is split
    /// in halves.
    fileprivate func lookup(
        _ recordIDs: ArraySlice<CKRecord.ID>, in zoneID: CKRecordZone.ID, _ desiredKeys: [String]?
    ) async throws(CKError) -> [RecordResult] {
        do throws(CKError) {
            let items = recordIDs.map { RecordsLookupRequest.Item(recordName: $0.recordName) }
            let response = try await lookup(RecordsLookupRequest(records: items, zoneID: zoneID.wire, desiredKeys: desiredKeys))
            guard response.records.count == recordIDs.count else { throw .unexpectedAnswer }
            return response.records
        } catch {
            guard error.code == .limitExceeded, recordIDs.count > 1 else { throw error }
            let half = recordIDs.startIndex + recordIDs.count / 2
            let first = try await lookup(recordIDs[..<half], in: zoneID, desiredKeys)
            return try await first + lookup(recordIDs[half...], in: zoneID, desiredKeys)
        }
    }
}
