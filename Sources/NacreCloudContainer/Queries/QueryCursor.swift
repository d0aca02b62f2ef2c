import NacreCloudWire

/// Where a page of a query ended. Sealed, it is the continuation marker: all that the next page needs, and of use to nobody else.
struct QueryCursor: Hashable, Sendable {
    /// By what the records are ordered.
    enum Order: Hashable, Sendable {
        /// As the query asks; by name where it asks for no order.
        case asked
        /// Nobody asked for one, and the records were too many to be put in the order of their names: by the field of this filter.
        case ofFilter(Int)
    }

    /// Where what is queried stood when a page was answered.
    struct Seen: Hashable, Sendable {
        /// Of the zone that is queried; of all zones, the default one, which is not in the database's feed.
        var zone: ChangeNumber
        /// Of the database where all of its zones are queried, else zero.
        var database: ChangeNumber
    }

    /// How a page looks for records. A page that got nowhere is followed by one that tries harder.
    enum Effort: UInt8, Hashable, Sendable {
        /// Filters are probed, and the cheapest way is taken.
        case search
        /// All questions go to the walk in the query's order.
        case walk
        /// As `walk`, and it asks until it gets somewhere.
        case persist
        /// As `search` once the index is there without which the page before got nowhere; until then it reads nothing.
        case wait

        /// Whether all ways are tried.
        var triesAll: Bool { self == .search || self == .wait }

        /// How the page behind one with this effort looks for records. One that got nowhere is followed by one that tries harder, or that waits; one
        /// that persisted, or waited, has made its way. Where it found that every filter has more matches than a page may look at, the others need not find
        /// that again.
        func next(gotSomewhere: Bool, lacksIndex: Bool, onlyWalks: Bool) -> Effort {
            switch (self, gotSomewhere) {
            case (.search, true) where onlyWalks: .walk
            case (.persist, true): .walk
            case (.wait, true): .search
            case (_, true): self
            case (_, false) where lacksIndex: .wait
            case (_, false): triesAll ? .walk : .persist
            }
        }
    }

    /// Of the query, of where it was asked and by whom.
    var digest: UInt64
    var order: Order
    var effort = Effort.search
    var position: QueryPosition
    /// What earlier pages told is as old as this: where it was lost, the place means nothing.
    var seen: Seen

    /// 2: cursors say what their client has seen. 3: and with which effort to go on. 4: they are of a kind of their own.
    private static let version: UInt8 = 4
    private static let oldestRead: UInt8 = 2

    /// Beside the kinds of `ChangeToken`, so that one is never taken for the other. Before version 4 it was one of them, and only the digest told them apart.
    private static func kind(of version: UInt8) -> UInt8 { version < 4 ? 3 : 4 }

    init(digest: UInt64, order: Order, effort: Effort = .search, position: QueryPosition, seen: Seen) {
        self.digest = digest
        self.order = order
        self.effort = effort
        self.position = position
        self.seen = seen
    }

    var bytes: [UInt8] {
        var writer = ByteWriter()
        writer.byte(Self.version)
        writer.byte(Self.kind(of: Self.version))
        writer.fixed(digest)
        switch order {
        case .asked: writer.number(0)
        case .ofFilter(let place): writer.number(UInt64(place) + 1)
        }
        writer.number(UInt64(position.keys.count))
        for key in position.keys { writer.block(key) }
        switch position.spot {
        case .before: writer.byte(0)
        case .behind: writer.byte(1)
        case .record(let name, let zone):
            writer.byte(2)
            writer.string(name)
            writer.signed(zone)
        }
        writer.write(seen.zone)
        writer.write(seen.database)
        writer.byte(effort.rawValue)
        return writer.bytes
    }

    /// nil for bytes that are no cursor of this version.
    init?(_ bytes: [UInt8]) {
        var reader = ByteReader(bytes)
        guard let cursor = try? Self.read(&reader), reader.isAtEnd else { return nil }
        self = cursor
    }

