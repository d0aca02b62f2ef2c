package import NacreCloudStorage
package import NacreCloudWire

/// One key of an order, and the index in that order.
package struct SortTerm: Hashable, Sendable {
    package var field: String
    package var type: FieldType
    /// nil: the index is not made.
    package var index: IndexDefinition?
    package var isAscending: Bool
    /// The point from which distances are sorted; nil: values are sorted.
    package var from: GeoPoint?
    /// The part of an index of two fields that is in this order and has all records that pass the filter.
    package var part: Part?

    package struct Part: Hashable, Sendable {
        package var index: IndexDefinition
        /// The bytes with which all keys of the part begin.
        package var prefix: [UInt8]
        /// The position in the query of the filter on the first field, and below its field.
        package var filter: Int
        package var field: String
    }

    /// The index, if it is complete.
    var usableIndex: IndexID? { part?.index.index ?? index.flatMap { $0.state == .usable ? $0.index : nil } }

    package var isUsable: Bool { usableIndex != nil }

    /// The key of a record without a location, which is farther than all locations.
    package static let farthest: [UInt8] = [0xff]

    /// - Parameters:
    ///   - value: the record's value of the term's field; nil: it has none.
    ///   - type: the type of the term.
    ///   - from: the point of the term.
    package static func key(_ value: FieldValue?, as type: FieldType, from: GeoPoint?) -> [UInt8] {
        guard let from else { return value.flatMap { IndexKey.key(of: $0, as: type) } ?? IndexKey.none }
        guard case .location(let location) = value else { return farthest }
        return IndexKey.number(GeoPoint(location).distance(to: from))
    }
}

/// A position in an order: that of a record, or an edge of all records that begin with these keys.
package struct QueryPosition: Hashable, Sendable {
    package enum Spot: Hashable, Sendable {
        case before
        case record(name: String, zone: Int64)
        case behind
    }

    /// One key for each term of the order, or fewer at an edge.
    package var keys: [[UInt8]]
    package var spot: Spot

    /// The position before all records.
    package static let start = QueryPosition(keys: [], spot: .before)
}

/// A record that passes, and its position in the order. A class, so that sorting moves no records.
package final class QueryHit: Sendable {
    package let position: QueryPosition
    package let name: String
    /// The bytes of its body.
    package let size: Int
    /// nil: it is read again if the page returns it; see `QueryReader.keeping`.
    package let row: RecordRow?
    /// The result of `RecordBody.offsetOfPlainFields` for the row, if it is known.
    let plainOffset: Int?

    package convenience init(keys: [[UInt8]], row: RecordRow, zone: Int64, plainOffset: Int? = nil) {
        let position = QueryPosition(keys: keys, spot: .record(name: row.name, zone: zone))
        self.init(position, name: row.name, size: row.body.count, row: row, plainOffset)
    }

    private init(_ position: QueryPosition, name: String, size: Int, row: RecordRow?, _ plainOffset: Int?) {
        self.plainOffset = plainOffset
        self.position = position
        self.name = name
        self.size = size
        self.row = row
    }

    var withoutRow: QueryHit { QueryHit(position, name: name, size: size, row: nil, nil) }
}

/// The order of a query's answers: by its terms, then by name, then by zone. No two records have one position, so that
/// a cursor can name it; see `docs/decisions/queries-cursors.md`.
package struct QueryOrder: Hashable, Sendable {
    package var terms: [SortTerm]

    /// Whether names ascend. They follow the last term, because its index returns them in that direction.
    var namesAscend: Bool { terms.last?.isAscending ?? true }

    /// Returns -1, 0 or 1 if `left` comes before, with or after `right`.
    package func compare(_ left: QueryPosition, _ right: QueryPosition) -> Int {
        for index in 0..<min(left.keys.count, right.keys.count) {
            let order = ByteOrder.compare(left.keys[index], right.keys[index])
            if order != 0 { return (order < 0) == terms[index].isAscending ? -1 : 1 }
        }
        switch (left.spot, right.spot) {
        case (.record(let one, let oneZone), .record(let other, let otherZone)):
            let order = ByteOrder.compare(one, other)
            if order != 0 { return (order < 0) == namesAscend ? -1 : 1 }
            return oneZone == otherZone ? 0 : oneZone < otherZone ? -1 : 1
        case (.before, .before), (.behind, .behind):
            // Two edges with as many keys are equal. Otherwise the one with fewer keys encloses the other.
            guard left.keys.count != right.keys.count else { return 0 }
            return (left.keys.count < right.keys.count) == (left.spot == .before) ? -1 : 1
        case (.before, _), (_, .behind): return -1
        case (_, .before), (.behind, _): return 1
        }
    }

    /// Returns the start of the first key, smaller for an earlier position. If two are equal, only `compare` tells.
    package func rank(of position: QueryPosition) -> UInt64 {
        guard let key = position.keys.first, let term = terms.first else { return 0 }
        var rank: UInt64 = 0
        for index in 0..<8 { rank = rank << 8 | (index < key.count ? UInt64(key[index]) : 0) }
        return term.isAscending ? rank : ~rank
    }

    package func isBehind(_ position: QueryPosition, _ edge: QueryPosition?) -> Bool {
        edge.map { compare($0, position) < 0 } ?? true
    }
}
