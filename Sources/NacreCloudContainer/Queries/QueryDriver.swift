package import NacreCloudStorage
package import NacreCloudWire

/// A filter's ranges of an index, which contain all records that pass it, and perhaps some more.
package struct QueryDriver: Hashable, Sendable {
    /// The filter's position in the query.
    package var filter: Int
    package var spans: [IndexSpan]
    /// Whether each span is one key, in which records are in the order of their names.
    var isPoints: Bool
    /// Whether no record occurs in the spans twice.
    var isOneRowEach: Bool
    /// An order in which the spans can be walked if the query has none.
    var ownTerm: SortTerm?

    /// Returns the ways to the records that may pass a filter; none if an index for them is not made or complete.
    package static func ways(to test: FilterTest, filter: Int, at fields: [FieldDefinition], value: FieldValue) -> [QueryDriver] {
        if test.comparator.isTokenSearch { return ways(toWordsOf: test, filter: filter, at: fields) }
        guard let field = fields.first, let name = test.fields.first, let values = field.values, values.state == .usable else { return [] }
        let index = values.index
        func points(_ values: [FieldValue]) -> QueryDriver {
            let keys = Set(values.compactMap { key(of: $0, in: field) })
            let spans = keys.sorted { $0.lexicographicallyPrecedes($1) }.map { IndexSpan(index: index, lower: $0, upper: IndexKey.successor($0)) }
            return QueryDriver(filter: filter, spans: spans, isPoints: true, isOneRowEach: !field.type.isList || spans.count == 1)
        }
        func range(_ lower: [UInt8], _ upper: [UInt8]?) -> QueryDriver {
            let term = field.type.isList || field.type == .location ? nil : SortTerm(field: name, type: field.type, index: values, isAscending: true)
            let span = IndexSpan(index: index, lower: lower, upper: upper)
            return QueryDriver(filter: filter, spans: [span], isPoints: false, isOneRowEach: !field.type.isList, ownTerm: term)
        }
        switch test.comparator {
        case .equals, .listContains: return [points([value])]
        case .in, .listContainsAny: return [points(value.elements)]
        case .listContainsAll where !value.elements.isEmpty: return value.elements.map { points([$0]) }
        case .lessThan, .lessThanOrEquals, .greaterThan, .greaterThanOrEquals:
            guard let bound = IndexKey.bound(of: value, as: field.type) else { return [] }
            let behind = IndexKey.successor(bound.key)
            switch test.comparator {
            case .lessThan: return [range(IndexKey.firstValue, bound.isExact ? bound.key : behind)]
            case .lessThanOrEquals: return [range(IndexKey.firstValue, behind)]
            case .greaterThan: return [range(bound.isExact ? behind : bound.key, nil)]
            default: return [range(bound.key, nil)]
            }
        case .beginsWith, .listMemberBeginsWith:
            guard let bound = IndexKey.bound(of: value, as: .string) else { return [] }
            return [range(bound.key, IndexKey.end(ofPrefix: bound.key))]
        case .near:
            guard case .location(let location) = value else { return [] }
            let place = GeoPoint(location)
            let spans = GeoCover.spans(of: GeoCover.cells(around: place, within: test.distance), in: index)
            let term = SortTerm(field: name, type: .location, index: values, isAscending: true, from: place)
            return [QueryDriver(filter: filter, spans: spans, isPoints: false, isOneRowEach: true, ownTerm: term)]
        case .notEquals, .notIn, .notBeginsWith, .notListContains, .notListContainsAny, .notListContainsAll, .listContainsAll,
            .notListMemberBeginsWith, .containsAllTokens, .containsAnyTokens:
            return [range(IndexKey.firstPresent, nil)]
        }
    }

    /// Returns the key of a value; nil: no record has it.
    private static func key(of value: FieldValue, in field: FieldDefinition) -> [UInt8]? {
        guard let bound = IndexKey.bound(of: value, as: field.type.element) else { return nil }
        // A number between two possible values of the field equals none of them.
        return bound.isExact || field.type.element == .string || field.type.element == .bytes ? bound.key : nil
    }

    /// Returns the key of the only value that passes a filter; nil if other values pass too, or none does.
    package static func point(of filter: QueryFilter, at field: FieldDefinition) -> [UInt8]? {
        filter.comparator == .equals || filter.comparator == .listContains ? key(of: filter.value, in: field) : nil
    }

    /// Returns one way for each word if all words must occur, otherwise one way for all of them.
    private static func ways(toWordsOf test: FilterTest, filter: Int, at fields: [FieldDefinition]) -> [QueryDriver] {
        let tokens = fields.compactMap(\.tokens).filter { $0.state == .usable }
        guard tokens.count == fields.count else { return [] }
        let spans = test.words.map { word in
            let key = IndexKey.text(word.utf8).key
            return tokens.map { IndexSpan(index: $0.index, lower: key, upper: IndexKey.successor(key)) }
        }
        if test.comparator == .containsAllTokens, !spans.isEmpty {
            return spans.map { QueryDriver(filter: filter, spans: $0, isPoints: true, isOneRowEach: $0.count == 1) }
        }
        return [QueryDriver(filter: filter, spans: spans.flatMap(\.self), isPoints: true, isOneRowEach: spans.count * tokens.count == 1)]
    }
}

/// A circle on the Earth as a few pieces of the index, which together may be larger than the circle.
enum GeoCover {
    /// The most pieces. On this server.
    private static let cells = 24

    /// Divides cells that the circle only touches into quarters, the largest first, as long as there are few pieces.
    package static func cells(around place: GeoPoint, within distance: Double) -> [GeoCell] {
        var open = [GeoCell.world]
        var whole: [GeoCell] = []
        while let cell = open.first {
            let quarters = cell.quarters.map { (cell: $0, distances: place.distances(to: $0)) }.filter { $0.distances.lowerBound <= distance }
            guard !quarters.isEmpty, whole.count + open.count - 1 + quarters.count <= cells else { break }
            open.removeFirst()
            for quarter in quarters {
                if quarter.distances.upperBound <= distance { whole.append(quarter.cell) } else { open.append(quarter.cell) }
            }
        }
        return (whole + open).sorted { $0.code < $1.code }
    }

    /// Returns the cells as spans of an index, and joins neighbours.
    package static func spans(of cells: [GeoCell], in index: IndexID) -> [IndexSpan] {
        var spans: [IndexSpan] = []
        for cell in cells {
            if let last = spans.last, last.upper == cell.lowerKey {
                spans[spans.count - 1].upper = cell.upperKey
            } else {
                spans.append(IndexSpan(index: index, lower: cell.lowerKey, upper: cell.upperKey))
            }
        }
        return spans
    }
}
