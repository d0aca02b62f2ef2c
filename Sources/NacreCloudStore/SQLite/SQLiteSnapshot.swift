import NacreCloudStorage
import NacreCloudWire

/// A body's access to a connection, for reading. The creator owns the transaction around it.
class SQLiteSnapshot: ReadTransaction {
    private let connection: Connection
    /// The first failure. Every later call fails with it, so that a body that swallows an error cannot commit half a
    /// plan.
    private(set) var failure: StoreError?
    /// The same failure as an error of SQLite, if it was one.
    private(set) var sqliteFailure: SQLiteFailure?
    private var isOver = false

    init(_ connection: Connection) {
        self.connection = connection
    }

    /// Ends the snapshot: every later call fails, because the connection serves other bodies.
    final func end() {
        isOver = true
    }

    /// Runs a query on the connection, and converts SQLite's errors into the store's.
    final func ask<Value>(_ question: (Connection) throws -> Value) throws -> Value {
        if isOver { throw StoreError.closed }
        if let failure { throw failure }
        do {
            if connection.watch?.isEnded == true { throw ReaderWatch.ended }
            return try question(connection)
        } catch let error {
            let isEnded = connection.watch?.isEnded == true
            sqliteFailure = error as? SQLiteFailure
            let failure = isEnded ? ReaderWatch.ended : StoreError(error)
            self.failure = failure
            // Roll back at once and not with the body: the log waits for it.
            if isEnded { connection.abandonTransaction() }
            throw failure
        }
    }

    func databases(_ ids: [DatabaseID]) throws -> [DatabaseRow] {
        try ask { connection in try Set(ids).compactMap { try connection.database($0) } }
    }

    func databases(
        of container: String, _ environment: DatabaseKey.Environment, after id: DatabaseID?, limit: Int
    ) throws -> [DatabaseRow] {
        guard id?.rawValue != .max else { return [] }
        return try ask { connection in
            try connection.use(.databasesOfContainer) { statement in
                statement.bind(container)
                statement.bind(environment.rawValue)
                statement.bind(id.map { $0.rawValue + 1 } ?? .min)
                statement.bind(max(limit, 0))
                return try statement.rows { try $0.databaseRow() }
            }
        }
    }

    func tasks(of kinds: Set<TaskKind>, dueAfter first: Timestamp, through last: Timestamp, limit: Int) throws -> [TaskDue] {
        try ask { connection in
            try connection.use(.tasksDue) { statement in
                statement.bind(last)
                statement.bind(kinds.reduce(0) { $0 | 1 << $1.rawValue })
                statement.bind(max(limit, 0))
                statement.bind(first)
                return try statement.rows { row in
                    let (database, kind, name) = (DatabaseID(rawValue: row.integer()), row.integer(), row.string())
                    guard let kind = TaskKind(rawValue: kind) else { throw StoreError.contradiction("a task of a kind that was not asked for") }
                    return TaskDue(TaskKey(database, kind, name), due: row.timestamp())
                }
            }
        }
    }

    func tasks(of kind: TaskKind, in database: DatabaseID, namesFrom prefix: String, limit: Int) throws -> (count: Int, bytes: Int) {
        try ask { connection in
            try connection.use(.tasksNamed) { statement in
                statement.bind(database.rawValue)
                statement.bind(kind.rawValue)
                statement.bind(prefix)
                // A bound after all names with this prefix.
                statement.bind(prefix + "\u{10ffff}")
                statement.bind(max(limit, 0))
                let bytes = try statement.rows { Int(clamping: $0.integer()) }
                return (bytes.count, bytes.reduce(0, +))
            }
        }
    }

    func zones(in database: DatabaseID, named names: [String]) throws -> [ZoneRow] {
        try ask { try $0.zones(in: database, named: names) }
    }

    func zones(in database: DatabaseID, after name: String?, limit: Int) throws -> [ZoneRow] {
        try ask { connection in
            try connection.use(name == nil ? .zonesFromStart : .zonesAfterName) { statement in
                statement.bind(database.rawValue)
                statement.bind(max(limit, 0))
                if let name { statement.bind(name) }
                return try statement.rows { try $0.zone(in: database) }
            }
        }
    }

    func zoneCount(in database: DatabaseID, upTo most: Int) throws -> Int {
        try ask { connection in
            try connection.use(.zoneCount) { statement in
                statement.bind(database.rawValue)
                return try statement.step() ? min(Int(statement.integer()), max(most, 0)) : 0
            }
        }
    }

