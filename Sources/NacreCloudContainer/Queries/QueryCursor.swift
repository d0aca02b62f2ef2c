package import NacreCloudAccounts
package import NacreCloudStorage
package import NacreCloudWire

/// The position where a page of a query ended. Sealed, it is the continuation marker. It holds everything that the next
/// page needs, and is of no use to other callers.
package struct QueryCursor: Hashable, Sendable {
    /// The order of the records.
    package enum Order: Hashable, Sendable {
        /// The order of the query, or by name if it has none.
        case asked
        /// The order by the field of this filter: the query has no order, and too many records to sort them by name.
        case ofFilter(Int)
    }

    /// The state of the queried zones when a page was answered.
    package struct Seen: Hashable, Sendable {
        /// The number of the queried zone. If all zones are queried: the number of the default zone, which is not in
        /// the database's feed.
        package var zone: ChangeNumber
        /// The number of the database if all of its zones are queried, otherwise zero.
        package var database: ChangeNumber
    }

    /// The way in which a page looks for records. A page without progress is followed by one that tries harder.
    package enum Effort: UInt8, Hashable, Sendable {
        /// Probes filters, and takes the cheapest way.
        case search
        /// Spends all calls of the store on the walk in the query's order.
        case walk
        /// Walks like `walk`, with as many calls as it takes to make progress.
        case persist
        /// Reads nothing until the missing index is there, and then does as `search`.
        case wait

        /// Whether all ways are tried.
        var triesAll: Bool { self == .search || self == .wait }

        /// Returns the effort of the next page. After a page without progress it tries harder, or waits for an index.
        /// After progress, `persist` and `wait` end. If every filter has more matches than a page may look at, the next
        /// pages only walk, so that they need not find that again.
        package func next(gotSomewhere: Bool, lacksIndex: Bool, onlyWalks: Bool) -> Effort {
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

    /// The digest of the query, of its database and zone, and of its caller.
    package var digest: UInt64
    package var order: Order
    var effort = Effort.search
    package var position: QueryPosition
    /// The state that earlier pages showed. If that state was lost, the position means nothing.
    package var seen: Seen

    private static let version: UInt8 = 4
    /// The kind differs from those of `ChangeToken`, so that neither is taken for the other.
    private static let kind: UInt8 = 4

    package init(digest: UInt64, order: Order, effort: Effort = .search, position: QueryPosition, seen: Seen) {
        self.digest = digest
        self.order = order
        self.effort = effort
        self.position = position
        self.seen = seen
    }

    package var bytes: [UInt8] {
        var writer = ByteWriter()
        writer.byte(Self.version)
        writer.byte(Self.kind)
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

    /// Reads a cursor; nil for bytes that are none of a known version.
    package init?(_ bytes: [UInt8]) {
        var reader = ByteReader(bytes)
        guard let cursor = try? Self.read(&reader), reader.isAtEnd else { return nil }
        self = cursor
    }

    private static func read(_ reader: inout ByteReader) throws(MalformedBytes) -> QueryCursor {
        guard try reader.byte() == version, try reader.byte() == kind else { throw MalformedBytes() }
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
        guard let effort = Effort(rawValue: try reader.byte()) else { throw MalformedBytes() }
        return QueryCursor(
            digest: digest, order: filter == 0 ? .asked : .ofFilter(Int(filter) - 1), effort: effort,
            position: QueryPosition(keys: keys, spot: spot), seen: seen)
    }
}

/// The current state of the zones that a query reads.
struct QueriedState {
    /// See `QueryCursor.Seen`; nil if there is no row yet.
    private let zone: ZoneRow?
    private let database: DatabaseRow?

    /// - Parameter zones: the zones of the request.
    package init(_ request: RecordsQueryRequest, in zones: [ZoneRow], of database: DatabaseID, _ transaction: any ReadTransaction) throws {
        zone = request.asksAllZones ? zones.first { $0.name == ZoneID.defaultZoneName } : zones.first
        self.database = request.asksAllZones ? try transaction.databases([database]).first : nil
    }

    package var seen: QueryCursor.Seen { QueryCursor.Seen(zone: zone?.number ?? .zero, database: database?.number ?? .zero) }

    /// Returns the number of calls of the store that `follows` makes: one for each number of an earlier run.
    package func calls(toFollow seen: QueryCursor.Seen) -> Int {
        func asks(_ seen: ChangeNumber, _ now: ChangeNumber?) -> Bool { now.map { seen != .zero && seen.run != $0.run } ?? false }
        return [asks(seen.zone, zone?.number), asks(seen.database, database?.number)].count { $0 }
    }

    /// Whether nothing of the seen state was lost since.
    package func follows(_ seen: QueryCursor.Seen, _ transaction: any ReadTransaction) throws -> Bool {
        let followsZone = try zone.map { try transaction.knows(seen.zone, of: $0) } ?? (seen.zone == .zero)
        let followsDatabase = try database.map { try transaction.knows(seen.database, of: $0) } ?? (seen.database == .zero)
        return followsZone && followsDatabase
    }
}

extension QueryCursor {
    /// Returns the digest that binds a cursor to its query. The desired keys and the limit of results are not part of
    /// it, and may change.
    package static func digest(of request: RecordsQueryRequest, in database: DatabaseID, by caller: Caller) -> UInt64 {
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
        // FNV-1a: the seal stops forgeries, this only tells queries apart.
        return writer.bytes.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01b3 }
    }
}
