import Foundation
import NacreCloudTestSupport
import NacreCloudWire

/// A second implementation of queries, without any index: it looks at every record, and sorts all.
struct NaiveQuery {
    var query: Query
    /// The fields of a token search without a field.
    var searchable: [String]

    func answer(_ records: [Record]) -> [Record] {
        records.filter { record in query.filters.allSatisfy { passes($0, record) } }.sorted(by: precedes)
    }

    // MARK: Filters

    private func passes(_ filter: QueryFilter, _ record: Record) -> Bool {
        switch filter.comparator {
        case .containsAllTokens, .containsAnyTokens:
            let wanted = Self.words(filter.value)
            let fields = filter.fieldName.map { [$0] } ?? searchable
            let found = Set(fields.compactMap { record.fields[$0] }.flatMap(Self.words))
            if wanted.isEmpty { return false }
            return filter.comparator == .containsAllTokens ? wanted.isSubset(of: found) : !wanted.isDisjoint(with: found)
        default:
            guard let value = Self.value(filter.fieldName ?? "", of: record) else { return false }
            return Self.compares(value, filter)
        }
    }

    private static func compares(_ value: FieldValue, _ filter: QueryFilter) -> Bool {
        let members = parts(value)
        let wanted = parts(filter.value)
        func order() -> Int? { compare(value, filter.value) }
        func has(_ one: FieldValue) -> Bool { members.contains { compare($0, one) == 0 } }
        func begins(_ one: FieldValue) -> Bool {
            guard case .string(let text) = one, case .string(let prefix) = filter.value else { return false }
            return Data(text.utf8).starts(with: Data(prefix.utf8))
        }
        switch filter.comparator {
        case .equals: return order() == 0
        case .notEquals: return order() != 0
        case .lessThan: return order().map { $0 < 0 } ?? false
        case .lessThanOrEquals: return order().map { $0 <= 0 } ?? false
        case .greaterThan: return order().map { $0 > 0 } ?? false
        case .greaterThanOrEquals: return order().map { $0 >= 0 } ?? false
        case .near: return distance(value, filter.value).map { $0 <= filter.distance ?? 0 } ?? false
        case .in: return wanted.contains { compare(value, $0) == 0 }
        case .notIn: return !wanted.contains { compare(value, $0) == 0 }
        case .listContains: return has(filter.value)
        case .notListContains: return !has(filter.value)
        case .listContainsAny: return wanted.contains(where: has)
        case .notListContainsAny: return !wanted.contains(where: has)
        case .listContainsAll: return wanted.allSatisfy(has)
        case .notListContainsAll: return !wanted.allSatisfy(has)
        case .beginsWith: return begins(value)
        case .notBeginsWith: return !begins(value)
        case .listMemberBeginsWith: return members.contains(where: begins)
        case .notListMemberBeginsWith: return !members.contains(where: begins)
        case .containsAllTokens, .containsAnyTokens: return false
        }
    }

    static func words(_ value: FieldValue) -> Set<String> {
        switch value {
        case .string(let text): Set(Words.of(text))
        case .stringList(let texts): Set(texts.flatMap(Words.of))
        default: []
        }
    }

    // MARK: Order

    private func precedes(_ left: Record, _ right: Record) -> Bool {
        for sort in query.sorts {
            let order = Self.order(left, right, sort)
            if order != 0 { return (order < 0) == sort.isAscending }
        }
        let order = Self.bytes(left.recordName, right.recordName)
        // A field that is repeated in the sorts counts for nothing.
        let last = query.sorts.enumerated().last { index, sort in
            !query.sorts[..<index].contains { $0.fieldName == sort.fieldName && Self.place($0) == Self.place(sort) }
        }
        return last?.element.isAscending ?? true ? order < 0 : order > 0
    }

    /// Returns the place that a sort measures from. The date line has two longitudes.
    private static func place(_ sort: QuerySort) -> Location? {
        guard var place = sort.relativeLocation else { return nil }
        if place.longitude == 180 { place.longitude = -180 }
        return place
    }

