import NacreCloudStorage
import NacreCloudStore
import NacreCloudWire

/// A body's access to a connection, for writing. A plan is sent with the next question or with the end of the
/// transaction, whichever comes first: its failure comes there.
final class PostgresTransaction: PostgresSnapshot, WriteTransaction {
    /// The number of the current run.
    private let run: Int64
    private(set) var tasksPut: [TaskRow] = []
    /// The number of rows in its plans.
    private(set) var rows = 0
    /// The body asked for the logged operation of its request: a second run of it finds out whether the first was
    /// committed.
    private(set) var asksForOperation = false
    /// Databases that the body saw, and whether they have changes of this run; nil for those that do not exist.
    private var seen: [DatabaseID: Bool?] = [:]

    init(_ connection: PostgresConnection, run: Int64) {
        self.run = run
        super.init(connection)
    }

    func lock(zoneNamed name: String?, in database: DatabaseID, operation id: String?, entries: [EntryKey]) throws -> Advance {
        try begin(advancing: false, zoneNamed: name, in: database, operation: id, entries)
    }

    func advance(zoneNamed name: String, in database: DatabaseID, operation id: String?, entries: [EntryKey]) throws -> Advance {
        try begin(advancing: true, zoneNamed: name, in: database, operation: id, entries)
    }

    /// Locks the zone's row, or the database's if there is no such zone, and then reads.
    private func begin(
        advancing: Bool, zoneNamed name: String?, in database: DatabaseID, operation id: String?, _ entries: [EntryKey]
    ) throws -> Advance {
        if id != nil { asksForOperation = true }
        return try ask { connection in
            var found = Advance(run: run, database: nil, zone: nil, operation: nil)
            for locksDatabase in name == nil ? [true] : [false, true] {
                found = try connection.begin(
                    advancing ? .zoneAdvance : .zoneLock, zoneNamed: name, in: database, locksDatabase: locksDatabase, operation: id, entries,
                    run: run)
                if found.zone != nil || found.database == nil { break }
            }
            seen[database] = .some(found.database.map { $0.run == run })
            if advancing, var zone = found.zone, zone.run != run {
                let before = ChangeNumber(run: zone.run, seq: zone.lastSeq &- 1)
                try connection.sendEnd(before, in: .zone(zone.address))
                try connection.send(.zoneEntersRun, zone.address.values + [.number(run)])
                zone.run = run
                found.zone = zone
            }
            return found
        }
    }

    func apply(_ plan: WritePlan) throws {
        rows += plan.rowCount
        try ask { connection in
            try StoreError.requireSize(ofTransaction: rows)
            try connection.sendRows(of: plan, new: { seen[$0] == .some(nil) })
            for row in plan.databases { seen[row.id] = row.run == run }
            try connection.sendPlaces(of: plan, run: run, mayEnterRun: { seen[$0] != .some(true) })
            for zone in plan.zonesChanged { seen[zone.database] = true }
        }
        tasksPut += plan.tasks
    }

    func tasks(locking keys: [TaskKey]) throws -> [TaskRow] {
        try ask { connection in
            let groups = keys.distinct.grouped { $0.database }.sorted { $0.key.rawValue < $1.key.rawValue }
            let asked = try groups.map { group in
                try connection.send(
                    .tasksLock, [.id(group.key), .numbers(group.elements.map(\.kind.rawValue)), .names(group.elements.map(\.name))])
            }
            let answers = try connection.flush()
            return try zip(groups, asked).flatMap { group, index in try answers[index].rows { try $0.task(in: group.key) } }
        }
    }

    func reclaim(_ zone: ZoneAddress, limit: Int) throws -> Int {
        try ask { connection in
            var left = max(limit, 0)
            for statement in [Statement.recordsReclaim, .feedReclaim, .linksReclaim, .indexReclaim] where left > 0 {
                left -= try connection.ask(statement, zone.values + [.limit(left)]).changed
            }
            return max(limit, 0) - left
        }
    }

    func removeExpired(before now: Timestamp, limit: Int) throws -> Int {
        try ask { connection in
            let entries = try connection.ask(.entriesExpired, [.time(now), .limit(limit)]).rows {
                (database: DatabaseID(rawValue: try $0.integer()), kind: try $0.integer(), name: $0.string())
            }
            let operations = try connection.ask(.operationsExpired, [.time(now), .limit(limit - entries.count)]).rows {
                (database: DatabaseID(rawValue: try $0.integer()), id: $0.string())
            }
            var asked = try entries.grouped { $0.database }.map { group in
                try connection.send(
                    .entriesRemoveExpired,
                    [.id(group.key), .numbers(group.elements.map(\.kind)), .names(group.elements.map(\.name)), .time(now)])
            }
            asked += try operations.grouped { $0.database }.map { group in
                try connection.send(.operationsRemoveExpired, [.id(group.key), .names(group.elements.map(\.id)), .time(now)])
            }
            let answers = try connection.flush()
            return asked.reduce(0) { $0 + answers[$1].changed }
        }
    }

    func trimOperations(
        in database: DatabaseID, by caller: String, keeping count: Int, bytes: Int, expiringThrough last: Timestamp, limit: Int
    ) throws -> TrimmedOperations {
        let values: [Value] = [
            .id(database), .name(caller), .limit(min(count, Int(Int32.max))), .number(Int64(bytes)), .time(last), .limit(limit),
        ]
        return try ask { connection in
            try connection.ask(.operationsTrim, values).first {
                TrimmedOperations(count: Int(try $0.integer()), latest: try $0.optionalTimestamp())
            } ?? TrimmedOperations(count: 0, latest: nil)
        }
    }
}

extension PostgresConnection {
    /// Asks everything that a transaction begins with, at once.
    fileprivate func begin(
        _ statement: Statement, zoneNamed name: String?, in database: DatabaseID, locksDatabase: Bool, operation id: String?,
        _ entries: [EntryKey], run: Int64
    ) throws -> Advance {
        let ofDatabaseFirst = locksDatabase ? try send(.databaseLock, [.id(database)]) : nil
        let ofZone = try name.map { try send(statement, [.id(database), .name($0)]) }
        let ofDatabase = try ofDatabaseFirst ?? send(.databaseByID, [.id(database)])
        let ofOperation = try id.map { try send(.operationByID, [.id(database), .name($0)]) }
        let groups = entries.distinct.grouped { $0.database }
        let ofEntries = try groups.map { group in
            try send(.entriesByKey, [.id(group.key), .numbers(group.elements.map(\.kind.rawValue)), .names(group.elements.map(\.key))])
        }
        let answers = try flush()
        return Advance(
            run: run, database: try answers[ofDatabase].first { try $0.database() },
            zone: try ofZone.flatMap { try answers[$0].first { try $0.zone(in: database) } },
            operation: try id.flatMap { id in try ofOperation.flatMap { try answers[$0].first { try $0.operation(in: database, id) } } },
            entries: try zip(groups, ofEntries).flatMap { group, index in try answers[index].rows { try $0.entry(in: group.key) } })
    }

    /// Keeps the end of a run.
    fileprivate func sendEnd(_ number: ChangeNumber, in place: FeedAddress) throws {
        try send(.runEndPut, place.values + [.number(number.run), .number(number.seq)])
        try send(.runEndsTrim, place.values + [.number(Int64(Run.endsKept))])
    }
}
