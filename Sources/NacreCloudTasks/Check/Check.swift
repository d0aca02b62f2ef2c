import NacreCloudAccounts
import NacreCloudContainer
package import NacreCloudStorage
import NacreCloudWire
import NacreLocks

extension Cloud {
    /// Checks some rows of one table, in one read, and repairs them if `mode` says so. A step is short, so that no
    /// request waits for a check. To check everything, call it again with `next` of the result.
    ///
    /// Tables come in an order in which later ones see the repairs of earlier ones: records before the rows derived
    /// from them. See `docs/decisions/records-damage.md`.
    package func check(from place: CheckCursor = .start, _ mode: CheckMode, rows: Int? = nil) async throws -> CheckSlice {
        guard let row = place.row else {
            return try await orFinding(in: place.table, next: CheckCursor(table: place.table, row: .start(of: place.table))) {
                try await checkTable(place)
            }
        }
        let slice = try await orFinding(in: place.table, next: CheckCursor(table: place.table, row: nil).nextTable) {
            try await checkRows(of: place.table, after: row, mode, limit: rows ?? mode.rows, in: nil)
        }
        for database in slice.moved { committed(database) }
        return slice
    }

    /// Turns an error of reading a table into a finding, so that the check goes on.
    /// - Parameter next: where the check goes on after that finding.
    private func orFinding(
        in table: KeptTable, next: @autoclosure () -> CheckCursor?, _ body: () async throws -> CheckSlice
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

    /// Seconds for which the result of checking the whole file is reused. On this server: 600; it reads all of it.
    private static let soundSeconds: Double = 600

    /// Whether the engine finds its own structure sound. In a broken structure a lookup may return the wrong row or
    /// none. A repair would take sound records for lost, so nothing is written.
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

    /// Returns the engine's findings about a table as a whole.
    private func checkTable(_ place: CheckCursor) async throws -> CheckSlice {
        let faults = try await store.read { try $0.faults(in: place.table) }
        let findings = faults.map {
            CheckFinding(table: "\(place.table)", database: "", zone: "", record: "", what: $0, outcome: .beyondRepair)
        }
        return CheckSlice(findings: findings, rows: 0, next: CheckCursor(table: place.table, row: .start(of: place.table)))
    }

    /// Checks the rows of a table after `place`, and repairs them if `mode` says so.
    /// - Parameter zone: the only zone whose rows are looked at; nil: all.
    func checkRows(
        of table: KeptTable, after place: RowKey, _ mode: CheckMode, limit: Int, in zone: ZoneAddress?
    ) async throws -> CheckSlice {
        let step = CheckStep(table: table, place: place, mode: mode, limit: limit, zone: zone, now: clock())
        var slice = CheckSlice(findings: [], rows: 0, next: CheckCursor(table: table, row: nil).nextTable)
        for look in try await reading({ try step.look($0) }) {
            guard mode.writes, look.needsMending else {
                slice.add(look.slice)
                continue
            }
            guard try await isStructureSound() else {
                slice.add(look.slice.unmended)
                continue
            }
            var mending = step
            mending.place = look.after
            do {
                let mended = try await store.write { [mending] in .commit(try mending.mend($0, in: look.database, miscounted: look.miscounted)) }
                slice.add(mended)
                // New rows may have moved others out of the repaired portion: the next step begins behind that portion.
                return slice
            } catch let error as StoreError where error.code == .corrupt {
                slice.add(look.slice.unmended)
            }
        }
        return slice
    }

    /// Reads as a bulk read, which gives way to small requests.
    private func reading<Value: Sendable>(_ body: @escaping @Sendable (any ReadTransaction) throws -> Value) async throws -> Value {
        var turn = Turn.current
        turn.kind = .bulk
        return try await Turn.$current.withValue(turn) { try await store.read(body) }
    }
}

extension CheckSlice {
    /// The slice without a repair: findings that could be mended are beyond repair.
    fileprivate var unmended: CheckSlice {
        var slice = self
        for index in slice.findings.indices where slice.findings[index].outcome == .mendable { slice.findings[index].outcome = .beyondRepair }
        return slice
    }

    /// Adds the slice behind this one, of another database.
    fileprivate mutating func add(_ other: CheckSlice) {
        findings += other.findings
        rows += other.rows
        next = other.next
        moved.formUnion(other.moved)
    }
}

/// One step of a check: rows of one table, after a key. It covers several databases, because most have few rows.
struct CheckStep: Sendable {
    /// The step's rows of one database.
    struct Look: Sendable {
        var database: DatabaseID
        /// The key before the rows.
        var after: RowKey
        var slice: CheckSlice
        /// Zones whose bytes are not what their records take.
        var miscounted: Set<ZoneAddress>

        var needsMending: Bool { slice.findings.contains { $0.outcome != .beyondRepair } }
    }

    /// The schemas of containers, each read once.
    private struct SchemasRead {
        var known: [DatabaseKey: Schema?] = [:]
    }

    var table: KeptTable
    var place: RowKey
    var mode: CheckMode
    var limit: Int
    var zone: ZoneAddress?
    var now: Timestamp

