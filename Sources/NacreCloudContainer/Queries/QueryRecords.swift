package import NacreCloudWire

extension Cloud {
    /// `records/query`: a page of the records of one type that pass every filter. One snapshot; indexes are as new as the records.
    ///
    /// A record that passes throughout and keeps its place in the order appears on exactly one page, whatever else changes meanwhile. A page looks
    /// at a limited number of rows: it may hold fewer records than asked for, or none, and is the last one only if it has no marker. Damaged
    /// records that it met on its way are errors behind the others; two pages may tell of the same one.
    ///
    /// - Parameters:
    ///   - rows: that a page may look at.
    ///   - bytes: that a page may look at, on each of the ways that it tries; what filters compare counts too, so that a page costs so much and no
    ///     more, whatever is asked and whatever the records hold. No time is measured: a page of the same data is always the same.
    package func queryRecords(
        _ request: RecordsQueryRequest, in target: DatabaseTarget, by caller: Caller, scanning rows: Int = Limits.queryScanRows,
        _ bytes: Int = Limits.queryScanBytes
    ) async throws -> RecordsQueryResponse {
        let page = try await queryPage(request, in: target, by: caller, scanning: rows, bytes)
        return RecordsQueryResponse(
            records: page.records,
            failures: page.damaged.map { .init(recordName: $0.record.row.name, zoneID: $0.zoneID, error: .recordDamaged) },
            continuationMarker: try page.cursor.map { try tokens.seal($0.bytes) })
    }

    func queryPage(
        _ request: RecordsQueryRequest, in target: DatabaseTarget, by caller: Caller, scanning rows: Int, _ bytes: Int
    ) async throws -> QueryPage {
        let key = try databaseVerdict(target, for: .read, by: caller).get()
        if let zoneID = request.zoneID, let fault = ownerVerdict(zoneID, in: key, by: caller) { throw fault }
        if request.zoneID == nil, key.scope == .shared { throw ServerError.missing("zoneID") }
        let limit = try Self.pageLimit(request.resultsLimit)
        let database = try await databaseID(key)
        let digest = QueryCursor.digest(of: request, in: database, by: caller)
        let cursor = try request.continuationMarker.map { try queryCursor($0, digest: digest) }
        let page = try await read(of: target.container, target.environment) { schema, transaction in
            let query = try CheckedQuery(request.query, in: schema, of: target.container, by: caller)
            let zones = try Self.zones(of: request, in: database, key, transaction)
            let state = try QueriedState(request, in: zones, of: database, transaction)
            if let cursor, try !state.follows(cursor.seen, transaction) { throw ServerError.markerOfLostState }
            return try QueryPage(
                query, after: cursor, in: zones, digest: digest, seen: state.seen, limit: limit, keys: request.desiredKeys,
                zoneID: key.zoneID, rows: rows, work: bytes, QueryReader(transaction))
        }
        for (record, zoneID) in page.damaged { tell([record], of: key, zoneID) }
        return page
    }

    private func queryCursor(_ marker: String, digest: UInt64) throws(ServerError) -> QueryCursor {
        guard let bytes = tokens.open(marker), let cursor = QueryCursor(bytes) else { throw .unknownMarker }
        guard cursor.digest == digest else { throw .markerOfAnotherQuery }
        return cursor
    }

    /// CloudKit: the zone that is named; else all zones, where the request says so, or the default zone. The public database has no other.
    private static func zones(
        of request: RecordsQueryRequest, in database: DatabaseID, _ key: DatabaseKey, _ transaction: any ReadTransaction
    ) throws -> [ZoneRow] {
        if request.asksAllZones, key.scope == .private {
            return try transaction.allZones(in: database)
        }
        let zoneID = request.zoneID ?? .defaultZone
        let zones = try transaction.zones(in: database, named: [zoneID.zoneName])
        guard !zones.isEmpty || (zoneID.isDefault && key.scope != .shared) else { throw ServerError.zoneNotFound(zoneID) }
        return zones
    }
}

extension RecordsQueryRequest {
    /// Of the private database; the public one has one zone.
    var asksAllZones: Bool { zoneID == nil && zoneWide }
}
