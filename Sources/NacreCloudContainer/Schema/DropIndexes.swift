import NacreCloudAccounts
package import NacreCloudStorage
package import NacreCloudWire

/// The task that removes indexes of a development schema that no query has used for a month. A schema has one such task
/// as long as an index of it may be removed.
package struct DropIndexes: TaskHandler {
    private static func task(in schema: DatabaseID, due: Timestamp) -> TaskRow {
        TaskRow(key: TaskKey(schema, .dropIndexes, "drop"), payload: [], due: due)
    }

    /// Makes the task for the next look at a schema, at least a day from now; nil if it never removes an index.
    package static func task(lookingAt schema: Schema, in database: DatabaseID, from now: Timestamp) -> TaskRow? {
        schema.unusedAtTheEarliest(from: now).map { task(in: database, due: max($0, now + Limits.recordedQueryPauseSeconds)) }
    }

    package init(_: TaskRow) throws {}

    package var payload: [UInt8] { [] }

    package mutating func chunk(_ leased: LeasedTask) async throws -> Bool {
        let database = leased.key.database
        let now = leased.cloud.clock()
        let known = leased.cloud.schemas.memory[database]
        let schema = try await leased.cloud.store.write { transaction -> Ending<Schema> in
            _ = try transaction.lock(in: database)
            let before = try transaction.schema(in: database, knowing: known)
            var after = before
            let recorded = try transaction.entries(in: database, .recordedQuery, after: nil, limit: Limits.recordedQueriesKept).living(at: now)
            if let key = try transaction.databases([database]).first?.key, key.environment == .development {
                after.dropUnused(by: try recorded.map { try RecordedQueryEntry($0).query }, of: key.container, at: now)
            }
            if after.types != before.types { return .commit(try transaction.put(after, over: before, in: database, at: now, finishing: leased.key)) }
            let next = Self.task(lookingAt: after, in: database, from: now)
            try transaction.apply(next.map(WritePlan.init(putting:)) ?? WritePlan(finishing: leased.key))
            return .commit(before)
        }
        leased.cloud.schemas.memory.learn(schema, of: database)
        return false
    }

    package static func remade(_ row: TaskRow, at now: Timestamp, zone: (ZoneAddress) throws -> ZoneRow?) throws -> TaskRow? {
        task(in: row.key.database, due: now)
    }
}