    /// - Returns: the findings of each database that the rows belong to, in their order; empty if no rows are left.
    func look(_ transaction: any ReadTransaction) throws -> [Look] {
        var (looks, schemas, after) = ([Look](), SchemasRead(), place)
        var rest = try rows(transaction)[...]
        while let id = rest.first?.key.database {
            let mine = Array(rest.prefix { $0.key.database == id })
            rest = rest.dropFirst(mine.count)
            let reading = try read(mine, of: id, &schemas, transaction, counting: nil)
            let findings = reading.problems.map { problem in
                var outcome = problem.outcome ?? .mendable
                if case .none = problem.mending, problem.outcome == nil { outcome = .beyondRepair }
                return finding(problem, id, reading.database, outcome)
            }
            let slice = CheckSlice(findings: findings, rows: mine.count, next: next(after: mine))
            let miscounted = reading.problems.compactMap { if case .recount(let zone) = $0.mending { zone.address } else { nil } }
            looks.append(Look(database: id, after: after, slice: slice, miscounted: Set(miscounted)))
            after = mine.last?.key ?? after
        }
        return looks
    }

    /// - Parameter miscounted: zones whose bytes are counted again, while other writes wait.
    func mend(_ transaction: any WriteTransaction, in database: DatabaseID, miscounted: Set<ZoneAddress>) throws -> CheckSlice {
        var schemas = SchemasRead()
        let mine = Array(try rows(transaction).prefix { $0.key.database == database })
        let reading = try read(mine, of: database, &schemas, transaction, counting: miscounted)
        var mending = CheckMending(reading.database, schema: reading.schema ?? Schema(), now: now, transaction)
        let findings = try reading.problems.map { finding($0, database, reading.database, try mending.mend($0)) }
        let moved = try mending.apply()
        return CheckSlice(findings: findings, rows: mine.count, next: next(after: mine), moved: moved)
    }

    private func rows(_ transaction: any ReadTransaction) throws -> [KeptRow] {
        let found = try transaction.rows(of: table, after: place, limit: limit)
        guard let zone else { return found }
        return Array(found.prefix { $0.key.parts.starts(with: RowKey.zone(zone).parts) })
    }

    /// - Parameter counting: zones whose bytes are counted again; nil: all.
    private func read(
        _ rows: [KeptRow], of id: DatabaseID, _ schemas: inout SchemasRead, _ transaction: any ReadTransaction, counting: Set<ZoneAddress>?
    ) throws -> CheckReading {
        let kept = try transaction.keptDatabase(id)
        var database: DatabaseRow?
        if case .database(let row)? = kept?.value { database = row }
        var reading = CheckReading(
            rows, of: database, isUnreadable: kept != nil && database == nil, schema: try schema(of: database, &schemas, transaction),
            mode: mode, counting: counting, now: now, transaction)
        try reading.read()
        return reading
    }

    /// Returns the schema of a database, nil if it is unreadable: the check of the registry's tables reports that. Only
    /// index rows and records need it.
    private func schema(of database: DatabaseRow?, _ schemas: inout SchemasRead, _ transaction: any ReadTransaction) throws -> Schema? {
        guard [.records, .index].contains(table), let database, database.key.scope != .registry else { return Schema() }
        let key = Registry.Part.schema(container: database.key.container, database.key.environment).key
        if let known = schemas.known[key] { return known }
        let schema = try transaction.soundSchema(key)
        schemas.known[key] = .some(schema)
        return schema
    }

    /// Returns the cursor behind the rows that were looked at, or the next table if there were none.
    private func next(after rows: [KeptRow]) -> CheckCursor? {
        guard let last = rows.last else { return CheckCursor(table: table, row: nil).nextTable }
        return CheckCursor(table: table, row: last.key)
    }

    private func finding(
        _ problem: CheckProblem, _ id: DatabaseID, _ database: DatabaseRow?, _ outcome: CheckFinding.Outcome
    ) -> CheckFinding {
        CheckFinding(
            table: "\(table)", database: database?.key.text ?? String(id.rawValue), zone: problem.zone, record: problem.record,
            what: problem.what, outcome: outcome)
    }
}

extension ReadTransaction {
    /// Returns the row of a database as it is kept, readable or not; nil: there is none.
    fileprivate func keptDatabase(_ id: DatabaseID) throws -> KeptRow? {
        let before = RowKey.database(DatabaseID(rawValue: id.rawValue == .min ? .min : id.rawValue - 1))
        return try rows(of: .databases, after: before, limit: 1).first.flatMap { $0.key.database == id ? $0 : nil }
    }

    /// Returns a schema, nil if the row of its database, or an entry in it, is unreadable.
    fileprivate func soundSchema(_ key: DatabaseKey) throws -> Schema? {
        for salt in CheckReading.salts {
            let id = DatabaseID(key, salt: salt)
            guard let kept = try keptDatabase(id) else { return Schema() }
            guard case .database(let row) = kept.value else { return nil }
            guard row.key == key else { continue }
            var last: RowKey? = .database(id, .number(.min), .text(""))
            repeat {
                let page = try rows(of: .entries, after: last, limit: Limits.checkRows).prefix { $0.key.database == id }
                if page.contains(where: { if case .unreadable = $0.value { true } else { false } }) { return nil }
                last = page.last?.key
            } while last != nil
            return try schema(in: id)
        }
        return Schema()
    }
}
