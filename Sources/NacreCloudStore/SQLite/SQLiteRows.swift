import NacreCloudStorage
import NacreCloudWire

// Conversions from columns to rows. Each reads the columns in the order in which its statements name them.

extension PreparedStatement {
    /// Returns all remaining rows.
    func rows<Row>(_ read: (PreparedStatement) throws -> Row) throws -> [Row] {
        var rows: [Row] = []
        while try step() {
            rows.append(try read(self))
        }
        return rows
    }

    /// Reads a zone, and checks that it is the one that was searched. An index with a flipped bit can lead to the row
    /// of another zone or user.
    /// - Parameter asked: The name that was searched; nil if the search was not by name.
    func zone(in database: DatabaseID, named asked: String? = nil) throws -> ZoneRow {
        let (row, state, checksum) = try uncheckedZone(in: database, named: asked)
        _ = try known(ZoneRow.State.init(rawValue:), state, "zone state")
        guard checksum == RowChecksum.of(row) else {
            throw StoreError(.corrupt, "A zone's checksum does not match", ["databaseID": String(database.rawValue), "zone": row.name])
        }
        return row
    }

    /// The row as it stands, and the checksum that it should have. A state that this version does not know is read as
    /// `live`.
    func uncheckedZone(in database: DatabaseID, named asked: String? = nil) throws -> (row: ZoneRow, state: Int64, checksum: Int64) {
        let owner = DatabaseID(rawValue: integer())
        let address = ZoneAddress(database: database, zone: integer())
        let name = string()
        guard owner == database, asked.map({ $0 == name }) ?? true else {
            throw StoreError(.corrupt, "A zone was found under the key of another", ["zone": name])
        }
        let state = integer()
        let number = number()
        let feedSeq = integer()
        let token = optionalBytes()
        let row = ZoneRow(
            address: address, name: name, state: ZoneRow.State(rawValue: state) ?? .live, run: number.run, lastSeq: number.seq, feedSeq: feedSeq,
            clientChangeToken: token, forgotten: self.number(), indexesBelow: integer(), bytes: integer())
        return (row, state, integer())
    }

    func databaseRow() throws -> DatabaseRow {
        let (row, (environment, scope), checksum) = uncheckedDatabase()
        _ = try known(DatabaseKey.Environment.init(rawValue:), environment, "environment")
        _ = try known(DatabaseKey.Scope.init(rawValue:), scope, "scope")
        guard checksum == RowChecksum.of(row) else {
            throw StoreError(.corrupt, "A database's checksum does not match", ["databaseID": String(row.id.rawValue), "database": row.key.text])
        }
        return row
    }

    /// Returns the row unchecked, like `uncheckedZone`, with the stored texts of environment and scope.
    func uncheckedDatabase() -> (row: DatabaseRow, texts: (environment: String, scope: String), checksum: Int64) {
        let id = DatabaseID(rawValue: integer())
        let container = string()
        let (environment, scope) = (string(), string())
        let key = DatabaseKey(
            container: container, environment: DatabaseKey.Environment(rawValue: environment) ?? .development,
            scope: DatabaseKey.Scope(rawValue: scope) ?? .private, owner: string())
        let run = integer()
        let lastSeq = integer()
        let row = DatabaseRow(id: id, key: key, run: run, lastSeq: lastSeq, forgottenSeq: integer(), bytes: integer())
        return (row, (environment, scope), integer())
    }

    func record(named name: String) -> RecordRow {
        let type = string()
        let number = number()
        let isTombstone = bool()
        let parent = optionalString()
        return RecordRow(name: name, type: type, number: number, isTombstone: isTombstone, parent: parent, body: bytes())
    }

    /// Returns the remaining rows, whose first column is the name, until their bodies have `bytesMax` bytes.
    func records(_ bytesMax: Int) throws -> [RecordRow] {
        var rows: [RecordRow] = []
        var bytes = 0
        while bytes < bytesMax, try step() {
            let row = record(named: string())
            bytes += row.body.count
            rows.append(row)
        }
        return rows
    }

    func feedEntry(in view: FeedView) -> FeedEntry {
        let position = ViewNumber(view: view, number: number())
        let name = string()
        let entered = number()
        let row = FeedRow(position: position, entered: entered, isDeparture: bool())
        return FeedEntry(feed: row, record: record(named: name))
    }

