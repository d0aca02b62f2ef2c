import NacreCloudWire
import NacreLocks

extension Cloud {
    /// One step of looking through everything that is kept, and of putting right what can be: a few hundred rows of one table, in one transaction, so that
    /// nobody waits for a check. To check everything, the caller asks again with `next`.
    ///
    /// Tables come in an order in which what is mended is seen by those after it: records before what is derived from them. See
    /// `docs/decisions/a-damaged-record-is-an-item-error.md`.
    package func check(from place: CheckPlace = .start, _ mode: CheckMode, rows: Int = Limits.checkRows) async throws -> CheckSlice {
        guard let row = place.row else {
            return try await orFinding(in: place.table, next: CheckPlace(table: place.table, row: .start(of: place.table))) {
                try await checkTable(place)
            }
        }
        let slice = try await orFinding(in: place.table, next: CheckPlace(table: place.table, row: nil).nextTable) {
            try await checkRows(of: place.table, after: row, mode, limit: rows, in: nil)
        }
        for database in slice.moved { committed(database) }
        return slice
    }

    /// What cannot be read at all is something that was found, and not the end of the check.
    /// - Parameter next: where it goes on then.
    private func orFinding(
        in table: KeptTable, next: @autoclosure () -> CheckPlace?, _ body: () async throws -> CheckSlice
    ) async throws -> CheckSlice {
        var what = "The table cannot be read"
        do {
            return try await stored(body)
        } catch let error as ServerError where error == .internalError {
            what = "The table cannot be read: the server's log says what is wrong"
        }
        let finding = CheckFinding(table: "\(table)", database: "", zone: "", record: "", what: what, outcome: .beyondRepair)
        return CheckSlice(findings: [finding], rows: 0, next: next())
    }

    /// Seconds for which a look at the whole file is believed. On this server: it reads all of it.
    private static let soundSeconds: Double = 600

    /// Whether the engine finds its own structure sound. Where it does not, what is looked up may be something else, or seem to be gone: then a repair
    /// would take sound records for lost, so nothing is written.
    private func isStructureSound() async throws -> Bool {
        let now = clock()
        if let known = soundness.withLock({ $0 }), known.at <= now, now < known.at + Self.soundSeconds { return known.isSound }
        var isSound = true
        do {
            for table in KeptTable.allCases where isSound { isSound = try await store.read { try $0.faults(in: table) }.isEmpty }
        } catch let error as StoreError where error.code == .corrupt {
            isSound = false
        }
        let found = isSound
        soundness.withLock { $0 = (now, found) }
        return isSound
    }

    /// What the engine says of a table as a whole.
    private func checkTable(_ place: CheckPlace) async throws -> CheckSlice {
        let faults = try await store.read { try $0.faults(in: place.table) }
        let findings = faults.map {
            CheckFinding(table: "\(place.table)", database: "", zone: "", record: "", what: $0, outcome: .beyondRepair)
        }
        return CheckSlice(findings: findings, rows: 0, next: CheckPlace(table: place.table, row: .start(of: place.table)))
    }

    /// - Parameter zone: looks at no rows beyond those of this zone.
    func checkRows(
        of table: KeptTable, after place: KeptPlace, _ mode: CheckMode, limit: Int, in zone: ZoneAddress?
    ) async throws -> CheckSlice {
        let ground = try await checkGround(of: table, after: place)
        guard let ground else { return CheckSlice(findings: [], rows: 0, next: CheckPlace(table: table, row: nil).nextTable) }
        let now = clock()
        let step = CheckStep(table: table, place: place, mode: mode, limit: limit, zone: zone, ground: ground, now: now)
        let slice = try await store.read { try step.look($0) }
        guard mode.writes, step.needsMending(slice) else { return slice.slice }
        guard try await isStructureSound() else { return slice.slice.unmended }
        do {
            return try await store.write { .commit(try step.mend($0, miscounted: slice.miscounted)) }
        } catch let error as StoreError where error.code == .corrupt {
            return slice.slice.unmended
        }
    }

    /// Whose rows come next, and in whose registry their schema is; nil: there are no more.
    private func checkGround(of table: KeptTable, after place: KeptPlace) async throws -> CheckStep.Ground? {
        let first = try await store.read { try $0.rows(of: table, after: place, limit: 1).first }
        guard let id = first?.place.database else { return nil }
        // One that cannot be read is told of in its own table.
        let rows = try await store.read { try $0.rows(of: .databases, after: .before(id), limit: 1) }
        guard case .database(let row)? = rows.first?.value, row.id == id, row.key.scope != .registry else {
            return CheckStep.Ground(database: id, schema: nil)
        }
        let part = Registry.Part.schema(container: row.key.container, row.key.environment)
        return CheckStep.Ground(database: id, schema: try await databaseID(part.key))
    }
}

