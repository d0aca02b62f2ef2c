import Foundation
import NacreCloudWire

/// Searches records: fetches a page of a query's matches, in its order, and a cursor while there may be more.
///
/// Only a missing cursor means the end, not a short page. On this server an operation continues past empty pages, so no
/// results mean that there are none. An unsupported predicate fails with `invalidArguments`, which names the part. The
/// assets of a record are fetched before the record is reported; `desiredKeys` can leave them out. Apple: iOS 8.
open class CKQueryOperation: CKDatabaseOperation, @unchecked Sendable {
    // Sendable: see `CKOperation`; only the callback queue touches `results`.

    /// A `resultsLimit` that lets the server decide.
    public static let maximumResults: Int = 0

    private var ownQuery: CKQuery?

    /// The query; copied.
    open var query: CKQuery? {
        get { ownQuery?.copy() as? CKQuery }
        set { ownQuery = newValue?.copy() as? CKQuery }
    }

    /// The cursor to continue from, whose query and zone are then used.
    open var cursor: CKQueryOperation.Cursor?
    /// The zone; nil for every zone of a private database, and for the only zone of a public one. A shared database
    /// needs a zone.
    open var zoneID: CKRecordZone.ID?
    /// The most records to report; `maximumResults` lets the server decide.
    open var resultsLimit: Int = CKQueryOperation.maximumResults
    /// The fields to fetch; nil for all fields, empty for system fields alone.
    open var desiredKeys: [CKRecord.FieldKey]?
    /// Called once for each result, in the order of the query.
    open var recordMatchedBlock: ((_ recordID: CKRecord.ID, _ recordResult: Result<CKRecord, any Error>) -> Void)?
    /// Called last; with a cursor while there may be more.
    open var queryResultBlock: ((_ operationResult: Result<CKQueryOperation.Cursor?, any Error>) -> Void)?
    /// The old form of `recordMatchedBlock`; not called if that is set. Apple: deprecated in iOS 15.
    open var recordFetchedBlock: ((CKRecord) -> Void)?
    /// The old form of `queryResultBlock`; not called if that is set. Apple: deprecated in iOS 15.
    open var queryCompletionBlock: ((CKQueryOperation.Cursor?, (any Error)?) -> Void)?

    struct Results: Sendable {
        var matches: [(CKRecord.ID, Result<CKRecord, any Error>)] = []
        var cursor: CKQueryOperation.Cursor?
    }

    private var results = Results()
    /// Receives the results; set by the single-call functions.
    var whenDone: (@Sendable (Result<Results, CKError>) -> Void)?

    public required override init() {
        super.init()
    }

    /// Makes an operation that runs a query from its beginning.
    public convenience init(query: CKQuery) {
        self.init()
        self.query = query
    }

    /// Makes an operation that continues where another one ended.
    public convenience init(cursor: CKQueryOperation.Cursor) {
        self.init()
        self.cursor = cursor
    }

    // MARK: Asking

    /// Returns the first request; nil if nothing can match.
    private func request() throws(CKError) -> RecordsQueryRequest? {
        if let cursor { return cursor.request }
        guard let ownQuery else { throw .malformed("A query operation needs a query or a cursor") }
        let scope = conversation.scope
        if let error = zoneID?.error(in: scope) { throw error }
        if scope == .shared && zoneID == nil { throw .malformed("SharedDB does not support Zone Wide queries") }
        let now = Timestamp(secondsSince2001: (journal?.began ?? Date()).timeIntervalSinceReferenceDate)
        guard let query = try ownQuery.wire(now: now) else { return nil }
        return RecordsQueryRequest(query: query, zoneID: zoneID?.wire, zoneWide: scope == .private && zoneID == nil)
    }

    override func run() async throws(CKError) {
        let conversation = conversation
        guard var request = try request() else { return }
        request.resultsLimit = resultsLimit > 0 ? resultsLimit : nil
        request.desiredKeys = desiredKeys
        while true {
            let moment = conversation.seenMoment
            let page = try await conversation.query(request)
            try await callBack(page.records, since: moment, conversation)
            for failure in page.failures { callBack(failure, in: conversation.scope) }
            // A server that repeats its marker would cause an endless loop.
            guard page.continuationMarker == nil || page.continuationMarker != request.continuationMarker else { throw .unexpectedAnswer }
            request.continuationMarker = page.continuationMarker
            if page.continuationMarker == nil { return }
            if !page.records.isEmpty || !page.failures.isEmpty { break }
        }
        request.resultsLimit = nil
        request.desiredKeys = nil
        let cursor = CKQueryOperation.Cursor(request: request)
        report { self.results.cursor = cursor }
    }

    // MARK: Reporting

    /// Returns the zone's ID as the app spells it: the server may spell its owner in another way.
    private func zone(_ shown: ZoneID?, in scope: CKDatabase.Scope) -> CKRecordZone.ID {
        let zone = shown.map { CKRecordZone.ID(wire: $0, in: scope) } ?? .default
        if let zoneID, zoneID.zoneName == zone.zoneName { return zoneID }
        return zone
    }

    /// Reports a matching record that the server could not return. The old block receives only records.
    private func callBack(_ failure: RecordsQueryResponse.Failure, in scope: CKDatabase.Scope) {
        let recordID = CKRecord.ID(recordName: failure.recordName, zoneID: zone(failure.zoneID, in: scope))
        let error = CKError(failure.error)
        report { [self] in
            results.matches.append((recordID, .failure(error)))
            recordMatchedBlock?(recordID, .failure(error))
        }
    }

    private func callBack(_ records: [Record], since moment: Int, _ conversation: Conversation) async throws(CKError) {
        let found = records.map { ($0, CKRecord.ID(recordName: $0.recordName, zoneID: zone($0.zoneID, in: conversation.scope))) }
        try await conversation.withAssets(found, asked: desiredKeys, since: moment) {
            $0
        } callBack: { item, record in
            callBack(item.1, record ?? .failure(.unexpectedAnswer))
        }
    }

    private func callBack(_ recordID: CKRecord.ID, _ record: Result<CKRecord, CKError>) {
        report { [self] in
            let result = record.mapError { $0 as any Error }
            results.matches.append((recordID, result))
            if let recordMatchedBlock {
                recordMatchedBlock(recordID, result)
            } else if let record = result.value {
                recordFetchedBlock?(record)
            }
        }
    }

    override func deliver(_ error: CKError?) {
        // The old block receives only records.
        if error == nil, whenDone == nil, recordMatchedBlock == nil {
            noteUnheard(results.matches.compactMap(\.1.error), "CKQueryOperation: records to fetch")
        }
        let cursor = error == nil ? results.cursor : nil
        if let queryResultBlock {
            queryResultBlock(error.map { .failure($0) } ?? .success(cursor))
        } else {
            queryCompletionBlock?(cursor, error)
        }
        whenDone?(error.map(Result.failure) ?? .success(results))
    }
}