    /// Compares two records: a missing value is before all values, and a missing place behind all places.
    static func order(_ left: Record, _ right: Record, _ sort: QuerySort) -> Int {
        let (one, other) = (value(sort.fieldName, of: left), value(sort.fieldName, of: right))
        if let from = sort.relativeLocation {
            let near = one.flatMap { distance($0, .location(from)) } ?? .infinity
            let far = other.flatMap { distance($0, .location(from)) } ?? .infinity
            return near == far ? 0 : near < far ? -1 : 1
        }
        switch (one, other) {
        case (nil, nil): return 0
        case (nil, _): return -1
        case (_, nil): return 1
        case (.string(let left)?, .string(let right)?): return bytes(Data(left.utf8.prefix(512)), Data(right.utf8.prefix(512)))
        case (.bytes(let left)?, .bytes(let right)?): return bytes(Data(left.prefix(512)), Data(right.prefix(512)))
        case (let left?, let right?): return compare(left, right) ?? 0
        }
    }

    // MARK: Values

    static func value(_ field: String, of record: Record) -> FieldValue? {
        switch field {
        case "___recordID": .reference(Reference(recordName: record.recordName, action: .none))
        case "___parent": record.parent.map(FieldValue.reference)
        case "___createTime": .timestamp(record.created.timestamp)
        case "___createdBy":
            .reference(Reference(recordName: record.created.userRecordName, action: .none))
        default: record.fields[field]
        }
    }

    private static func parts(_ value: FieldValue) -> [FieldValue] {
        switch value {
        case .stringList(let list): list.map(FieldValue.string)
        case .int64List(let list): list.map(FieldValue.int64)
        case .doubleList(let list): list.map(FieldValue.double)
        case .timestampList(let list): list.map(FieldValue.timestamp)
        case .bytesList(let list): list.map(FieldValue.bytes)
        case .locationList(let list): list.map(FieldValue.location)
        case .referenceList(let list): list.map(FieldValue.reference)
        default: []
        }
    }

    private static func compare(_ left: FieldValue, _ right: FieldValue) -> Int? {
        switch (left, right) {
        case (.string(let left), .string(let right)): bytes(left, right)
        case (.reference(let left), .string(let right)): bytes(left.recordName, name(right))
        case (.reference(let left), .reference(let right)): bytes(left.recordName, name(right.recordName))
        case (.bytes(let left), .bytes(let right)): bytes(Data(left), Data(right))
        case (.timestamp(let left), .timestamp(let right)): left == right ? 0 : left < right ? -1 : 1
        case (.location(let left), .location(let right)):
            left.latitude == right.latitude && (left.longitude == right.longitude || abs(left.longitude - right.longitude) == 360) ? 0 : nil
        default: decimal(left).flatMap { left in decimal(right).map { left == $0 ? 0 : left < $0 ? -1 : 1 } }
        }
    }

    private static func name(_ name: String) -> String { name == "__defaultOwner__" ? "_ann" : name }

    /// Returns an exact decimal for every number of the tests; very large ones are only very large.
    private static func decimal(_ value: FieldValue) -> Decimal? {
        switch value {
        case .int64(let value): Decimal(value)
        case .double(let value): Decimal(string: "\(min(max(value, -1e20), 1e20))")
        default: nil
        }
    }

    private static func bytes(_ left: String, _ right: String) -> Int { bytes(Data(left.utf8), Data(right.utf8)) }

    private static func bytes(_ left: Data, _ right: Data) -> Int {
        left == right ? 0 : left.lexicographicallyPrecedes(right) ? -1 : 1
    }

    private static func distance(_ left: FieldValue, _ right: FieldValue) -> Double? {
        guard case .location(let left) = left, case .location(let right) = right else { return nil }
        let radians = Double.pi / 180
        let (here, there) = (left.latitude * radians, right.latitude * radians)
        let latitudes = sin((there - here) / 2)
        // The date line has two longitudes.
        let (west, east) = (left.longitude == 180 ? -180 : left.longitude, right.longitude == 180 ? -180 : right.longitude)
        let longitudes = sin((east - west) * radians / 2)
        let haversine = latitudes * latitudes + cos(here) * cos(there) * longitudes * longitudes
        return 2 * 6_371_008.8 * asin(min(1, haversine.squareRoot()))
    }
}
