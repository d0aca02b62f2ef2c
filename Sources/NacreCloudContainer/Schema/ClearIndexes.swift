package import NacreCloudStorage
package import NacreCloudWire

/// The task that removes the rows of indexes that a schema no longer has, in all zones of the container's environment.
///
/// Queries ignore these indexes and saves do not write their rows: they only take disk space. A second run finds none.
package struct ClearIndexes: TaskHandler {
    private var progress: IndexProgress
    /// The schema as it was last read, and the database key it belongs to; nil: it must be read first.
    private var known: (key: DatabaseKey, schema: Schema)?

    /// - Parameter version: the version of the schema without the indexes. Each version has a task of its own.
    package static func task(for indexes: Set<IndexID>, since version: Int64, in schema: DatabaseID, due: Timestamp) -> TaskRow {
        TaskRow(key: TaskKey(schema, .clearIndexes, String(version)), payload: IndexProgress(of: indexes).payload, due: due)
    }

    package init(_ task: TaskRow) throws {
        progress = try IndexProgress(task)
    }

    package var payload: [UInt8] { progress.payload }

    package mutating func chunk(_ leased: LeasedTask) async throws -> Bool {
        let place = leased.key.database
        if known == nil { known = try await leased.schema() }
        guard let (key, schema) = known else { return true }
        let from = progress
        guard
            let (next, isDone) = try await leased.cloud.store.write({ transaction -> Ending<(IndexProgress, Bool)?> in
                guard try transaction.isCurrent(schema, in: place) else { return .rollback(nil) }
                var next = from
                // A number is never used twice. If one were, its rows are left alone.
                next.indexes.subtract(schema.indexes)
                var plan = WritePlan()
                if let database = from.database, let zone = from.zone {
                    plan.derivedRemoved = try Self.rows(of: next.indexes, in: database, zone, transaction)
                    if plan.derivedRemoved.count < Limits.indexBuildChunk {
                        next.zone = try transaction.zones(in: database, after: zone, limit: 1).first?.name
                    }
                }
                let isDone = try next.indexes.isEmpty || (next.zone == nil && !next.goOn(in: key.container, key.environment, transaction))
                if isDone { plan.tasksFinished = [leased.key] }
                guard !plan.isEmpty else { return .rollback((next, isDone)) }
                try transaction.apply(plan)
                return .commit((next, isDone))
            })
        else {
            // The schema has changed since it was read.
            known = nil
            return true
        }
        progress = next
        return !isDone
    }

    /// Returns the next rows of the indexes in a zone, under its lock.
    private static func rows(
        of indexes: Set<IndexID>, in database: DatabaseID, _ name: String, _ transaction: any WriteTransaction
    ) throws -> [DerivedRow] {
        guard let zone = try transaction.lock(zoneNamed: name, in: database).zone?.address else { return [] }
        let spans = indexes.sorted { $0.rawValue < $1.rawValue }.map { IndexSpan(index: $0) }
        let hits = try transaction.search(IndexScan(zone: zone, spans: spans, limit: Limits.indexBuildChunk))
        return hits.map { .index(zone, IndexEntry(index: spans[$0.span].index, key: $0.position.key), name: $0.position.name) }
    }

    package static func remade(_ row: TaskRow, at now: Timestamp, zone: (ZoneAddress) throws -> ZoneRow?) throws -> TaskRow? {
        nil
    }
}
