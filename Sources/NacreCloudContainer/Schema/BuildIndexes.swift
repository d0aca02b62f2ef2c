import NacreCloudWire

/// The task that gives older records their rows in new indexes.
///
/// It goes over all databases of the container in its environment, their zones and their records, in the order of their names, each chunk in
/// a transaction of its own. Saves meanwhile keep the rows of what they save, so whatever it has passed stays whole. Rows that are there
/// already stay: a chunk may be done twice, and what a crash forgets is done again.
///
/// Each chunk locks its zone, so that no save stands between what it reads and what it puts; the first one writes into the zone's row which
/// indexes there are now, and from then on a save there fails that does not know them.
struct BuildIndexes: TaskHandler {
    private var build: IndexProgress
    /// By the schema as it was last read; nil: it is still to be read.
    private var walk: IndexWalk?

    /// Two builds of one schema are one: the later one starts over, with the indexes of both.
    static func task(in schema: DatabaseID, due: Timestamp) -> TaskRow {
        TaskRow(key: TaskKey(schema, .buildIndexes, "build"), payload: [], due: due)
    }

    init(_ task: TaskRow) throws {
        build = try IndexProgress(task)
    }

    var payload: [UInt8] { build.payload }

    mutating func chunk(_ turn: TaskTurn) async throws -> Bool {
        let walk = try await known(turn)
        if !walk.indexRows.isEmpty {
            let from = build
            guard let (next, isDone) = try await Self.turn.doing({ try await turn.cloud.store.write { try walk.step(from: from, $0) } }) else {
                // The schema has changed since.
                self.walk = nil
                return true
            }
            build = next
            if !isDone { return true }
        }
        try await turn.cloud.finish(build, turn.key)
        return false
    }

    /// An asker of its own, with as many rows as it puts: it is in no group with writes that others wait for. What a power cut takes back is done again,
    /// because the row of the task says how far it was before, and is written behind it.
    private static var turn: Turn {
        var turn = Turn(asker: "indexes", rows: Limits.indexBuildRows)
        turn.isDoneAgain = true
        return turn
    }

    private mutating func known(_ turn: TaskTurn) async throws -> IndexWalk {
        if let walk { return walk }
        let (key, schema) = try await turn.schema()
        build.indexes = build.indexes.isEmpty ? schema.building : build.indexes.intersection(schema.building)
        let made = IndexWalk(
            container: key.container, environment: key.environment, schema: KnownSchema(schema: schema, database: turn.key.database),
            indexes: build.indexes)
        walk = made
        return made
    }

    static func remade(_ row: TaskRow, at now: Timestamp, zone: (ZoneAddress) throws -> ZoneRow?) throws -> TaskRow? {
        task(in: row.key.database, due: now)
    }
}

extension Cloud {
    /// Queries may use the indexes. Those that came while these were built have a build of their own.
    fileprivate func finish(_ build: IndexProgress, _ task: TaskKey) async throws {
        let database = task.database
        let now = clock()
        let known = registry.schemas[database]
        let schema = try await store.write { transaction -> Ending<Schema> in
            _ = try transaction.lock(in: database)
            let before = try transaction.schema(in: database, knowing: known)
            var after = before
            after.finishBuilding(build.indexes)
            return .commit(try transaction.put(after, over: before, in: database, at: now, finishing: task))
        }
        registry.schemas.learn(schema, of: database)
        // Queries may wait for them.
        committed(database)
    }
}

/// The walk of an index build: what each step puts, and where the next one begins.
struct IndexWalk: Sendable {
    let container: String
    let environment: DatabaseKey.Environment
    let schema: KnownSchema
    /// Of the types that have indexes to build, the rows in those alone.
    let indexRows: [String: IndexRows]

    init(container: String, environment: DatabaseKey.Environment, schema: KnownSchema, indexes: Set<IndexID>) {
        self.container = container
        self.environment = environment
        self.schema = schema
        indexRows = schema.schema.types.compactMapValues { $0.only(indexes).map(IndexRows.init) }
    }

    /// Does one chunk of records.
    /// - Returns: where the next step begins, and whether there is none; nil when the schema has changed and the walk must be made anew.
    func step(from build: IndexProgress, _ transaction: any WriteTransaction) throws -> Ending<(IndexProgress, Bool)?> {
        // That it is current may be older news; what keeps an index whole is the number in the zone's row.
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

    /// Adds the rows of a zone's next records. Returns whether they are its last.
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
        for (place, row) in rows.enumerated() {
            last = row.name
            records += 1
            // A damaged record gets its rows when it is saved again.
            if let keys = indexRows[row.type]?.keys(of: StoredRecord(row, in: zone)), !keys.isEmpty {
                plan.indexed.append(IndexPut(zone: zone, name: row.name, indexed: keys))
                count += keys.rowsToWrite
            }
            if count >= Limits.indexBuildRows { return isWhole && place + 1 == rows.count }
        }
        return isWhole
    }
}
