import Foundation
import NacreCloudWire

/// Fetches zones by ID, or all of a database. A missing zone fails with `zoneNotFound`. Apple: iOS 8.
open class CKFetchRecordZonesOperation: CKDatabaseOperation, @unchecked Sendable {
    // Sendable: see `CKOperation`; only the callback queue touches `results`.

    /// The zones to fetch.
    open var recordZoneIDs: [CKRecordZone.ID]?
    /// Called once for each zone.
    open var perRecordZoneResultBlock: ((_ recordZoneID: CKRecordZone.ID, _ recordZoneResult: Result<CKRecordZone, any Error>) -> Void)?
    /// Called last; success if the request as a whole worked, even if items failed.
    open var fetchRecordZonesResultBlock: ((_ operationResult: Result<Void, any Error>) -> Void)?
    /// The old form; not called if `fetchRecordZonesResultBlock` is set. Failed items make it `partialFailure`. Apple:
    /// deprecated in iOS 15.
    open var fetchRecordZonesCompletionBlock: (([CKRecordZone.ID: CKRecordZone]?, (any Error)?) -> Void)?

    struct Results: Sendable {
        var byID: [CKRecordZone.ID: Result<CKRecordZone, any Error>] = [:]
        /// The zones in the server's order.
        var zones: [CKRecordZone] = []
    }

    final var fetchesAll = false
    private var results = Results()
    /// Receives the results; set by the single-call functions.
    var whenDone: (@Sendable (Result<Results, CKError>) -> Void)?

    public required override init() {
        super.init()
    }

    /// Makes an operation that fetches these zones.
    public convenience init(recordZoneIDs zoneIDs: [CKRecordZone.ID]) {
        self.init()
        recordZoneIDs = zoneIDs
    }

    /// Returns an operation that fetches every zone and ignores `recordZoneIDs`.
    open class func fetchAllRecordZonesOperation() -> Self {
        let operation = Self()
        operation.fetchesAll = true
        return operation
    }

    override func run() async throws(CKError) {
        let conversation = conversation
        if fetchesAll {
            for answer in try await conversation.listZones().zones {
                callBack(CKRecordZone.ID(wire: answer.zoneID, in: conversation.scope), answer, in: conversation.scope)
            }
            return
        }
        var seen: Set<CKRecordZone.ID> = []
        let asked = (recordZoneIDs ?? []).filter { seen.insert($0).inserted }
        for zoneID in asked {
            if let error = zoneID.error(in: conversation.scope) { callBack(zoneID, .failure(error)) }
        }
        var rest = asked.filter { $0.error(in: conversation.scope) == nil }[...]
        while !rest.isEmpty {
            let zoneIDs = rest.prefix(Limits.zonesPerRequest)
            rest = rest.dropFirst(zoneIDs.count)
            let response = try await conversation.lookup(ZonesLookupRequest(zones: zoneIDs.map(\.wire)))
            guard response.zones.count == zoneIDs.count else { throw .unexpectedAnswer }
            for (zoneID, answer) in zip(zoneIDs, response.zones) { callBack(zoneID, answer, in: conversation.scope) }
        }
    }

    private func callBack(_ zoneID: CKRecordZone.ID, _ answer: ZoneResult, in scope: CKDatabase.Scope) {
        switch answer {
        case .zone(let zone): callBack(zoneID, .success(CKRecordZone(wire: zone, id: zoneID, in: scope)))
        case .failure(_, let error): callBack(zoneID, .failure(CKError(error)))
        case .deleted: callBack(zoneID, .failure(.unexpectedAnswer))
        }
    }

    private func callBack(_ zoneID: CKRecordZone.ID, _ result: Result<CKRecordZone, CKError>) {
        report { [self] in
            let result = result.mapError { $0 as any Error }
            results.byID[zoneID] = result
            if let zone = result.value { results.zones.append(zone) }
            perRecordZoneResultBlock?(zoneID, result)
        }
    }

    override func deliver(_ error: CKError?) {
        let isHeard = perRecordZoneResultBlock != nil || whenDone != nil
        if error == nil, !isHeard, fetchRecordZonesResultBlock != nil || fetchRecordZonesCompletionBlock == nil {
            noteUnheard(results.byID.values.compactMap(\.error), "CKFetchRecordZonesOperation: zones to fetch")
        }
        if let fetchRecordZonesResultBlock {
            fetchRecordZonesResultBlock(Result(error))
        } else {
            let failure = error ?? .partial("Failed to fetch some record zones", of: results.byID.compactMapValues(\.error))
            fetchRecordZonesCompletionBlock?(results.byID.compactMapValues(\.value), failure)
        }
        whenDone?(error.map(Result.failure) ?? .success(results))
    }
}

extension ZoneResult {
    var zoneID: ZoneID {
        switch self {
        case .zone(let zone): zone.zoneID
        case .deleted(let zoneID), .failure(let zoneID, _): zoneID
        }
    }
}
