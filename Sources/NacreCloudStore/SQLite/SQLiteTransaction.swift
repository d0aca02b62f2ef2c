import NacreCloudStorage
import NacreCloudWire

/// A body's access to the writer's connection.
final class SQLiteTransaction: SQLiteSnapshot, WriteTransaction {
    /// The number of the current run.
    private let run: Int64
    private(set) var tasksPut: [TaskRow] = []
    /// The number of rows in its plans.
    private(set) var rows = 0

    init(_ connection: Connection, run: Int64) {
        self.run = run
        super.init(connection)
    }

    /// Returns the rows without a lock: there is only one writer, which holds every lock.
    func lock(zoneNamed name: String?, in database: DatabaseID, operation id: String?, entries: [EntryKey]) throws -> Advance {
        try ask { connection in
            try begin(try name.flatMap { try connection.zones(in: database, named: [$0]).first }, in: database, operation: id, entries, connection)
        }
    }

    func advance(zoneNamed name: String, in database: DatabaseID, operation id: String?, entries: [EntryKey]) throws -> Advance {
        try ask { connection in
            try begin(try connection.advance(zoneNamed: name, in: database, run: run), in: database, operation: id, entries, connection)
        }
    }

    private func begin(
        _ zone: ZoneRow?, in database: DatabaseID, operation id: String?, _ entries: [EntryKey], _ connection: Connection
    ) throws -> Advance {
        Advance(
            run: run, database: try connection.database(database), zone: zone,
            operation: try id.flatMap { try connection.operation(in: database, $0) },
            entries: try entries.distinct.compactMap { try connection.knownEntry($0) })
    }

    func apply(_ plan: WritePlan) throws {
        rows += plan.rowCount
        try ask { connection in
            try StoreError.requireSize(ofTransaction: rows)
            try connection.admitIndexRows(of: plan)
            try connection.apply(plan, run: run)
        }
        tasksPut += plan.tasks
    }

    func tasks(locking keys: [TaskKey]) throws -> [TaskRow] {
        try ask { connection in
            try keys.distinct.compactMap { try connection.task($0) }
        }
    }

    func reclaim(_ zone: ZoneAddress, limit: Int) throws -> Int {
        try ask { connection in
            guard limit > 0 else { return 0 }
            var count = try connection.reclaimRecords(of: zone, limit: limit)
            count += try connection.reclaimFeed(of: zone, limit: limit - count)
            count += try connection.reclaimLinks(of: zone, limit: limit - count)
            return try count + connection.reclaimIndexRows(of: zone, limit: limit - count)
        }
    }

    func removeExpired(before now: Timestamp, limit: Int) throws -> Int {
        try ask { connection in
            let entries = try connection.use(.entriesExpired) { statement in
                statement.bind(now)
                statement.bind(max(limit, 0))
                return try statement.rows { (database: $0.integer(), kind: $0.integer(), name: $0.string()) }
            }
            for entry in entries {
                connection.knownEntries.forget(NamedKey(DatabaseID(rawValue: entry.database), kind: entry.kind, name: entry.name))
                try connection.use(.entryRemove) { statement in
                    statement.bind(entry.database)
                    statement.bind(entry.kind)
                    statement.bind(entry.name)
                    _ = try statement.step()
                }
            }
            let operations = try connection.use(.operationsExpired) { statement in
                statement.bind(now)
                statement.bind(max(limit - entries.count, 0))
                return try statement.rows { (database: DatabaseID(rawValue: $0.integer()), id: $0.string()) }
            }
            for operation in operations {
                try connection.removeOperation(in: operation.database, operation.id)
            }
            return entries.count + operations.count
        }
    }

    func trimOperations(
        in database: DatabaseID, by caller: String, keeping count: Int, bytes: Int, expiringThrough last: Timestamp, limit: Int
    ) throws -> TrimmedOperations {
        try ask { connection in
            let beyond = try connection.use(.operationsNewest) { statement -> (expires: Timestamp, id: String)? in
                statement.bind(database.rawValue)
                statement.bind(caller)
                statement.bind(max(count, 0) + 1)
                var left = (rows: max(count, 0), bytes: bytes)
                while try statement.step() {
                    left.rows -= 1
                    left.bytes -= Int(statement.integer())
                    if left.rows < 0 || left.bytes < 0 { return (statement.timestamp(), statement.string()) }
                }
                return nil
            }
            guard let beyond else { return TrimmedOperations(count: 0, latest: nil) }
            let oldest = try connection.use(.operationsOldest) { statement in
                statement.bind(database.rawValue)
                statement.bind(caller)
                statement.bind(beyond.expires)
                statement.bind(beyond.id)
                statement.bind(last)
                statement.bind(max(limit, 0))
                return try statement.rows { (id: $0.string(), expires: $0.timestamp()) }
            }
            for operation in oldest {
                try connection.removeOperation(in: database, operation.id)
            }
            return TrimmedOperations(count: oldest.count, latest: oldest.last?.expires)
        }
    }
}

extension Connection {
    /// Removes up to `limit` records of a zone, live or not. Returns their number.
    fileprivate func reclaimRecords(of zone: ZoneAddress, limit: Int) throws -> Int {
        let names = try use(.recordsToReclaim) { statement in
            statement.bind(zone)
            statement.bind(limit)
            return try statement.rows { $0.string() }
        }
        for name in names {
            try removeRecord(zone, name)
        }
        return names.count
    }

    /// Removes up to `limit` rows of a zone's feeds. Returns their number.
    fileprivate func reclaimFeed(of zone: ZoneAddress, limit: Int) throws -> Int {
        let rows = try use(.feedToReclaim) { statement in
            statement.bind(zone)
            statement.bind(limit)
            return try statement.rows { row in
                let position = ViewNumber(view: FeedView(rawValue: row.integer()), number: row.number())
                return (position: position, name: row.string())
            }
        }
        for row in rows {
            try removeFeedRow(zone, row.position, row.name)
        }
        return rows.count
    }

    fileprivate func removeOperation(in database: DatabaseID, _ id: String) throws {
        try use(.operationRemove) { statement in
            statement.bind(database.rawValue)
            statement.bind(id)
            _ = try statement.step()
        }
    }
}

extension PreparedStatement {
    func bind(_ key: TaskKey) {
        bind(key.database.rawValue)
        bind(key.kind.rawValue)
        bind(key.name)
    }
}
