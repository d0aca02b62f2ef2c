import NacreCloudStorage
import NacreCloudWire

/// An index of two fields of a type: for each value of the first field, its records in the order of the second. It
/// serves queries that compare the first for equality and sort by the second. They read only as many rows as they
/// return, however many records have that value.
///
/// See `docs/decisions/queries-indexes.md`.
package struct PairIndex: Hashable, Sendable, Codable {
    /// The names of the fields in the schema. Queries compare `first` and sort by `second`.
    package var first: String
    package var second: String
    package var definition: IndexDefinition

    /// The name for people: `first+second`.
    package var name: String { Self.name(first, second) }

    package static func name(_ first: String, _ second: String) -> String { "\(first)+\(second)" }

    func hasFields(of other: FieldPair) -> Bool { name == other.name }
}

/// The fields of an index of two fields, made or not.
package struct FieldPair: Hashable, Sendable {
    package var type: String
    package var first: String
    package var second: String

    package var name: String { PairIndex.name(first, second) }

    package init(type: String, first: String, second: String) {
        self.type = type
        self.first = first
        self.second = second
    }

    /// Reads a name of the form `first+second`; nil if it does not name two fields.
    package init?(type: String, named name: String) {
        let fields = name.split(separator: "+", omittingEmptySubsequences: false).map(String.init)
        guard fields.count == 2, !fields.contains("") else { return nil }
        self.init(type: type, first: fields[0], second: fields[1])
    }
}

extension RecordTypeDefinition {
    /// Whether queries may need an index of these two fields, and it is not refused. It has rows for records without a
    /// value of the second field too, like the index of a sortable field.
    func allowsPair(_ first: String, _ second: String) -> Bool {
        if refusedPairs.contains(PairIndex.name(first, second)) { return false }
        guard first != second, let compared = fields[first], let sorted = fields[second] else { return false }
        if compared.isEncrypted || sorted.isEncrypted || sorted.type.isList || sorted.type == .location { return false }
        return compared.isQueryable && sorted.isSortable
    }

    /// Makes an index that is allowed and missing, if there is room. Rows of existing records are still to be built.
    mutating func makePair(_ first: String, _ second: String, for query: String? = nil, nextIndex: inout Int64) {
        guard allowsPair(first, second), pairs.count < Limits.pairIndexesPerType else { return }
        guard !pairs.contains(where: { $0.name == PairIndex.name(first, second) }) else { return }
        pairs.append(PairIndex(first: first, second: second, definition: IndexDefinition(id: nextIndex, for: query)))
        nextIndex += 1
    }
}

extension Schema {
    package mutating func make(_ pair: FieldPair, for query: String? = nil) {
        types[pair.type]?.makePair(pair.first, pair.second, for: query, nextIndex: &nextIndex)
    }

    /// Removes indexes of two fields that are no longer allowed, or of which a field has another type than before.
    /// Their rows stay, and queries ignore them.
    mutating func dropPairs(over before: Schema) {
        for (name, type) in types where !type.pairs.isEmpty {
            let known = before.types[name]
            let kept = type.pairs.filter { pair in
                let isSame = [pair.first, pair.second].allSatisfy { field in
                    known?.fields[field].map { $0.type == type.fields[field]?.type } ?? true
                }
                return isSame && type.allowsPair(pair.first, pair.second)
            }
            if kept.count < type.pairs.count { types[name]?.pairs = kept }
        }
    }
}

extension IndexKey {
    /// Returns the start of the keys for a value of the first field. The value's length comes first, so that no other
    /// value's keys have the same start.
    package static func prefix(_ first: [UInt8]) -> [UInt8] {
        [UInt8(truncatingIfNeeded: first.count >> 8), UInt8(truncatingIfNeeded: first.count)] + first
    }
}
