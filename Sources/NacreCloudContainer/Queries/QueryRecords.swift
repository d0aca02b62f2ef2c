package import NacreCloudAccounts
package import NacreCloudServerWire
package import NacreCloudStorage
package import NacreCloudWire

extension Cloud {
    /// `records/query`: returns a page of the records of one type that pass every filter. It reads one snapshot, and
    /// indexes are as new as the records.
    ///
    /// A record that passes all the time and keeps its position appears on exactly one page, whatever else changes. A
    /// page looks at a limited number of rows. It may hold fewer records than requested, or none; only a page without a
    /// marker is the last one. Damaged records that it met are errors behind the others, and two pages may report the
    /// same one.
    ///
    /// - Parameters:
    ///   - rows: the most rows that a page may look at.
    ///   - bytes: the most bytes that a page may look at, on each of the ways that it tries. Comparisons of filters
    ///     count too. This bounds the cost of a page for every query and all data. It does not measure time: a page of
    ///     the same data is always the same.
    package func queryRecords(
        _ request: RecordsQueryRequest, in target: DatabaseTarget, by caller: Caller, scanning rows: Int = Limits.queryScanRows,
        _ bytes: Int = Limits.queryScanBytes
    ) async throws -> RecordsQueryResponse {
        try await queryAnswer(request, in: target, by: caller, scanning: rows, bytes).answer.whole
    }

    /// Returns a page like `queryRecords`, and the index that an empty page waits for.
    ///
    /// If the index of the order is missing, a page sorts its zones in portions. Each portion is a read of its own, and
    /// a small one if there are many writes. A record that passes all the time and keeps its position is met once,
    /// whatever else changes in between.
    ///
    /// The query has missing indexes made in the background: an index of one field if the page looked at many records
    /// without it, and an index of two fields if it read many more records than it returned. The answer does not fail
    /// with it.
    /// - Returns: `waitsOn`: the database whose signal (`Cloud.committed`) tells that an index is ready. The page is
    ///   empty, because the query's order needs an index under construction. Until the index is there, the next page is
    ///   empty too, and costs little.
    package func queryAnswer(
        _ request: RecordsQueryRequest, in target: DatabaseTarget, by caller: Caller, scanning rows: Int = Limits.queryScanRows,
        _ bytes: Int = Limits.queryScanBytes, portions: Int = Limits.queryPortions
    ) async throws -> (answer: QueryAnswer, waitsOn: DatabaseID?) {
        let first = try await queryPage(request, in: target, by: caller, scanning: rows, bytes)
        let page = first.page
        let missing = page.query.missing
        if !missing.isEmpty, page.rowsRead >= Limits.rowsWithoutIndex || page.work >= Limits.bytesWithoutIndex || page.waits {
            let words = RecordedQuery(request.query, in: target.scope, by: caller).words
            _ = try? await schemas.changeSchema(of: target.container, target.environment) { $0.make(missing, for: words) }
        } else if let pair = page.query.missingPair, page.considered - page.records.count >= Limits.recordsLookedAtInVain {
            let words = RecordedQuery(request.query, in: target.scope, by: caller).words
            _ = try? await schemas.changeSchema(of: target.container, target.environment) { $0.make(pair, for: words) }
        }
        // The index is built in the meantime.
        let last = try await lastPortion(after: first, of: request, in: target, by: caller, scanning: rows, bytes, portions: portions)
        return (try answer(of: last.page, damaged: last.damaged), last.page.waits ? last.schema : nil)
    }

    /// Reads the further portions of a page whose zones are sorted without the missing index.
    /// - Parameter portions: the most portions, the first one included.
    /// - Returns: the last portion, the schema's database, and the damaged records that all portions met.
    func lastPortion(
        after first: (page: QueryPage, schema: DatabaseID), of request: RecordsQueryRequest, in target: DatabaseTarget, by caller: Caller,
        for purpose: QueryShape.Purpose = .search, scanning rows: Int, _ bytes: Int, portions: Int = Limits.queryPortions
    ) async throws -> (page: QueryPage, schema: DatabaseID, damaged: [(record: StoredRecord, zoneID: ZoneID)]) {
        var (page, schema) = first
        var (damaged, left) = (page.damaged, portions)
        while page.goesOn, left > 1 {
            left -= 1
            (page, schema) = try await queryPage(request, in: target, by: caller, for: purpose, scanning: rows, bytes, goingOn: page.sorted)
            damaged += page.damaged
        }
        return (page, schema, damaged)
    }

