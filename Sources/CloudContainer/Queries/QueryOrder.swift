import CloudWire

/// One key of an order, and the index that is in that order.
struct SortTerm: Hashable, Sendable {
    var field: String
    var type: FieldType
    var index: IndexDefinition
    var isAscending: Bool
    /// By the distance from here.
    var from: GeoPoint?

    var isUsable: Bool { index.state == .usable }

    /// A record without a place is farther than all places.
    static let farthest: [UInt8] = [0xff]

    func key(of record: StoredRecord) -> [UInt8] {
        let value = record.value(of: field)
        guard let from else { return value.flatMap { IndexKey.key(of: $0, as: type) } ?? IndexKey.none }
        guard case .location(let location) = value else { return Self.farthest }
        return IndexKey.number(GeoPoint(location).distance(to: from))
    }
}

/// A place in an order: a record's, or an edge of all records that begin with these keys.
struct QueryPosition: Hashable, Sendable {
    enum Spot: Hashable, Sendable {
        case before
        case record(name: String, zone: Int64)
        case behind
    }

    /// As many as the order has terms, or fewer at an edge.
    var keys: [[UInt8]]
    var spot: Spot
}

/// What a record counts by in an order.
struct QueryHit: Sendable {
    var keys: [[UInt8]]
    /// With the fields that the query looks at.
    var record: StoredRecord
    /// The place of the record's zone among those that are asked.
    var zone: Int64

    var position: QueryPosition { QueryPosition(keys: keys, spot: .record(name: record.row.name, zone: zone)) }
}

/// The order of a query's answers: by its terms, then by name, then by zone. So there are no two records at one place, and a cursor
/// can say where to go on; see `docs/decisions/queries-go-on-at-a-place.md`.
struct QueryOrder: Hashable, Sendable {
    var terms: [SortTerm]

    /// Names go in the direction of the last term, because that is how its index gives them.
    var namesAscend: Bool { terms.last?.isAscending ?? true }

    /// -1, 0 or 1: whether `left` comes first.
    func compare(_ left: QueryPosition, _ right: QueryPosition) -> Int {
        for (place, (one, other)) in zip(left.keys, right.keys).enumerated() where one != other {
            return one.lexicographicallyPrecedes(other) == terms[place].isAscending ? -1 : 1
        }
        switch (left.spot, right.spot) {
        case (.record(let one, let oneZone), .record(let other, let otherZone)):
            if one != other { return one.utf8.lexicographicallyPrecedes(other.utf8) == namesAscend ? -1 : 1 }
            return oneZone == otherZone ? 0 : oneZone < otherZone ? -1 : 1
        case (.before, .before), (.behind, .behind):
            // Of two edges with as many keys neither is first; else the wider one embraces the other.
            guard left.keys.count != right.keys.count else { return 0 }
            return (left.keys.count < right.keys.count) == (left.spot == .before) ? -1 : 1
        case (.before, _), (_, .behind): return -1
        case (_, .before), (.behind, _): return 1
        }
    }

    func isBehind(_ position: QueryPosition, _ edge: QueryPosition?) -> Bool {
        edge.map { compare($0, position) < 0 } ?? true
    }
}
