import NacreCloudStorage
import NacreCloudWire

/// Reads of whole tables, and of rows that can be derived from records.
extension Connection {
    func rows(of table: KeptTable, after place: RowKey?, limit: Int) throws -> [KeptRow] {
        let place = place ?? .start(of: table)
        if table == .index, try hasPackedIndexes { return try indexRows(after: place, limit: limit) }
        return try use(table.walk) { statement in
            try statement.bind(place.parts) { statement in
                statement.bind(max(limit, 0))
                var (rows, bytes) = ([KeptRow](), 0)
                while bytes < Self.checkedBytes, try statement.step() {
                    rows.append(try statement.kept(table))
                    if case .record(_, let row)? = rows.last?.value { bytes += row.body.count }
                }
                return rows
            }
        }
    }

    /// The bytes of records after which a step of a check reads no more.
    private static let checkedBytes = 4_000_000

    /// Searches in the order of the keys, so that each page and each block is read once for all its rows.
    func missing(_ rows: [DerivedRow]) throws -> [DerivedRow] {
        var packed = PackedLookup(self)
        var places: [Int] = []
        for place in Self.inOrder(rows) where try !has(rows[place], &packed) { places.append(place) }
        return places.sorted().map { rows[$0] }
    }

    /// Returns the indices of the rows: first all others, then index rows in the order of their keys.
    private static func inOrder(_ rows: [DerivedRow]) -> [Int] {
        var (others, ofIndexes) = ([Int](), [(index: ZoneIndex, row: PackedRow, place: Int)]())
        for index in rows.indices {
            if case .index(let zone, let entry, let name) = rows[index] {
                ofIndexes.append((ZoneIndex(zone: zone, index: entry.index.rawValue), PackedRow(key: entry.key, name: name), index))
            } else {
                others.append(index)
            }
        }
        ofIndexes.sort { $0.index == $1.index ? $0.row.order(to: $1.row) < 0 : $0.index.isBefore($1.index) }
        return others + ofIndexes.map(\.place)
    }

    private func has(_ row: DerivedRow, _ packed: inout PackedLookup) throws -> Bool {
        switch row {
        case .feed(let zone, let feed, let name):
            try use(.feedHas) { statement in
                statement.bind(zone)
                statement.bind(feed.position.view.rawValue)
                statement.bind(feed.position.number)
                statement.bind(name)
                return try statement.step() && statement.number() == feed.entered && statement.bool() == feed.isDeparture
            }
        case .link(let zone, let link, let name):
            try use(.linkHas) { statement in
                statement.bind(zone)
                statement.bind(link.target)
                statement.bind(link.kind.rawValue)
                statement.bind(name)
                return try statement.step()
            }
        case .unknownLink(let zone, let target, let kind, let name):
            try use(.linkHas) { statement in
                statement.bind(zone)
                statement.bind(target)
                statement.bind(kind)
                statement.bind(name)
                return try statement.step()
            }
        case .index(let zone, let entry, let name):
            try packed.has(entry, of: name, in: zone)
                ?? use(.indexHas) { statement in
                    statement.bind(zone)
                    statement.bind(entry.index.rawValue)
                    return try entry.key.withUnsafeBufferPointer { key in
                        statement.bind(borrowed: key)
                        statement.bind(name)
                        return try statement.step()
                    }
                }
        }
    }

    func bytes(of zone: ZoneAddress) throws -> Int64 {
        try use(.bytesOfZone) { statement in
            statement.bind(zone)
            return try statement.step() ? statement.integer() : 0
        }
    }

    /// Returns the findings of SQLite's own check of a table and its indexes, `PRAGMA integrity_check(table)`, one
    /// table at a time.
    func faults(in table: KeptTable) throws -> [String] {
        let found = try table.names.flatMap { try lines("PRAGMA integrity_check(\($0))") }
        return found.filter { $0 != "ok" }
    }

    func applyDerived(of plan: WritePlan) throws {
        for row in plan.derivedRemoved {
            switch row {
            case .feed(let zone, let feed, let name): try removeFeedRow(zone, feed.position, name)
            case .link(let zone, let link, let name): try change(.linkRemove, zone, link, name)
            case .unknownLink(let zone, let target, let kind, let name): try change(.linkRemove, zone, target, kind: kind, name)
            case .index: break
            }
        }
        for row in plan.derived {
            switch row {
            case .feed(let zone, let feed, let name): try put(feed, of: name, in: zone)
            case .link(let zone, let link, let name): try change(.linkPut, zone, link, name)
            case .unknownLink(let zone, let target, let kind, let name): try change(.linkPut, zone, target, kind: kind, name)
            case .index: break
            }
        }
        try changeIndexRows(removing: plan.derivedRemoved, putting: plan.derived)
    }
}

extension KeptTable {
    fileprivate var names: [String] {
        switch self {
        case .databases: ["databases"]
        case .zones: ["zones"]
        case .records: ["records"]
        case .feed: ["feed"]
        case .links: ["record_links"]
        case .index: ["record_index", "index_waiting", "index_blocks"]
        case .entries: ["entries"]
        case .operations: ["operations"]
        case .tasks: ["tasks"]
        }
    }