    private static func read(_ reader: inout ByteReader) throws(MalformedBytes) -> QueryCursor {
        let version = try reader.byte()
        guard (oldestRead...Self.version).contains(version), try reader.byte() == kind(of: version) else { throw MalformedBytes() }
        let digest = try reader.fixed()
        let filter = try reader.number()
        guard filter <= UInt64(Limits.filtersPerQuery) else { throw MalformedBytes() }
        var keys: [[UInt8]] = []
        for _ in 0..<(try reader.count()) { keys.append(try reader.block()) }
        let spot: QueryPosition.Spot
        switch try reader.byte() {
        case 0: spot = .before
        case 1: spot = .behind
        case 2: spot = .record(name: try reader.string(), zone: try reader.signed())
        default: throw MalformedBytes()
        }
        let seen = Seen(zone: try reader.changeNumber(), database: try reader.changeNumber())
        guard let effort = version == oldestRead ? .search : Effort(rawValue: try reader.byte()) else { throw MalformedBytes() }
        return QueryCursor(
            digest: digest, order: filter == 0 ? .asked : .ofFilter(Int(filter) - 1), effort: effort,
            position: QueryPosition(keys: keys, spot: spot), seen: seen)
    }
}

/// What a query reads, as it stands now.
struct QueriedState {
    /// See `QueryCursor.Seen`; nil where there is no row yet.
    private let zone: ZoneRow?
    private let database: DatabaseRow?

    /// - Parameter zones: those that the request asks.
    init(_ request: RecordsQueryRequest, in zones: [ZoneRow], of database: DatabaseID, _ transaction: any ReadTransaction) throws {
        zone = request.asksAllZones ? zones.first { $0.name == ZoneID.defaultZoneName } : zones.first
        self.database = request.asksAllZones ? try transaction.databases([database]).first : nil
    }

    var seen: QueryCursor.Seen { QueryCursor.Seen(zone: zone?.number ?? .zero, database: database?.number ?? .zero) }

    /// Calls of the store that `follows` makes: one for each that was numbered anew since.
    func calls(toFollow seen: QueryCursor.Seen) -> Int {
        func asks(_ seen: ChangeNumber, _ now: ChangeNumber?) -> Bool { now.map { seen != .zero && seen.run != $0.run } ?? false }
        return [asks(seen.zone, zone?.number), asks(seen.database, database?.number)].count { $0 }
    }

    /// Whether nothing of what was seen was lost since.
    func follows(_ seen: QueryCursor.Seen, _ transaction: any ReadTransaction) throws -> Bool {
        let followsZone = try zone.map { try transaction.knows(seen.zone, of: $0) } ?? (seen.zone == .zero)
        let followsDatabase = try database.map { try transaction.knows(seen.database, of: $0) } ?? (seen.database == .zero)
        return followsZone && followsDatabase
    }
}

extension QueryCursor {
    /// Binds a cursor: what differs here is another query. How much of the records is wanted, and how many at once, may change.
    static func digest(of request: RecordsQueryRequest, in database: DatabaseID, by caller: Caller) -> UInt64 {
        var writer = ByteWriter()
        writer.fixed(UInt64(bitPattern: database.rawValue))
        writer.string(caller.userRecordName ?? "")
        writer.byte(request.zoneID != nil ? 0 : request.zoneWide ? 1 : 2)
        writer.string(request.zoneID?.zoneName ?? "")
        writer.string(request.query.recordType)
        writer.number(UInt64(request.query.filters.count))
        for filter in request.query.filters {
            writer.string(filter.comparator.rawValue)
            writer.string(filter.fieldName ?? "")
            RecordBody.write(filter.value, to: &writer)
            writer.double(filter.distance ?? -1)
        }
        for sort in request.query.sorts {
            writer.string(sort.fieldName)
            writer.byte(sort.isAscending ? 1 : 0)
            writer.byte(sort.relativeLocation == nil ? 0 : 1)
            if let location = sort.relativeLocation { RecordBody.write(.location(location), to: &writer) }
        }
        // FNV-1a: the seal keeps forgers out, this only tells one query from another.
        return writer.bytes.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01b3 }
    }
}