extension CheckSlice {
    /// With nothing of it put right, because that would not do.
    fileprivate var unmended: CheckSlice {
        var slice = self
        for place in slice.findings.indices where slice.findings[place].outcome == .mendable { slice.findings[place].outcome = .beyondRepair }
        return slice
    }
}

/// One step of a check: rows of one table and one database, behind a place.
struct CheckStep: Sendable {
    /// Found before the transaction.
    struct Ground: Sendable {
        var database: DatabaseID
        /// The database of the registry that holds the schema; nil: there is none.
        var schema: DatabaseID?
    }

    struct Look: Sendable {
        var slice: CheckSlice
        var unsealed: Int
        /// Zones whose bytes are not what their records take.
        var miscounted: Set<ZoneAddress>
    }

    var table: KeptTable
    var place: KeptPlace
    var mode: CheckMode
    var limit: Int
    var zone: ZoneAddress?
    var ground: Ground
    var now: Timestamp

    func look(_ transaction: any ReadTransaction) throws -> Look {
        let reading = try read(transaction, counting: nil)
        let findings = reading.problems.map { problem in
            var outcome = problem.outcome ?? .mendable
            if case .none = problem.mending, problem.outcome == nil { outcome = .beyondRepair }
            return finding(problem, reading.database, outcome)
        }
        let slice = CheckSlice(findings: findings, rows: reading.rows.count, next: next(after: reading.rows))
        let miscounted = reading.problems.compactMap { if case .recount(let zone) = $0.mending { zone.address } else { nil } }
        return Look(slice: slice, unsealed: reading.unsealed.count, miscounted: Set(miscounted))
    }

    func needsMending(_ look: Look) -> Bool {
        look.unsealed > 0 || look.slice.findings.contains { $0.outcome != .beyondRepair }
    }

    /// - Parameter miscounted: zones whose records are looked at again for what they take; writes wait for that.
    func mend(_ transaction: any WriteTransaction, miscounted: Set<ZoneAddress>) throws -> CheckSlice {
        let reading = try read(transaction, counting: miscounted)
        var mending = CheckMending(reading.database, schema: reading.schema ?? Schema(), now: now, transaction)
        // What is unsealed comes first: what is mended goes over it.
        mending.seal(reading.unsealed)
        let findings = try reading.problems.map { finding($0, reading.database, try mending.mend($0)) }
        let moved = try mending.apply()
        return CheckSlice(findings: findings, rows: reading.rows.count, next: next(after: reading.rows), moved: moved)
    }

    /// - Parameter counting: zones whose bytes are counted again; nil: all.
    private func read(_ transaction: any ReadTransaction, counting: Set<ZoneAddress>?) throws -> CheckReading {
        let found = try transaction.rows(of: table, after: place, limit: limit)
        let rows = found.prefix { row in
            row.place.database == ground.database && (zone.map { row.place.parts.starts(with: KeptPlace.zone($0).parts) } ?? true)
        }
        let keptDatabase = try transaction.rows(of: .databases, after: .before(ground.database), limit: 1).first
        var database: DatabaseRow?
        var isUnreadable = false
        if keptDatabase?.place.database == ground.database {
            if case .database(let row)? = keptDatabase?.value { database = row } else { isUnreadable = true }
        }
        var reading = CheckReading(
            Array(rows), of: database, isUnreadable: isUnreadable, schema: try schema(transaction), mode: mode, counting: counting, now: now,
            transaction)
        try reading.read()
        return reading
    }

    /// nil where its entries cannot be read, which the check of entries tells. Only rows of indexes and of records depend on it.
    private func schema(_ transaction: any ReadTransaction) throws -> Schema? {
        guard [.records, .index].contains(table), let id = ground.schema else { return Schema() }
        var last: KeptPlace? = .database(id, .number(.min), .text(""))
        repeat {
            let page = try transaction.rows(of: .entries, after: last, limit: Limits.checkRows).prefix { $0.place.database == id }
            if page.contains(where: { if case .unreadable = $0.value { true } else { false } }) { return nil }
            last = page.last?.place
        } while last != nil
        return try transaction.schema(in: id)
    }

    /// Behind the rows that were looked at; where they are all that there are, the next table.
    private func next(after rows: [KeptRow]) -> CheckPlace? {
        guard let last = rows.last else { return CheckPlace(table: table, row: nil).nextTable }
        return CheckPlace(table: table, row: last.place)
    }

    private func finding(_ problem: CheckProblem, _ database: DatabaseRow?, _ outcome: CheckFinding.Outcome) -> CheckFinding {
        CheckFinding(
            table: "\(table)", database: database?.key.text ?? String(ground.database.rawValue), zone: problem.zone, record: problem.record,
            what: problem.what, outcome: outcome)
    }
}

extension KeptPlace {
    /// Before the key of a database in the table of databases.
    fileprivate static func before(_ id: DatabaseID) -> KeptPlace {
        .database(DatabaseID(rawValue: id.rawValue == .min ? .min : id.rawValue - 1))
    }
}
