import NacreCloudWire

/// A filter made ready to be asked of many records.
///
/// A record without the field passes no filter, not even a negation, as in SQL; see `docs/decisions/absent-fields-match-nothing.md`.
struct FilterTest: Hashable, Sendable {
    let comparator: QueryComparator
    /// The fields to look at: one, or with a token search every searchable one of the type.
    let fields: [String]
    private let value: FieldValue
    /// What the value holds, when it is a list.
    private let values: [FieldValue]
    private let place: GeoPoint?
    let distance: Double
    /// What a token search looks for, each word once.
    let words: [String]

    init(_ filter: QueryFilter, fields: [String]) {
        comparator = filter.comparator
        self.fields = fields
        value = filter.value
        values = filter.value.elements
        if case .location(let location) = filter.value { place = GeoPoint(location) } else { place = nil }
        distance = filter.distance ?? 0
        words = filter.comparator.isTokenSearch ? Array(Set(SearchWords.of(filter.value))).sorted() : []
    }

    /// - Parameter value: the record's, by the name of a field.
    func passes(_ value: (String) throws -> FieldValue?) rethrows -> Bool {
        if comparator.isTokenSearch { return passes(wordsOf: try fields.compactMap(value)) }
        guard let field = fields.first, let found = try value(field) else { return false }
        return passes(found)
    }

    /// - Parameter found: the record's value of the field.
    private func passes(_ found: FieldValue) -> Bool {
        switch comparator {
        case .equals, .notEquals, .lessThan, .lessThanOrEquals, .greaterThan, .greaterThanOrEquals: compares(found)
        case .in: contains(found, among: values)
        case .notIn: !contains(found, among: values)
        case .beginsWith: begins(found)
        case .notBeginsWith: !begins(found)
        case .near: isNear(found)
        case .listContains: contains(value, among: found.elements)
        case .notListContains: !contains(value, among: found.elements)
        case .listContainsAny: containsAny(found)
        case .notListContainsAny: !containsAny(found)
        case .listContainsAll: containsAll(found)
        case .notListContainsAll: !containsAll(found)
        case .listMemberBeginsWith: found.elements.contains(where: begins)
        case .notListMemberBeginsWith: !found.elements.contains(where: begins)
        case .containsAllTokens, .containsAnyTokens: passes(wordsOf: [found])
        }
    }

    private func compares(_ found: FieldValue) -> Bool {
        let order = ValueOrder(found, value)
        return switch comparator {
        case .equals: order == .equal
        case .notEquals: order != .equal
        case .lessThan: order == .below
        case .lessThanOrEquals: order == .below || order == .equal
        case .greaterThan: order == .above
        case .greaterThanOrEquals: order == .above || order == .equal
        default: false
        }
    }

    private func contains(_ wanted: FieldValue, among values: [FieldValue]) -> Bool {
        values.contains { ValueOrder($0, wanted) == .equal }
    }

    private func containsAny(_ found: FieldValue) -> Bool {
        let elements = found.elements
        return values.contains { contains($0, among: elements) }
    }

    private func containsAll(_ found: FieldValue) -> Bool {
        let elements = found.elements
        return values.allSatisfy { contains($0, among: elements) }
    }

    /// CloudKit: case-sensitive.
    private func begins(_ found: FieldValue) -> Bool {
        guard case .string(let text) = found, case .string(let prefix) = value else { return false }
        return text.utf8.starts(with: prefix.utf8)
    }

    private func isNear(_ found: FieldValue) -> Bool {
        guard case .location(let location) = found, let place else { return false }
        return GeoPoint(location).distance(to: place) <= distance
    }

    /// Every word, in whichever of the fields, or any of them. A search for nothing finds nothing.
    private func passes(wordsOf values: [FieldValue]) -> Bool {
        guard !words.isEmpty else { return false }
        let found = Set(values.flatMap(SearchWords.of))
        return comparator == .containsAllTokens ? words.allSatisfy(found.contains) : words.contains(where: found.contains)
    }
}

extension QueryComparator {
    var isTokenSearch: Bool { self == .containsAllTokens || self == .containsAnyTokens }
}
