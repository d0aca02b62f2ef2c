import NacreCloudStorage
import NacreCloudStore
import NacreCloudWire

/// A body's access to a connection, for reading. Its creator begins and ends the transaction around it.
class PostgresSnapshot: ReadTransaction {
    private let connection: PostgresConnection
    private let cancellation: ReadCancellation?
    /// The first failure. Every later call fails with it, so that a body that swallows an error cannot commit half a
    /// plan.
    private(set) var failure: (any Error)?
    private var isOver = false

    /// - Parameter cancellation: Whether the task that reads was cancelled; nil for a write, which is done whole.
    init(_ connection: PostgresConnection, _ cancellation: ReadCancellation? = nil) {
        self.connection = connection
        self.cancellation = cancellation
    }

    /// Ends the snapshot: every later call fails, because the connection serves other bodies.
    final func end() {
        isOver = true
    }

    /// Asks a question, and converts PostgreSQL's errors into the store's.
    final func ask<Result>(_ question: (PostgresConnection) throws -> Result) throws -> Result {
        if isOver { throw StoreError.closed }
        do {
            if let failure { throw failure }
            if cancellation?.isCancelled == true { throw CancellationError() }
            return try question(connection)
        } catch {
            failure = failure ?? error
            throw error is CancellationError ? error : StoreError(postgres: error)
        }
    }

    private func rows<Row>(_ statement: Statement, _ values: [Value], _ read: (inout Cells) throws -> Row) throws -> [Row] {
        try ask { try $0.ask(statement, values).rows(read) }
    }

    func databases(_ ids: [DatabaseID]) throws -> [DatabaseRow] {
        try rows(.databasesByID, [.numbers(Set(ids).map(\.rawValue))]) { try $0.database() }
    }

    func databases(
        of container: String, _ environment: DatabaseKey.Environment, after id: DatabaseID?, limit: Int
    ) throws -> [DatabaseRow] {
        guard id?.rawValue != .max else { return [] }
        let first = id.map { $0.rawValue + 1 } ?? .min
        return try rows(.databasesOfContainer, [.name(container), .name(environment.rawValue), .number(first), .limit(limit)]) { try $0.database() }
    }

    func zones(in database: DatabaseID, named names: [String]) throws -> [ZoneRow] {
        try rows(.zonesByName, [.id(database), .names(names.distinctNames)]) { try $0.zone(in: database) }
    }

    func zones(in database: DatabaseID, after name: String?, limit: Int) throws -> [ZoneRow] {
        try rows(.zonesFromName, [.id(database), .bytes(name.nextName), .limit(limit)]) { try $0.zone(in: database) }
    }

    func zoneCount(in database: DatabaseID, upTo most: Int) throws -> Int {
        try rows(.zoneCount, [.id(database), .limit(most)]) { Int(clamping: try $0.integer()) }.first ?? 0
    }

    func zoneFeed(in database: DatabaseID, after position: ZoneFeedPosition, limit: Int) throws -> [ZoneRow] {
        // Zones at 0 are in no feed: every position up to there is the start.
        let name = position.seq > 0 ? position.name : nil
        guard name != nil || position.seq < .max else { return [] }
        let seq = name == nil ? max(position.seq, 0) + 1 : position.seq
        return try rows(.zoneFeed, [.id(database), .number(seq), .bytes(name.nextName), .limit(limit)]) { try $0.zone(in: database) }
    }

    func ends(of runs: [Int64], in place: FeedAddress) throws -> [ChangeNumber] {
        try rows(.runEndsByRun, place.values + [.numbers(Array(Set(runs)))]) { try $0.number() }
    }

    func records(in zone: ZoneAddress, named names: [String], bytesMax: Int) throws -> [RecordRow] {
        let names = names.distinctNames
        guard bytesMax > 0, !names.isEmpty else { return try ask { _ in [] } }
        guard names.count > 1, bytesMax < .max else { return try recordsInOrder(.recordsByName, zone, names) }
        return try rows(.recordsByNameUpTo, zone.values + [.names(names), .number(Int64(bytesMax))]) { try $0.record() }
    }

    func heads(in zone: ZoneAddress, named names: [String]) throws -> [RecordRow] {
        try recordsInOrder(.recordHeads, zone, names.distinctNames)
    }

    /// Returns records of names in the order of the names.
    private func recordsInOrder(_ statement: Statement, _ zone: ZoneAddress, _ names: [String]) throws -> [RecordRow] {
        let found = try rows(statement, zone.values + [.names(names)]) { try $0.record() }
        guard found.count > 1 else { return found }
        let places = Dictionary(found.enumerated().map { (NameBytes($1.name), $0) }) { first, _ in first }
        return names.compactMap { name in places[NameBytes(name)].map { found[$0] } }
    }

