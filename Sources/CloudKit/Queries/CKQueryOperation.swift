import Foundation
import NacreCloudWire

/// Looks for records: a page of those that a query matches, in its order, and a cursor while there may be more.
///
/// Fewer results than the limit do not mean the end; only a missing cursor does. On this server an operation that finds nothing on a page
/// goes on to the next, so no results mean that there are none. A predicate that CloudKit does not take is `invalidArguments`, and names
/// the part. The assets of a record are fetched before it is told; leave them out by `desiredKeys`. Apple: iOS 8.
open class CKQueryOperation: CKDatabaseOperation, @unchecked Sendable {
    // Sendable: as `CKOperation` says; `results` is touched on the callback queue alone.

    /// As many as the server likes to answer.
    public static let maximumResults: Int = 0

    private var ownQuery: CKQuery?

    /// Copied.
    open var query: CKQuery? {
        get { ownQuery?.copy() as? CKQuery }
        set { ownQuery = newValue?.copy() as? CKQuery }
    }

    /// Where to go on; then the query and the zone are the cursor's.
    open var cursor: CKQueryOperation.Cursor?
    /// nil: every zone of a private database, and the one zone of a public one. A shared database needs a zone.
    open var zoneID: CKRecordZone.ID?
    /// How many records to tell; `maximumResults`: as many as the server sends at a time.
    open var resultsLimit: Int = CKQueryOperation.maximumResults
    /// nil: all fields; empty: system fields alone.
    open var desiredKeys: [CKRecord.FieldKey]?
    /// Called once for each result, in the order of the query.
    open var recordMatchedBlock: ((_ recordID: CKRecord.ID, _ recordResult: Result<CKRecord, any Error>) -> Void)?
    /// Called last; with a cursor while there may be more.
    open var queryResultBlock: ((_ operationResult: Result<CKQueryOperation.Cursor?, any Error>) -> Void)?
    /// The old form of `recordMatchedBlock`; not called where that is set. Apple: deprecated in iOS 15.
    open var recordFetchedBlock: ((CKRecord) -> Void)?
    /// The old form of `queryResultBlock`; not called where that is set. Apple: deprecated in iOS 15.
    open var queryCompletionBlock: ((CKQueryOperation.Cursor?, (any Error)?) -> Void)?

    struct Results: Sendable {
        var matches: [(CKRecord.ID, Result<CKRecord, any Error>)] = []
        var cursor: CKQueryOperation.Cursor?
    }

    private var results = Results()
    /// For the single-call functions.
    var whenDone: (@Sendable (Result<Results, CKError>) -> Void)?

    public required override init() {
        super.init()
    }

    /// An operation that asks a query from its beginning.
    public convenience init(query: CKQuery) {
        self.init()
        self.query = query
    }

    /// An operation that goes on where another one ended.
    public convenience init(cursor: CKQueryOperation.Cursor) {
        self.init()
        self.cursor = cursor
    }

    // MARK: Asking

    /// The first request; nil where nothing can match.
    private func request() throws(CKError) -> RecordsQueryRequest? {
        if let cursor { return cursor.request }
        guard let ownQuery else { throw .malformed("A query operation needs a query or a cursor") }
        if let fault = zoneID?.fault { throw CKError(fault) }
        let scope = conversation.scope
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
            let page = try await conversation.query(request)
            try await tell(page.records, conversation)
            for failure in page.failures { tell(failure, in: conversation.scope) }
            // A server that does not move would keep the app here for ever.
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

    // MARK: Telling

    /// The zone as the app named it: the server may spell its owner in another way.
    private func zone(_ shown: ZoneID?, in scope: CKDatabase.Scope) -> CKRecordZone.ID {
        let zone = shown.map { CKRecordZone.ID(wire: $0, in: scope) } ?? .default
        if let zoneID, zoneID.zoneName == zone.zoneName { return zoneID }
        return zone
    }

    /// A record that the server met and could not answer. The old block hears of records alone.
    private func tell(_ failure: RecordsQueryResponse.Failure, in scope: CKDatabase.Scope) {
        let recordID = CKRecord.ID(recordName: failure.recordName, zoneID: zone(failure.zoneID, in: scope))
        let error = CKError(failure.error)
        report { [self] in
            results.matches.append((recordID, .failure(error)))
            recordMatchedBlock?(recordID, .failure(error))
        }
    }

    private func tell(_ records: [Record], _ conversation: Conversation) async throws(CKError) {
        let found = records.map { ($0, CKRecord.ID(recordName: $0.recordName, zoneID: zone($0.zoneID, in: conversation.scope))) }
        try await conversation.withAssets(found) {
            $0
        } tell: { item, record in
            tell(item.1, record ?? .failure(.unexpectedAnswer))
        }
    }

    private func tell(_ recordID: CKRecord.ID, _ record: Result<CKRecord, CKError>) {
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
        // The old block hears of records alone.
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
