import NacreCloudWire

/// One key of an order, and the index that is in that order.
struct SortTerm: Hashable, Sendable {
    var field: String
    var type: FieldType
    /// nil: it is not made.
    var index: IndexDefinition?
    var isAscending: Bool
    /// By the distance from here.
    var from: GeoPoint?
    /// The part of an index of two fields that is in this order, and that has all records which the filter lets through.
    var part: Part?

    struct Part: Hashable, Sendable {
        var index: IndexDefinition
        /// What all keys of the part begin with.
        var prefix: [UInt8]
        /// Of the filter on the first field, its place in the query and its field.
        var filter: Int
        var field: String
    }

    /// The index, where it has all its rows.
    var usableIndex: IndexID? { part?.index.index ?? index.flatMap { $0.state == .usable ? $0.index : nil } }

    var isUsable: Bool { usableIndex != nil }

    /// A record without a location is farther than all locations.
    static let farthest: [UInt8] = [0xff]

    /// - Parameters:
    ///   - value: the record's of a term's field; nil: it has none.
    ///   - type: the term's.
    ///   - from: the term's.
    static func key(_ value: FieldValue?, as type: FieldType, from: GeoPoint?) -> [UInt8] {
        guard let from else { return value.flatMap { IndexKey.key(of: $0, as: type) } ?? IndexKey.none }
        guard case .location(let location) = value else { return farthest }
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

    /// Before all records.
    static let start = QueryPosition(keys: [], spot: .before)
}

/// A record that passes, and its place in the order. A class, so that to sort several of them moves no records.
final class QueryHit: Sendable {
    let position: QueryPosition
    let name: String
    /// Bytes of its body.
    let size: Int
    /// nil: it is read again if it is answered; see `QueryReader.keeping`.
    let row: RecordRow?
    /// What `RecordBody.placeOfPlainFields` says of the row, where it is known.
    let plainPlace: Int?

    convenience init(keys: [[UInt8]], row: RecordRow, zone: Int64, plainPlace: Int? = nil) {
        let position = QueryPosition(keys: keys, spot: .record(name: row.name, zone: zone))
        self.init(position, name: row.name, size: row.body.count, row: row, plainPlace)
    }

    private init(_ position: QueryPosition, name: String, size: Int, row: RecordRow?, _ plainPlace: Int?) {
        self.plainPlace = plainPlace
        self.position = position
        self.name = name
        self.size = size
        self.row = row
    }

    var withoutRow: QueryHit { QueryHit(position, name: name, size: size, row: nil, nil) }
}

/// The order of a query's answers: by its terms, then by name, then by zone. So there are no two records at one place, and a cursor
/// can say where to go on; see `docs/decisions/queries-go-on-at-a-place.md`.
struct QueryOrder: Hashable, Sendable {
    var terms: [SortTerm]

    /// Names go in the direction of the last term, because that is how its index gives them.
    var namesAscend: Bool { terms.last?.isAscending ?? true }

    /// -1, 0 or 1: whether `left` comes first.
    func compare(_ left: QueryPosition, _ right: QueryPosition) -> Int {
        for place in 0..<min(left.keys.count, right.keys.count) {
            let order = ByteOrder.compare(left.keys[place], right.keys[place])
            if order != 0 { return (order < 0) == terms[place].isAscending ? -1 : 1 }
        }
        switch (left.spot, right.spot) {
        case (.record(let one, let oneZone), .record(let other, let otherZone)):
            let order = ByteOrder.compare(one, other)
            if order != 0 { return (order < 0) == namesAscend ? -1 : 1 }
            return oneZone == otherZone ? 0 : oneZone < otherZone ? -1 : 1
        case (.before, .before), (.behind, .behind):
            // Of two edges with as many keys neither is first; else the wider one embraces the other.
            guard left.keys.count != right.keys.count else { return 0 }
            return (left.keys.count < right.keys.count) == (left.spot == .before) ? -1 : 1
        case (.before, _), (_, .behind): return -1
        case (_, .before), (.behind, _): return 1
        }
    }

    /// A number that is smaller for the position that comes first, or equal where only `compare` tells: the beginning of the first key.
    func rank(of position: QueryPosition) -> UInt64 {
        guard let key = position.keys.first, let term = terms.first else { return 0 }
        var rank: UInt64 = 0
        for place in 0..<8 { rank = rank << 8 | (place < key.count ? UInt64(key[place]) : 0) }
        return term.isAscending ? rank : ~rank
    }

    func isBehind(_ position: QueryPosition, _ edge: QueryPosition?) -> Bool {
        edge.map { compare($0, position) < 0 } ?? true
    }
}