    func zoneFeed(in database: DatabaseID, after position: ZoneFeedPosition, limit: Int) throws -> [ZoneRow] {
        // Zones at 0 are in no feed: every position up to there is the start.
        let name = position.seq > 0 ? position.name : nil
        return try ask { connection in
            try connection.use(name == nil ? .zoneFeedAfterSeq : .zoneFeedAfterName) { statement in
                statement.bind(database.rawValue)
                statement.bind(max(limit, 0))
                statement.bind(max(position.seq, 0))
                if let name { statement.bind(name) }
                return try statement.rows { try $0.zone(in: database) }
            }
        }
    }

    func ends(of runs: [Int64], in place: FeedAddress) throws -> [ChangeNumber] {
        try ask { try $0.ends(of: runs, in: place) }
    }

    func records(in zone: ZoneAddress, named names: [String], bytesMax: Int) throws -> [RecordRow] {
        try ask { try $0.records(in: zone, named: names, bytesMax: bytesMax) }
    }

    func heads(in zone: ZoneAddress, named names: [String]) throws -> [RecordRow] {
        try ask { try $0.heads(in: zone, named: names) }
    }

    func feed(_ scans: [FeedScan], bytesMax: Int) throws -> [FeedPortion] {
        try ask { connection in
            var bytes = 0
            return try scans.map { try connection.feed($0, &bytes, bytesMax) }
        }
    }

    func records(in zone: ZoneAddress, after name: String?, limit: Int, bytesMax: Int) throws -> [RecordRow] {
        try ask { connection in
            try connection.use(name == nil ? .recordsFromStart : .recordsAfterName) { statement in
                statement.bind(zone)
                statement.bind(max(limit, 0))
                if let name { statement.bind(name) }
                return try statement.records(bytesMax)
            }
        }
    }

    func children(in zone: ZoneAddress, of parent: String, after name: String?, limit: Int, bytesMax: Int) throws -> [RecordRow] {
        try ask { connection in
            try connection.use(.recordChildren) { statement in
                statement.bind(zone)
                statement.bind(max(limit, 0))
                statement.bind(name ?? "")
                statement.bind(parent)
                return try statement.records(bytesMax)
            }
        }
    }

    func tombstones(in zone: ZoneAddress, limit: Int) throws -> [RecordRow] {
        try ask { connection in
            try connection.use(.recordTombstones) { statement in
                statement.bind(zone)
                statement.bind(max(limit, 0))
                return try statement.rows { $0.record(named: $0.string()) }
            }
        }
    }

    func dependents(in zone: ZoneAddress, of names: [String], outside others: [String], limit: Int) throws -> [Dependents] {
        let ignored = Set(others.map(NameBytes.init))
        return try ask { connection in
            try names.distinctNames.compactMap { try connection.dependents(of: $0, in: zone, outside: ignored, limit: limit) }
        }
    }

    func search(_ scans: [IndexScan], bytesMax: Int) throws -> [IndexPortion] {
        try ask { connection in
            var bytes = 0
            return try scans.map { try connection.search($0, &bytes, bytesMax) }
        }
    }

    func entries(in database: DatabaseID, _ kind: EntryKind, keys: [String]) throws -> [EntryRow] {
        try ask { connection in
            try keys.distinctNames.compactMap { try connection.entry(EntryKey(database, kind, $0)) }
        }
    }

    func entries(in database: DatabaseID, _ kind: EntryKind, after key: String?, limit: Int) throws -> [EntryRow] {
        try ask { connection in
            try connection.use(key == nil ? .entriesFromStart : .entriesAfterKey) { statement in
                statement.bind(database.rawValue)
                statement.bind(kind.rawValue)
                statement.bind(max(limit, 0))
                if let key { statement.bind(key) }
                return try statement.rows { try $0.entry(in: database, kind) }
            }
        }
    }

    func operation(in database: DatabaseID, _ id: String) throws -> OperationRow? {
        try ask { try $0.operation(in: database, id) }
    }

    func rows(of table: KeptTable, after place: RowKey?, limit: Int) throws -> [KeptRow] {
        try ask { try $0.rows(of: table, after: place, limit: limit) }
    }

    func missing(_ rows: [DerivedRow]) throws -> [DerivedRow] {
        try ask { try $0.missing(rows) }
    }

    func bytes(of zone: ZoneAddress) throws -> Int64 {
        try ask { try $0.bytes(of: zone) }
    }

    func faults(in table: KeptTable) throws -> [String] {
        try ask { try $0.faults(in: table) }
    }
}