    /// Returns a page as it is answered.
    /// - Parameter damaged: The damaged records that the page and its earlier portions met.
    func answer(of page: QueryPage, damaged: [(record: StoredRecord, zoneID: ZoneID)]) throws -> QueryAnswer {
        let response = RecordsQueryResponse(
            records: [],
            failures: damaged.map { .init(recordName: $0.record.row.name, zoneID: $0.zoneID, error: .recordDamaged) },
            continuationMarker: try page.cursor.map { try tokens.seal($0.bytes) })
        return QueryAnswer(response: response, page: page.records)
    }

    /// Reads a portion of a page. If concurrent writes end its snapshot, it reads fewer rows.
    package func queryPage(
        _ request: RecordsQueryRequest, in target: DatabaseTarget, by caller: Caller, for purpose: QueryShape.Purpose = .search,
        scanning rows: Int, _ bytes: Int, goingOn sorted: [ZoneAddress: PartlySorted] = [:]
    ) async throws -> (page: QueryPage, schema: DatabaseID) {
        var (rows, bytes) = (rows, bytes)
        while true {
            do {
                return try await wholeQueryPage(request, in: target, by: caller, for: purpose, scanning: rows, bytes, goingOn: sorted)
            } catch let error as ServerError where error == .outpaced && rows > Self.rowsAtOnceLeast {
                (rows, bytes) = (rows / 8, bytes / 8)
            }
        }
    }

    /// The rows of a read that takes less than a millisecond. On this server.
    private static let rowsAtOnceLeast = 8

    private func wholeQueryPage(
        _ request: RecordsQueryRequest, in target: DatabaseTarget, by caller: Caller, for purpose: QueryShape.Purpose, scanning rows: Int,
        _ bytes: Int, goingOn sorted: [ZoneAddress: PartlySorted]
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
            let query = try CheckedQuery(request.query, for: purpose, in: known.schema, of: target.container, by: caller)
            let shown = try database.knowing(known, transaction)
            let named = try shown.zone(request.zoneID ?? .defaultZone)
            let zones =
                try request.asksAllZones && key.scope == .private
                ? transaction.allZones(in: shown.id).map(shown.resolve) : [named.find(transaction)].compactMap(\.self)
            let lacking = zones.reduce(into: Set<IndexID>()) { $0.formUnion(query.indexesLacking(in: $1.row)) }
            guard lacking.isEmpty else { throw LackingIndexes(indexes: lacking) }
            let state = try QueriedState(request, in: zones.map(\.row), of: database.id, transaction)
            if let cursor, try !state.follows(cursor.seen, transaction) { throw ServerError.markerOfLostState }
            // These calls are made by `knowing`.
            let ofRoles = database.readRule.wantsSchema && known.assignmentKey(of: caller) != nil ? 1 : 0
            let calls = (request.asksAllZones ? 3 : 2) + ofRoles + (cursor.map { state.calls(toFollow: $0.seen) } ?? 0)
            // A caller who may see no record of the type searches nothing: the time would tell about hidden records.
            let isBarred = shown.readRule.reach(ofType: query.type.name) == .none
            let page = try QueryPage(
                query, after: cursor, in: isBarred ? [] : zones, digest: digest, seen: state.seen, limit: limit, keys: request.desiredKeys,
                rows: rows, work: bytes, questions: QueryReader.callsOfPage - calls, goingOn: sorted, transaction)
            meter?.add(bytes: page.work)
            meter?.note { $0.index = page.way }
            return (page, known.database)
        }
        for (record, zoneID) in page.damaged { report([record], of: key, zoneID) }
        return (page, schema)
    }

    /// Reads on one snapshot. If indexes lack rows of a zone, it has them built again, and reads without them.
    private func rebuildingIndexes<Value: Sendable>(
        of container: String, _ environment: DatabaseKey.Environment, _ body: @escaping @Sendable (KnownSchema, any ReadTransaction) throws -> Value
    ) async throws -> Value {
        do {
            return try await schemas.read(of: container, environment, body)
        } catch let lacking as LackingIndexes {
            try await schemas.changeSchema(of: container, environment) { $0.rebuild(lacking.indexes) }
        }
        do {
            return try await schemas.read(of: container, environment, body)
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

/// The indexes that lack rows of a zone.
private struct LackingIndexes: Error {
    var indexes: Set<IndexID>
}

extension RecordsQueryRequest {
    /// CloudKit: no zone means the default one, or all zones if the request says so. The public database has one zone.
    var asksAllZones: Bool { zoneID == nil && zoneWide }
}