    func entry(in database: DatabaseID, _ kind: EntryKind) throws -> EntryRow {
        let (row, checksum) = uncheckedEntry(in: database, kind)
        guard checksum == RowChecksum.of(row) else {
            // Not its name: that of a token is a secret.
            throw StoreError(.corrupt, "An entry's checksum does not match", ["databaseID": String(database.rawValue), "kind": "\(kind)"])
        }
        return row
    }

    func uncheckedEntry(in database: DatabaseID, _ kind: EntryKind) -> (row: EntryRow, checksum: Int64) {
        let key = EntryKey(database, kind, string())
        let value = bytes()
        let row = EntryRow(key: key, value: value, expires: optionalTimestamp())
        return (row, integer())
    }

    /// Converts a stored number or name, and throws if this version does not know it.
    func known<Stored, Value>(_ make: (Stored) -> Value?, _ stored: Stored, _ what: String) throws -> Value {
        guard let value = make(stored) else {
            throw StoreError(.corrupt, "The database file holds a value that this version does not know", ["what": what, "value": "\(stored)"])
        }
        return value
    }
}

extension Connection {
    /// Returns what a statement finds for each of a set of names. One prepared statement is stepped for each: SQLite
    /// has no round trip to save, and a lookup costs less than passing a list.
    func each<Found>(of names: [String], _ statement: Statement, _ find: (PreparedStatement, String) throws -> Found?) throws -> [Found] {
        var found: [Found] = []
        found.reserveCapacity(names.count)
        for name in names.count > 1 ? names.distinctNames : names {
            try use(statement) { prepared in
                if let one = try find(prepared, name) { found.append(one) }
            }
        }
        return found
    }

    func records(in zone: ZoneAddress, named names: [String], bytesMax: Int = .max) throws -> [RecordRow] {
        var bytes = 0
        return try each(of: names, .recordByName) { statement, name in
            guard bytes < bytesMax else { return nil }
            statement.bind(zone)
            statement.bind(name)
            guard try statement.step() else { return nil }
            let row = statement.record(named: statement.string())
            bytes += row.body.count
            return row
        }
    }

    func heads(in zone: ZoneAddress, named names: [String]) throws -> [RecordRow] {
        try each(of: names, .recordHeadByName) { statement, name in
            statement.bind(zone)
            statement.bind(name)
            return try statement.step() ? statement.record(named: statement.string()) : nil
        }
    }

    func database(_ id: DatabaseID) throws -> DatabaseRow? {
        try use(.databaseByID) { statement in
            statement.bind(id.rawValue)
            return try statement.step() ? statement.databaseRow() : nil
        }
    }

    /// Returns the live zones of these names.
    func zones(in database: DatabaseID, named names: [String]) throws -> [ZoneRow] {
        try each(of: names, .zoneByName) { statement, name in
            statement.bind(database.rawValue)
            statement.bind(name)
            return try statement.step() ? statement.zone(in: database, named: name) : nil
        }
    }

    /// Returns a zone of any state.
    func zone(_ address: ZoneAddress) throws -> ZoneRow? {
        try use(.zoneByKey) { statement in
            statement.bind(address)
            return try statement.step() ? statement.zone(in: address.database) : nil
        }
    }

    func entry(_ key: EntryKey) throws -> EntryRow? {
        try use(.entryByKey) { statement in
            statement.bind(key.database.rawValue)
            statement.bind(key.kind.rawValue)
            statement.bind(key.key)
            return try statement.step() ? statement.entry(in: key.database, key.kind) : nil
        }
    }

    func task(_ key: TaskKey) throws -> TaskRow? {
        try use(.taskByKey) { statement in
            statement.bind(key)
            guard try statement.step() else { return nil }
            let (due, attempts) = (statement.timestamp(), statement.integer())
            return TaskRow(key: key, payload: statement.bytes(), due: due, attempts: attempts)
        }
    }

    func operation(in database: DatabaseID, _ id: String) throws -> OperationRow? {
        try use(.operationByID) { statement in
            statement.bind(database.rawValue)
            statement.bind(id)
            guard try statement.step() else { return nil }
            let digest = statement.bytes()
            let result = statement.bytes()
            let expires = statement.timestamp()
            return OperationRow(database: database, id: id, caller: statement.string(), digest: digest, result: result, expires: expires)
        }
    }
}
