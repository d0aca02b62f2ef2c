package import NacreCloudServerWire
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
        try await queryAnswer(request, in: target, by: caller, scanning: rows, bytes).answer.whole
    }

    /// The same, and what an empty page waits for.
    ///
    /// A page in an order whose index is missing sorts its zones in portions, each a read in its turn, and a small one where others write much. A record
    /// that passes throughout and keeps its place is met once, whatever else changes between them.
    ///
    /// An index that the query would go by and that nobody has made is made where a page without it looked at many records, and one of two fields where it
    /// read many more than it answered: in the background, and beside the answer, which does not fail with it.
    /// - Returns: `waitsOn`: the page is empty, because the query's order takes an index that is still to be built. Until it is there, the next page is empty
    ///   too, and costs little. The database is signalled when one is ready (`Cloud.committed`).
    package func queryAnswer(
        _ request: RecordsQueryRequest, in target: DatabaseTarget, by caller: Caller, scanning rows: Int = Limits.queryScanRows,
        _ bytes: Int = Limits.queryScanBytes, portions: Int = Limits.queryPortions
    ) async throws -> (answer: QueryAnswer, waitsOn: DatabaseID?) {
        var (page, schema) = try await queryPage(request, in: target, by: caller, scanning: rows, bytes)
        let missing = page.query.missing
        if !missing.isEmpty, page.rowsRead >= Limits.rowsWithoutIndex || page.work >= Limits.bytesWithoutIndex || page.waits {
            let words = RecordedQuery(request.query, in: target.scope, by: caller).words
            _ = try? await registry.changeSchema(of: target.container, target.environment) { $0.make(missing, for: words) }
        } else if let pair = page.query.missingPair, page.considered - page.records.count >= Limits.recordsLookedAtInVain {
            let words = RecordedQuery(request.query, in: target.scope, by: caller).words
            _ = try? await registry.changeSchema(of: target.container, target.environment) { $0.make(pair, for: words) }
        }
        // The index is built beside it.
        var (damaged, left) = (page.damaged, portions)
        while page.goesOn, left > 1 {
            left -= 1
            (page, schema) = try await queryPage(request, in: target, by: caller, scanning: rows, bytes, goingOn: page.sorted)
            damaged += page.damaged
        }
        let response = RecordsQueryResponse(
            records: [],
            failures: damaged.map { .init(recordName: $0.record.row.name, zoneID: $0.zoneID, error: .recordDamaged) },
            continuationMarker: try page.cursor.map { try tokens.seal($0.bytes) })
        return (QueryAnswer(response: response, page: page.records), page.waits ? schema : nil)
    }

    /// A portion of a page. Where others write so much that its snapshot is in their way, it is made of fewer rows.
    func queryPage(
        _ request: RecordsQueryRequest, in target: DatabaseTarget, by caller: Caller, scanning rows: Int, _ bytes: Int,
        goingOn sorted: [ZoneAddress: PartlySorted] = [:]
    ) async throws -> (page: QueryPage, schema: DatabaseID) {
        var (rows, bytes) = (rows, bytes)
        while true {
            do {
                return try await wholeQueryPage(request, in: target, by: caller, scanning: rows, bytes, goingOn: sorted)
            } catch let error as ServerError where error == .outpaced && rows > Self.rowsAtOnceLeast {
                (rows, bytes) = (rows / 8, bytes / 8)
            }
        }
    }

    /// A read of so few rows takes less than a millisecond. On this server.
    private static let rowsAtOnceLeast = 8

    private func wholeQueryPage(
        _ request: RecordsQueryRequest, in target: DatabaseTarget, by caller: Caller, scanning rows: Int, _ bytes: Int,
        goingOn sorted: [ZoneAddress: PartlySorted]
    ) async throws -> (page: QueryPage, schema: DatabaseID) {
        if request.zoneID == nil, target.scope == .shared, case .success = databaseVerdict(target, for: .read, by: caller) {
            throw ServerError.missing("zoneID")
        }
        let database = try await database(holding: request.zoneID ?? .defaultZone, target, for: .read, by: caller)
        let key = database.key
        _ = try database.zone(request.zoneID ?? .defaultZone)
        let limit = try Self.pageLimit(request.resultsLimit)
        let digest = QueryCursor.digest(of: request, in: database.id, by: caller)
        let cursor = try request.continuationMarker.map { try queryCursor($0, digest: digest) }
        let meter = WorkMeter.current
        let (page, schema) = try await rebuildingIndexes(of: target.container, target.environment) { known, transaction in
            let query = try CheckedQuery(request.query, in: known.schema, of: target.container, by: caller)
            let shown = try database.knowing(known, transaction)
            let named = try shown.zone(request.zoneID ?? .defaultZone)
            let zones =
                try request.asksAllZones && key.scope == .private
                ? transaction.allZones(in: shown.id).map(shown.resolve) : [named.find(transaction)].compactMap(\.self)
            let lacking = zones.reduce(into: Set<IndexID>()) { $0.formUnion(query.indexesLacking(in: $1.row)) }
            guard lacking.isEmpty else { throw LackingIndexes(indexes: lacking) }
            let state = try QueriedState(request, in: zones.map(\.row), of: database.id, transaction)
            if let cursor, try !state.follows(cursor.seen, transaction) { throw ServerError.markerOfLostState }
            // `knowing` asks for them.
            let ofRoles = database.readRule.wantsSchema && known.assignmentKey(of: caller) != nil ? 1 : 0
            let calls = (request.asksAllZones ? 3 : 2) + ofRoles + (cursor.map { state.calls(toFollow: $0.seen) } ?? 0)
            // Nobody hears how long one looked for what is not for them.
            let isBarred = shown.readRule.reach(ofType: query.type.name) == .none
            let page = try QueryPage(
                query, after: cursor, in: isBarred ? [] : zones, digest: digest, seen: state.seen, limit: limit, keys: request.desiredKeys,
                rows: rows, work: bytes, questions: QueryReader.callsOfPage - calls, goingOn: sorted, transaction)
            meter?.add(bytes: page.work)
            return (page, known.database)
        }
        for (record, zoneID) in page.damaged { tell([record], of: key, zoneID) }
        return (page, schema)
    }

    /// Reads on one snapshot. Where that finds a zone in which indexes lack rows, they are built once more, and meanwhile it is read without them.
    private func rebuildingIndexes<Value: Sendable>(
        of container: String, _ environment: DatabaseKey.Environment, _ body: @escaping @Sendable (KnownSchema, any ReadTransaction) throws -> Value
    ) async throws -> Value {
        do {
            return try await registry.read(of: container, environment, body)
        } catch let lacking as LackingIndexes {
            try await registry.changeSchema(of: container, environment) { $0.rebuild(lacking.indexes) }
        }
        do {
            return try await registry.read(of: container, environment, body)
        } catch is LackingIndexes {
            throw ServerError.indexesAreBuilding
        }
    }

    private func queryCursor(_ marker: String, digest: UInt64) throws(ServerError) -> QueryCursor {
        guard let bytes = tokens.open(marker), let cursor = QueryCursor(bytes) else { throw .unknownMarker }
        guard cursor.digest == digest else { throw .markerOfAnotherQuery }
        return cursor
    }
}

/// Indexes of which a zone lacks rows.
private struct LackingIndexes: Error {
    var indexes: Set<IndexID>
}

extension RecordsQueryRequest {
    /// CloudKit: where no zone is named, the default one is meant, or all zones where the request says so. The public database has one zone.
    var asksAllZones: Bool { zoneID == nil && zoneWide }
}
