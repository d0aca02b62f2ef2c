package import NacreCloudStorage
package import NacreCloudWire

/// The task that writes the rows of new indexes for older records.
///
/// The task walks over all databases of the container in its environment, their zones and their records, in the order
/// of their names. Each chunk is a transaction of its own. Concurrent saves write the rows of their own records, so the
/// part behind the walk stays complete. Existing rows stay: a chunk may run twice, and after a crash it runs again.
///
/// Each chunk locks its zone, so that no save comes between its reads and its writes. The first one writes into the
/// zone's row which indexes exist now. From then on a save in that zone fails unless it knows these indexes.
package struct BuildIndexes: TaskHandler {
    private var build: IndexProgress
    /// The walk for the schema as it was last read; nil: the schema must be read first.
    private var walk: IndexWalk?

    /// Makes the task. Two builds of one schema are one: the later one starts over, with the indexes of both.
    package static func task(in schema: DatabaseID, due: Timestamp) -> TaskRow {
        TaskRow(key: TaskKey(schema, .buildIndexes, "build"), payload: [], due: due)
    }

    package init(_ task: TaskRow) throws {
        build = try IndexProgress(task)
    }

    package var payload: [UInt8] { build.payload }

    package mutating func chunk(_ leased: LeasedTask) async throws -> Bool {
        let walk = try await known(leased)
        if !walk.indexRows.isEmpty {
            let from = build
            guard let (next, isDone) = try await Self.leased.doing({ try await leased.cloud.store.write { try walk.step(from: from, $0) } }) else {
                // The schema has changed since it was read.
                self.walk = nil
                return true
            }
            build = next
            if !isDone { return true }
        }
        try await leased.cloud.finish(build, leased.key)
        return false
    }

    /// The turn of a build: an asker of its own, with as many rows as a chunk, so that no write that a request waits
    /// for shares its group. After a power cut a chunk is done again. The task's row is written after the chunk, and
    /// says how far the build was before.
    private static var leased: Turn {
        var leased = Turn(asker: "indexes", rows: Limits.indexBuildRows)
        leased.isDoneAgain = true
        return leased
    }

    private mutating func known(_ leased: LeasedTask) async throws -> IndexWalk {
        if let walk { return walk }
        let (key, schema) = try await leased.schema()
        build.indexes = build.indexes.isEmpty ? schema.building : build.indexes.intersection(schema.building)
        let made = IndexWalk(
            container: key.container, environment: key.environment, schema: KnownSchema(schema: schema, database: leased.key.database),
            indexes: build.indexes)
        walk = made
        return made
    }

    package static func remade(_ row: TaskRow, at now: Timestamp, zone: (ZoneAddress) throws -> ZoneRow?) throws -> TaskRow? {
        task(in: row.key.database, due: now)
    }
}

extension Cloud {
    /// Lets queries use the indexes. Indexes that came during this build get a build of their own.
    fileprivate func finish(_ build: IndexProgress, _ task: TaskKey) async throws {
        let database = task.database
        let now = clock()
        let known = schemas.memory[database]
        let schema = try await store.write { transaction -> Ending<Schema> in
            _ = try transaction.lock(in: database)
            let before = try transaction.schema(in: database, knowing: known)
            var after = before
            after.finishBuilding(build.indexes)
            return .commit(try transaction.put(after, over: before, in: database, at: now, finishing: task))
        }
        schemas.memory.learn(schema, of: database)
        // Queries may wait for these indexes.
        committed(database)
    }
}

/// The walk of an index build: the rows that each step writes, and the progress from which the next step begins.
struct IndexWalk: Sendable {
    package let container: String
    package let environment: DatabaseKey.Environment
    package let schema: KnownSchema
    /// indexRows[recordType]: the types with indexes to build, with those indexes alone.
    package let indexRows: [String: IndexRows]

    package init(container: String, environment: DatabaseKey.Environment, schema: KnownSchema, indexes: Set<IndexID>) {
        self.container = container
        self.environment = environment
        self.schema = schema
        indexRows = schema.schema.types.compactMapValues { $0.only(indexes).map(IndexRows.init) }
    }

    /// Does one chunk of records.
    /// - Returns: the progress from which the next step begins, and whether the walk is done; nil if the schema has
    ///   changed and the walk must be made anew.
    package func step(from build: IndexProgress, _ transaction: any WriteTransaction) throws -> Ending<(IndexProgress, Bool)?> {
        // This check may see an older state. The number in the zone's row is what keeps an index complete.
        guard try transaction.isCurrent(schema.schema, in: schema.database) else { return .rollback(nil) }
        var next = build
        var plan = WritePlan()
        if let database = build.database, let zone = build.zone {
            let isWhole = try addRows(of: database, zone, after: &next.record, counting: &next.records, to: &plan, transaction)
            if isWhole {
                next.zone = try transaction.zones(in: database, after: zone, limit: 1).first?.name
                next.record = nil
            }
        }
        let isDone = try next.zone == nil && !next.goOn(in: container, environment, transaction)
        guard !plan.isEmpty else { return .rollback((next, isDone)) }
        try transaction.apply(plan)
        return .commit((next, isDone))
    }

    /// Adds the rows of a zone's next records to the plan. Returns whether these are its last records.
    private func addRows(
        of database: DatabaseID, _ name: String, after last: inout String?, counting records: inout Int, to plan: inout WritePlan,
        _ transaction: any WriteTransaction
    ) throws -> Bool {
        guard let row = try transaction.lock(zoneNamed: name, in: database).zone else { return true }
        let zone = row.address
        if row.indexesBelow < schema.schema.nextIndex {
            plan.zoneChanges.append(ZoneChange(zone, indexesBelow: schema.schema.nextIndex))
        }
        let (rows, isWhole) = try transaction.portion(of: zone, after: last, limit: Limits.indexBuildChunk, bytesMax: Limits.pageBytes)
        var count = 0
        for (index, row) in rows.enumerated() {
            last = row.name
            records += 1
            // A damaged record gets its rows when it is saved again.
            if let keys = indexRows[row.type]?.keys(of: StoredRecord(row, in: zone)), !keys.isEmpty {
                plan.indexed.append(IndexPut(zone: zone, name: row.name, indexed: keys))
                count += keys.rowsToWrite
            }
            if count >= Limits.indexBuildRows { return isWhole && index + 1 == rows.count }
        }
        return isWhole
    }
}