    func feed(_ scans: [FeedScan], bytesMax: Int) throws -> [FeedPortion] {
        try ask { try $0.feed(scans, bytesMax) }
    }

    func records(in zone: ZoneAddress, after name: String?, limit: Int, bytesMax: Int) throws -> [RecordRow] {
        let values: [Value] = zone.values + [.bytes(name.nextName), .limit(limit), .number(Int64(bytesMax))]
        return try rows(.recordsFromName, values) { try $0.record() }
    }

    func children(in zone: ZoneAddress, of parent: String, after name: String?, limit: Int, bytesMax: Int) throws -> [RecordRow] {
        let values: [Value] = zone.values + [.name(name ?? ""), .limit(limit), .number(Int64(bytesMax)), .name(parent)]
        return try rows(.recordChildren, values) { try $0.record() }
    }

    func tombstones(in zone: ZoneAddress, limit: Int) throws -> [RecordRow] {
        try rows(.recordTombstones, zone.values + [.limit(limit)]) { try $0.record() }
    }

    func dependents(in zone: ZoneAddress, of names: [String], outside others: [String], limit: Int) throws -> [Dependents] {
        let values: [Value] = zone.values + [.names(names.distinctNames), .names(others), .limit(limit)]
        let found = try rows(.dependents, values) { cells in
            Dependents(
                target: cells.string(), isParent: try cells.bool(), isValidated: try cells.bool(), owned: try cells.strings(),
                othersOwned: try cells.strings())
        }
        return found.filter { $0.isParent || $0.isValidated || !$0.owned.isEmpty || !$0.othersOwned.isEmpty }
    }

    func search(_ scans: [IndexScan], bytesMax: Int) throws -> [IndexPortion] {
        try ask { try $0.search(scans, bytesMax) }
    }

    func entries(in database: DatabaseID, _ kind: EntryKind, keys: [String]) throws -> [EntryRow] {
        let keys = keys.distinctNames
        let kinds = Array(repeating: kind.rawValue, count: keys.count)
        return try rows(.entriesByKey, [.id(database), .numbers(kinds), .names(keys)]) { try $0.entry(in: database) }
    }

    func entries(in database: DatabaseID, _ kind: EntryKind, after key: String?, limit: Int) throws -> [EntryRow] {
        let values: [Value] = [.id(database), .number(kind.rawValue), .bytes(key.nextName), .limit(limit)]
        return try rows(.entriesFromName, values) { try $0.entry(in: database) }
    }

    func operation(in database: DatabaseID, _ id: String) throws -> OperationRow? {
        try rows(.operationByID, [.id(database), .name(id)]) { try $0.operation(in: database, id) }.first
    }

    func tasks(of kinds: Set<TaskKind>, dueAfter first: Timestamp, through last: Timestamp, limit: Int) throws -> [TaskDue] {
        try rows(.tasksDue, [.time(first), .time(last), .numbers(kinds.map(\.rawValue)), .limit(limit)]) { cells in
            let database = DatabaseID(rawValue: try cells.integer())
            let kind = try cells.known(TaskKind.init(rawValue:), try cells.integer(), "task kind")
            return TaskDue(TaskKey(database, kind, cells.string()), due: try cells.timestamp())
        }
    }

    func tasks(of kind: TaskKind, in database: DatabaseID, namesFrom prefix: String, limit: Int) throws -> (count: Int, bytes: Int) {
        // No UTF-8 has the byte 255: the bound is behind all names with this prefix.
        let values: [Value] = [.id(database), .number(kind.rawValue), .name(prefix), .bytes(Array(prefix.utf8) + [255]), .limit(limit)]
        let found = try rows(.tasksNamed, values) { (count: Int(clamping: try $0.integer()), bytes: Int(clamping: try $0.integer())) }
        return found.first ?? (0, 0)
    }

    func rows(of table: KeptTable, after place: RowKey?, limit: Int) throws -> [KeptRow] {
        try ask { try $0.rows(of: table, after: place, limit: limit) }
    }

    func missing(_ rows: [DerivedRow]) throws -> [DerivedRow] {
        try ask { try $0.missing(rows) }
    }

    func bytes(of zone: ZoneAddress) throws -> Int64 {
        try rows(.bytesOfZone, zone.values) { try $0.integer() }.first ?? 0
    }

    func faults(in table: KeptTable) throws -> [String] {
        try ask { try $0.faults(in: table) }
    }
}

extension ZoneAddress {
    var values: [Value] { [.number(database.rawValue), .number(zone)] }
}

extension FeedAddress {
    /// The key of its ends; -1 stands for the database's feed of zones.
    var values: [Value] {
        switch self {
        case .zone(let zone): zone.values
        case .database(let database): [.number(database.rawValue), .number(-1)]
        }
    }
}
