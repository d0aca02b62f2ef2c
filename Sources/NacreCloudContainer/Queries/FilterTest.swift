import NacreCloudStorage
package import NacreCloudWire

/// A filter, prepared for testing many records.
///
/// A record without the field passes no filter, not even a negation, as in SQL; see
/// `docs/decisions/queries-matching.md`. It is a class, so that a test copies nothing of it.
package final class FilterTest: Sendable {
    package let comparator: QueryComparator
    /// The fields to look at: one, or for a token search all searchable fields of the type.
    package let fields: [String]
    private let value: FieldValue
    private let key: ValueKey?
    /// The elements of a value that is a list.
    private let keys: [ValueKey]
    /// The same elements, prepared for looking up a record's value.
    private let lookup: TestedRecord.Members
    /// Whether an element of the list equals no value at all.
    private let hasUnequalled: Bool
    private let place: GeoPoint?
    package let distance: Double
    /// The words of a token search, each once.
    package let words: [String]

    /// - Parameter once: it tests one record only: skips preparation that costs more than the test.
    package init(_ filter: QueryFilter, fields: [String], once: Bool = false) {
        comparator = filter.comparator
        self.fields = fields
        value = filter.value
        key = ValueKey(filter.value)
        let elements = filter.value.elements.map(ValueKey.init)
        keys = elements.compactMap(\.self)
        lookup = !once && (comparator == .in || comparator == .notIn) ? .many(Set(keys)) : .few(keys)
        hasUnequalled = elements.contains(nil)
        if case .location(let location) = filter.value { place = GeoPoint(location) } else { place = nil }
        distance = filter.distance ?? 0
        words = filter.comparator.isTokenSearch ? Array(Set(SearchWords.of(filter.value))).sorted() : []
    }

    /// - Parameter record: counts the cost of the test.
    package func passes(_ record: inout TestedRecord) throws -> Bool {
        if comparator.isTokenSearch { return try passesWords(of: &record) }
        guard let field = fields.first, let found = try record.value(of: field) else { return false }
        return passes(found, of: field, &record)
    }

    /// - Parameter found: the record's value of the field.
    private func passes(_ found: FieldValue, of field: String, _ record: inout TestedRecord) -> Bool {
        switch comparator {
        case .equals, .notEquals, .lessThan, .lessThanOrEquals, .greaterThan, .greaterThanOrEquals:
            record.compared(bytes: min(found.comparedBytes, value.comparedBytes))
            return compares(found)
        case .in: return isAmongKeys(found)
        case .notIn: return !isAmongKeys(found)
        case .beginsWith, .notBeginsWith:
            record.compared(bytes: value.comparedBytes)
            return begins(found) == (comparator == .beginsWith)
        case .near: return isNear(found)
        case .listContains, .notListContains:
            let isIn = key.map(record.members(of: field, in: found).contains) ?? false
            return isIn == (comparator == .listContains)
        case .listContainsAny, .notListContainsAny:
            let members = record.members(of: field, in: found)
            record.compared(values: keys.count)
            return keys.contains(where: members.contains) == (comparator == .listContainsAny)
        case .listContainsAll, .notListContainsAll:
            let members = record.members(of: field, in: found)
            record.compared(values: keys.count)
            return (!hasUnequalled && keys.allSatisfy(members.contains)) == (comparator == .listContainsAll)
        case .listMemberBeginsWith, .notListMemberBeginsWith:
            return hasMember(in: record.texts(of: field, in: found)) == (comparator == .listMemberBeginsWith)
        case .containsAllTokens, .containsAnyTokens: return false
        }
    }

    private func isAmongKeys(_ found: FieldValue) -> Bool {
        ValueKey(found).map(lookup.contains) ?? false
    }

    /// - Parameter texts: sorted. If a text begins with the prefix, the first one not before the prefix does.
    private func hasMember(in texts: [String]) -> Bool {
        guard case .string(let prefix) = value else { return false }
        var low = 0
        var high = texts.count
        while low < high {
            let middle = (low + high) / 2
            if ByteOrder.compare(texts[middle], prefix) < 0 { low = middle + 1 } else { high = middle }
        }
        return low < texts.count && texts[low].utf8.starts(with: prefix.utf8)
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

    /// CloudKit: case-sensitive.
    private func begins(_ found: FieldValue) -> Bool {
        guard case .string(let text) = found, case .string(let prefix) = value else { return false }
        return text.utf8.starts(with: prefix.utf8)
    }

    private func isNear(_ found: FieldValue) -> Bool {
        guard case .location(let location) = found, let place else { return false }
        return GeoPoint(location).distance(to: place) <= distance
    }

    /// Whether all words are found, each in any of the fields, or one of them. A search without words finds nothing.
    private func passesWords(of record: inout TestedRecord) throws -> Bool {
        guard !words.isEmpty else { return false }
        var found: [Set<String>] = []
        for field in fields { found.append(try record.words(of: field)) }
        record.compared(values: words.count * found.count)
        func isFound(_ word: String) -> Bool { found.contains { $0.contains(word) } }
        return comparator == .containsAllTokens ? words.allSatisfy(isFound) : words.contains(where: isFound)
    }
}

extension FieldValue {
    /// The bytes that a comparison looks at; 0 for values of a fixed size.
    fileprivate var comparedBytes: Int {
        switch self {
        case .string(let text): text.utf8.count
        case .bytes(let bytes): bytes.count
        default: 0
        }
    }
}

extension QueryComparator {
    var isTokenSearch: Bool { self == .containsAllTokens || self == .containsAnyTokens }
}
