import Foundation
import NacreCloudTestSupport
import NacreCloudWire

@testable import NacreCloudContainer

/// Random records and queries: few different values, so that many match and many are equal.
struct QueryData {
    static let type = "Thing"
    var random: SeededRandom

    init(seed: UInt64) {
        random = SeededRandom(seed: seed)
    }

    static let fields: [(name: String, type: FieldType)] = [
        ("text", .string), ("count", .int64), ("size", .double), ("date", .timestamp), ("blob", .bytes), ("place", .location),
        ("owner", .reference), ("tags", .stringList), ("counts", .int64List), ("sizes", .doubleList), ("dates", .timestampList),
        ("owners", .referenceList),
    ]

    mutating func one<Value>(of values: [Value]) -> Value { values[Int.random(in: 0..<values.count, using: &random)] }

    mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }

    mutating func some<Value>(_ range: ClosedRange<Int>, _ make: (inout QueryData) -> Value) -> [Value] {
        (0..<Int.random(in: range, using: &random)).map { _ in make(&self) }
    }

    // MARK: Values

    static let longText = String(repeating: "x", count: 600)

    mutating func string() -> String {
        one(of: [
            "", "a", "A", "ab", "Äb", "e\u{301}", "é", "The quick brown fox", "brown FÓX and dog", "日本 dog", "z", Self.longText,
            Self.longText + "y",
        ])
    }

    mutating func location() -> Location {
        let places: [(Double, Double)] = [(0, 0), (0, 180), (0, -180), (90, 0), (-90, 33), (51.5, -0.1), (48.9, 2.35), (1, -179.9), (1, 179.9)]
        if chance(60) {
            let (latitude, longitude) = one(of: places)
            return Location(latitude: latitude, longitude: longitude)
        }
        return Location(latitude: Double.random(in: -90...90, using: &random), longitude: Double.random(in: -180...180, using: &random))
    }

    mutating func reference() -> Reference { Reference(recordName: one(of: ["r1", "r2", "r3"]), action: .none) }

    mutating func scalar(_ type: FieldType) -> FieldValue {
        switch type {
        case .string: .string(string())
        case .int64: .int64(one(of: [-3, 0, 1, 2, 3, .max, .min, 9_007_199_254_740_993]))
        case .double: .double(one(of: [-1.5, -0.0, 0, 0.5, 1, 2, 9_007_199_254_740_992, 1e300, -1e300]))
        case .timestamp: .timestamp(Timestamp(secondsSince2001: one(of: [-1, 0, 0.25, 1, 800_000_000])))
        case .bytes: .bytes(one(of: [[], [0], [0, 0], [0xff], [0xff, 1], Array(repeating: 7, count: 520)]))
        case .location: .location(location())
        default: .reference(reference())
        }
    }

    mutating func value(_ type: FieldType) -> FieldValue {
        guard type.isList else { return scalar(type) }
        return list(of: type.element, 0...4)
    }

    mutating func list(of type: FieldType, _ count: ClosedRange<Int>) -> FieldValue {
        let elements = some(count) { $0.scalar(type) }
        switch type {
        case .string: return .stringList(elements.compactMap { if case .string(let value) = $0 { value } else { nil } })
        case .int64: return .int64List(elements.compactMap { if case .int64(let value) = $0 { value } else { nil } })
        case .double: return .doubleList(elements.compactMap { if case .double(let value) = $0 { value } else { nil } })
        case .timestamp: return .timestampList(elements.compactMap { if case .timestamp(let value) = $0 { value } else { nil } })
        case .bytes: return .bytesList(elements.compactMap { if case .bytes(let value) = $0 { value } else { nil } })
        case .location: return .locationList(elements.compactMap { if case .location(let value) = $0 { value } else { nil } })
        default: return .referenceList(elements.compactMap { if case .reference(let value) = $0 { value } else { nil } })
        }
    }

    mutating func recordFields() -> RecordFields {
        RecordFields(Self.fields.compactMap { field in chance(75) ? RecordFields.Field(field.name, value(field.type)) : nil })
    }

    // MARK: Queries

    mutating func query() -> Query {
        let filters = some(0...3) { $0.filter() }
        return Query(recordType: Self.type, filters: filters, sorts: some(0...3) { $0.sort() })
    }

    mutating func sort() -> QuerySort {
        let name = one(of: ["text", "count", "size", "date", "blob", "place", "___createTime", "___recordID", "count", "size"])
        return QuerySort(name, isAscending: chance(50), relativeLocation: name == "place" ? location() : nil)
    }

    mutating func filter() -> QueryFilter {
        let comparator = one(of: QueryComparator.allCases)
        if comparator.isTokenSearch {
            let text = one(of: ["fox", "FOX brown", "dog fox", "the", "日", "quick the Brown", "none", "x"])
            return QueryFilter(comparator, fieldName: one(of: [nil, "text", "tags"]), value: .string(text))
        }
        if chance(10) { return systemFilter() }
        let fitting = Self.fields.filter { comparator.takes($0.type) }
        let field = one(of: fitting)
        var type = field.type.element
        // Numbers of both kinds are comparable.
        if chance(30), type == .int64 || type == .double { type = type == .int64 ? .double : .int64 }
        let value = comparator.takesList ? list(of: type, 0...3).withoutRepetitions : scalar(type)
        let distance = one(of: [0, 1, 10_000, 400_000, 5_000_000, 21_000_000.0])
        return QueryFilter(comparator, fieldName: field.name, value: value, distance: comparator == .near ? distance : nil)
    }

    private mutating func systemFilter() -> QueryFilter {
        switch Int.random(in: 0..<4, using: &random) {
        case 0: QueryFilter(one(of: [.equals, .notEquals]), fieldName: "___parent", value: .reference(Reference(recordName: "n1", action: .none)))
        case 1:
            QueryFilter(
                one(of: [.in, .notIn]), fieldName: "___recordID",
                value: FieldValue.stringList(some(0...4) { "n\(Int.random(in: 0..<60, using: &$0.random))" }).withoutRepetitions)
        case 2:
            QueryFilter(
                one(of: [.lessThan, .greaterThanOrEquals]), fieldName: "___createTime",
                value: .timestamp(Timestamp(secondsSince2001: 800_000_000 + Double(Int.random(in: 0..<60, using: &random)))))
        default:
            QueryFilter(
                .equals, fieldName: "___createdBy",
                value: .reference(Reference(recordName: one(of: ["_ann", "__defaultOwner__", "_bob"]), action: .none)))
        }
    }
}
