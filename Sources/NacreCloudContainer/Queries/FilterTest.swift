import NacreCloudWire

/// A filter made ready to be asked of many records.
///
/// A record without the field passes no filter, not even a negation, as in SQL; see `docs/decisions/absent-fields-match-nothing.md`.
/// A class, so that to ask it of a record copies nothing of it.
final class FilterTest: Sendable {
    let comparator: QueryComparator
    /// The fields to look at: one, or with a token search every searchable one of the type.
    let fields: [String]
    private let value: FieldValue
    private let key: ValueKey?
    /// What the value holds, when it is a list.
    private let keys: [ValueKey]
    /// The same, as a record's value is looked for among them.
    private let lookup: TestedRecord.Members
    /// Something in the list equals no value at all.
    private let hasUnequalled: Bool
    private let place: GeoPoint?
    let distance: Double
    /// What a token search looks for, each word once.
    let words: [String]

    /// - Parameter once: it is asked of one record: nothing is made ready that is more work than to ask.
    init(_ filter: QueryFilter, fields: [String], once: Bool = false) {
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

    /// - Parameter record: counts what the test costs.
    func passes(_ record: inout TestedRecord) throws -> Bool {
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

    /// - Parameter texts: sorted. The first that is not before the prefix begins with it, or none does.
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

    /// Every word, in whichever of the fields, or any of them. A search for nothing finds nothing.
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
    /// Bytes that are looked at when it is compared, where they may be many.
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
