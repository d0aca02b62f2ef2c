import NacreCloudStorage
import NacreCloudStore
import NacreCloudWire

/// Reads of whole tables, and of rows that can be derived from records.
extension PostgresConnection {
    /// The bytes of records after which a step of a check reads no more.
    private static let checkedBytes: Int64 = 4_000_000

    func rows(of table: KeptTable, after place: RowKey?, limit: Int) throws -> [KeptRow] {
        var values: [Value] = (place ?? .start(of: table)).parts.map { part in
            switch part {
            case .number(let number): .number(number)
            case .text(let text): .name(text)
            case .bytes(let bytes): .bytes(bytes)
            }
        }
        values.append(.limit(limit))
        if table == .records { values.append(.number(Self.checkedBytes)) }
        return try ask(table.walk, values).rows { try $0.kept(table) }
    }

    func missing(_ rows: [DerivedRow]) throws -> [DerivedRow] {
        var asked: [Int] = []
        for group in rows.enumerated().grouped(by: { $1.zone.database }) { asked += try sendMissing(group.elements, of: group.key) }
        let answers = try flush()
        let places = try asked.flatMap { try answers[$0].rows { Int(try $0.integer()) } }
        return places.sorted().map { rows[$0] }
    }

    /// - Returns: The indices of the answers, which have the places of the rows that are missing.
    private func sendMissing(_ rows: [(offset: Int, element: DerivedRow)], of database: DatabaseID) throws -> [Int] {
        var (feed, links, index) = (FeedArrays(), LinkArrays(), IndexArrays())
        var (ofFeed, ofLinks, ofIndex) = (DerivedPlaces(), DerivedPlaces(), DerivedPlaces())
        for (place, row) in rows {
            switch row {
            case .feed(let zone, let row, let name):
                feed.add(row, name)
                ofFeed.add(place, zone)
            case .link(let zone, let link, let name):
                links.add(link.target, link.kind.rawValue, name)
                ofLinks.add(place, zone)
            case .unknownLink(let zone, let target, let kind, let name):
                links.add(target, kind, name)
                ofLinks.add(place, zone)
            case .index(let zone, let entry, let name):
                index.add(entry.index, entry.key, name)
                ofIndex.add(place, zone)
            }
        }
        return try [
            ofFeed.isEmpty ? nil : send(.feedMissing, [.id(database)] + ofFeed.values + feed.values),
            ofLinks.isEmpty ? nil : send(.linksMissing, [.id(database)] + ofLinks.values + links.values),
            ofIndex.isEmpty ? nil : send(.indexMissing, [.id(database)] + ofIndex.values + index.values),
        ].compactMap { $0 }
    }

    /// Reads all of a table, and returns the fault that PostgreSQL finds in it. The transaction is over with a fault.
    func faults(in table: KeptTable) throws -> [String] {
        do {
            _ = try ask(table.whole)
            return []
        } catch let failure as PostgresFailure where ["XX001", "XX002", "58030"].contains(failure.code) {
            return [failure.message]
        }
    }
}

/// The places of derived rows among those that were asked for, and their zones.
private struct DerivedPlaces {
    private var places: [Int64] = []
    private var zones: [Int64] = []

    mutating func add(_ place: Int, _ zone: ZoneAddress) {
        places.append(Int64(place))
        zones.append(zone.zone)
    }

    var isEmpty: Bool { places.isEmpty }
    var values: [Value] { [.numbers(places), .numbers(zones)] }
}

extension KeptTable {
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

    fileprivate var whole: Statement {
        switch self {
        case .databases: .databasesRead
        case .zones: .zonesRead
        case .records: .recordsRead
        case .feed: .feedRead
        case .links: .linksRead
        case .index: .indexRead
        case .entries: .entriesRead
        case .operations: .operationsRead
        case .tasks: .tasksRead
        }
    }
}

extension Cells {
    fileprivate mutating func kept(_ table: KeptTable) throws -> KeptRow {
        var key = self
        let database = DatabaseID(rawValue: try key.integer())
        switch table {
        case .databases: return kept(.database(database)) { .database(try $0.database()) }
        case .entries, .tasks:
            let place = RowKey.database(database, .number(try key.integer()), .text(key.string()))
            _ = try integer()
            return kept(place) { table == .entries ? .entry(try $0.entry(in: database)) : .task(try $0.task(in: database)) }
        case .operations:
            _ = try integer()
            let id = string()
            return KeptRow(.database(database, .text(id)), .operation(try operation(in: database, id)))
        case .zones, .records, .feed, .links, .index:
            let zone = ZoneAddress(database: database, zone: try key.integer())
            _ = try integer()
            if table == .zones { return kept(.zone(zone)) { .zone(try $0.zone(in: database)) } }
            _ = try integer()
            return try keptOfZone(table, zone)
        }
    }

    private mutating func keptOfZone(_ table: KeptTable, _ zone: ZoneAddress) throws -> KeptRow {
        switch table {
        case .feed:
            let position = ViewNumber(view: FeedView(rawValue: try integer()), number: try number())
            let name = string()
            let row = FeedRow(position: position, entered: try number(), isDeparture: try bool())
            let key = RowKey.zone(zone, .number(position.view.rawValue), .number(position.number.run), .number(position.number.seq), .text(name))
            return KeptRow(key, .derived(.feed(zone, row, name: name)))
        case .links:
            let (target, kind, name) = (string(), try integer(), string())
            let link = ReferenceLink.Kind(rawValue: kind).map { DerivedRow.link(zone, ReferenceLink(target: target, kind: $0), name: name) }
            let row = link ?? .unknownLink(zone, target: target, kind: kind, name: name)
            return KeptRow(.zone(zone, .text(target), .number(kind), .text(name)), .derived(row))
        case .index:
            let (index, key, name) = (try integer(), bytes(), string())
            let entry = IndexEntry(index: IndexID(rawValue: index), key: key)
            return KeptRow(.zone(zone, .number(index), .bytes(key), .text(name)), .derived(.index(zone, entry, name: name)))
        default:
            let row = try record()
            return KeptRow(.zone(zone, .text(row.name)), .record(zone, row))
        }
    }

    /// Returns a row that this version may not be able to read.
    private mutating func kept(_ key: RowKey, _ read: (inout Cells) throws -> KeptRow.Value) -> KeptRow {
        do {
            return KeptRow(key, try read(&self))
        } catch {
            return KeptRow(key, .unreadable(StoreError(postgres: error), mended: nil))
        }
    }
}