    fileprivate var walk: Statement {
        switch self {
        case .databases: .databasesWalk
        case .zones: .zonesWalk
        case .records: .recordsWalk
        case .feed: .feedWalk
        case .links: .linksWalk
        case .index: .indexWalk
        case .entries: .entriesWalk
        case .operations: .operationsWalk
        case .tasks: .tasksWalk
        }
    }
}

extension PreparedStatement {
    /// Binds the parts of a key, whose bytes stay in place during `body`.
    fileprivate func bind<Result>(_ parts: [RowKey.Part], _ body: (PreparedStatement) throws -> Result) throws -> Result {
        for (index, part) in parts.enumerated() {
            switch part {
            case .number(let number): bind(number)
            case .text(let text): bind(text)
            case .bytes(let bytes):
                return try bytes.withUnsafeBufferPointer { bytes in
                    bind(borrowed: bytes)
                    return try bind(Array(parts[(index + 1)...]), body)
                }
            }
        }
        return try body(self)
    }

    private func numberPart() -> RowKey.Part { .number(integer()) }

    fileprivate func kept(_ table: KeptTable) throws -> KeptRow {
        switch table {
        case .databases:
            let place = RowKey([numberPart()])
            return try kept(place) {
                let (row, texts, checksum) = uncheckedDatabase()
                if row.key.environment.rawValue != texts.environment || row.key.scope.rawValue != texts.scope {
                    let fault = StoreError(.corrupt, "A database is of no scope or environment")
                    return .unreadable(fault, mended: nil)
                }
                return Self.checked(.database(row), RowChecksum.of(row), checksum)
            }
        case .zones:
            let address = ZoneAddress(database: DatabaseID(rawValue: integer()), zone: integer())
            return try kept(.zone(address)) {
                let (row, state, checksum) = try uncheckedZone(in: address.database)
                if row.state.rawValue != state {
                    let fault = StoreError(.corrupt, "A zone is in no state that there is")
                    return .unreadable(fault, mended: nil)
                }
                return Self.checked(.zone(row), RowChecksum.of(row), checksum)
            }
        case .records:
            let address = ZoneAddress(database: DatabaseID(rawValue: integer()), zone: integer())
            let name = string()
            return KeptRow(.zone(address, .text(name)), .record(address, record(named: name)))
        case .feed:
            let address = ZoneAddress(database: DatabaseID(rawValue: integer()), zone: integer())
            let position = ViewNumber(view: FeedView(rawValue: integer()), number: number())
            let name = string()
            let row = FeedRow(position: position, entered: number(), isDeparture: bool())
            let key = RowKey.zone(
                address, .number(position.view.rawValue), .number(position.number.run), .number(position.number.seq), .text(name))
            return KeptRow(key, .derived(.feed(address, row, name: name)))
        case .links:
            let address = ZoneAddress(database: DatabaseID(rawValue: integer()), zone: integer())
            let (target, kind, name) = (string(), integer(), string())
            let link = ReferenceLink.Kind(rawValue: kind).map { DerivedRow.link(address, ReferenceLink(target: target, kind: $0), name: name) }
            let row = link ?? .unknownLink(address, target: target, kind: kind, name: name)
            return KeptRow(.zone(address, .text(target), .number(kind), .text(name)), .derived(row))
        case .index:
            let address = ZoneAddress(database: DatabaseID(rawValue: integer()), zone: integer())
            let (index, key, name) = (integer(), bytes(), string())
            let entry = IndexEntry(index: IndexID(rawValue: index), key: key)
            return KeptRow(.zone(address, .number(index), .bytes(key), .text(name)), .derived(.index(address, entry, name: name)))
        case .entries:
            let (database, kind, name) = (DatabaseID(rawValue: integer()), integer(), string())
            return try kept(.database(database, .number(kind), .text(name))) {
                let (row, checksum) = uncheckedEntry(in: database, try known(EntryKind.init(rawValue:), kind, "kind of entry"))
                return Self.checked(.entry(row), RowChecksum.of(row), checksum)
            }
        case .operations:
            let (database, id) = (DatabaseID(rawValue: integer()), string())
            let (digest, result, expires) = (bytes(), bytes(), timestamp())
            let row = OperationRow(database: database, id: id, caller: string(), digest: digest, result: result, expires: expires)
            return KeptRow(.database(database, .text(id)), .operation(row))
        case .tasks:
            let (database, kind, name) = (DatabaseID(rawValue: integer()), integer(), string())
            let (due, attempts) = (timestamp(), integer())
            return try kept(.database(database, .number(kind), .text(name))) {
                let key = TaskKey(database, try known(TaskKind.init(rawValue:), kind, "task kind"), name)
                return .task(TaskRow(key: key, payload: bytes(), due: due, attempts: attempts))
            }
        }
    }

    private static func checked(_ value: KeptRow.Value, _ found: Int64, _ expected: Int64) -> KeptRow.Value {
        expected == found ? value : .unreadable(StoreError(.corrupt, "The row's checksum does not match"), mended: nil)
    }

    private func kept(_ place: RowKey, _ read: () throws -> KeptRow.Value) throws -> KeptRow {
        do {
            return KeptRow(place, try read())
        } catch let error as StoreError {
            return KeptRow(place, .unreadable(error, mended: nil))
        }
    }
}
