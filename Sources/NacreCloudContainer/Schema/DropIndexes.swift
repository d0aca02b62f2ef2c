import NacreCloudWire

/// The task that takes indexes of a development schema away that no query has used for a month. There is one a schema, as long as an index may go.
struct DropIndexes: TaskHandler {
    static func task(in schema: DatabaseID, due: Timestamp) -> TaskRow {
        TaskRow(key: key(in: schema), payload: [], due: due)
    }

    static func key(in schema: DatabaseID) -> TaskKey { TaskKey(schema, .dropIndexes, "drop") }

    init(_: TaskRow) throws {}

    var payload: [UInt8] { [] }

    mutating func chunk(_ turn: TaskTurn) async throws -> Bool {
        let database = turn.key.database
        let now = turn.cloud.clock()
        let schema = try await turn.cloud.store.write { transaction -> Ending<Schema> in
            _ = try transaction.lock(in: database)
            let before = try transaction.schema(in: database)
            var after = before
            let recorded = try transaction.entries(in: database, .recordedQuery, after: nil, limit: Limits.recordedQueriesKept).living(at: now)
            if let key = try transaction.databases([database]).first?.key, key.environment == .development {
                after.dropUnused(by: try recorded.map { try RecordedQueryEntry($0).query }, of: key.container, at: now)
            }
            if after.types != before.types { return .commit(try transaction.put(after, over: before, in: database, at: now, finishing: turn.key)) }
            let next = after.unusedAtTheEarliest(from: now).map { max($0, now + Limits.recordedQueryPauseSeconds) }
            try transaction.apply(next.map { WritePlan(putting: Self.task(in: database, due: $0)) } ?? WritePlan(finishing: turn.key))
            return .commit(before)
        }
        turn.cloud.registry.schemas.learn(schema, of: database)
        return false
    }

    static func remade(_ row: TaskRow, at now: Timestamp, zone: (ZoneAddress) throws -> ZoneRow?) throws -> TaskRow? {
        task(in: row.key.database, due: now)
    }
}
