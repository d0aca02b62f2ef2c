import NacreCloudWire

/// An index of two fields of a type: the records of one value of the first, in the order of the second. Queries that compare the one for equality and
/// sort by the other read as many rows of it as they answer, however many records have that value.
///
/// See `docs/decisions/two-fields-have-an-index-where-a-query-reads-in-vain.md`.
package struct PairIndex: Hashable, Sendable, Codable {
    /// The fields, as the schema names them: `first` is the one that is compared.
    package var first: String
    package var second: String
    package var definition: IndexDefinition

    /// For people: `first+second`.
    package var name: String { Self.name(first, second) }

    static func name(_ first: String, _ second: String) -> String { "\(first)+\(second)" }

    func hasFields(of other: FieldPair) -> Bool { name == other.name }
}

/// The fields of an index of two, made or not.
struct FieldPair: Hashable, Sendable {
    var type: String
    var first: String
    var second: String

    var name: String { PairIndex.name(first, second) }

    init(type: String, first: String, second: String) {
        self.type = type
        self.first = first
        self.second = second
    }

    /// By its name; nil where that is none of two fields.
    init?(type: String, named name: String) {
        let fields = name.split(separator: "+", omittingEmptySubsequences: false).map(String.init)
        guard fields.count == 2, !fields.contains("") else { return nil }
        self.init(type: type, first: fields[0], second: fields[1])
    }
}

extension RecordTypeDefinition {
    /// Whether queries may need such an index, and nobody refused it. The second field's rows are those of records without a value too, which its own index has where it is
    /// sortable.
    func allowsPair(_ first: String, _ second: String) -> Bool {
        if refusedPairs.contains(PairIndex.name(first, second)) { return false }
        guard first != second, let compared = fields[first], let sorted = fields[second] else { return false }
        if compared.isEncrypted || sorted.isEncrypted || sorted.type.isList || sorted.type == .location { return false }
        return compared.isQueryable && sorted.isSortable
    }

    /// Makes an index that is allowed, where there is none and room for one: its rows of records that are there are still to be built.
    mutating func makePair(_ first: String, _ second: String, for query: String? = nil, nextIndex: inout Int64) {
        guard allowsPair(first, second), pairs.count < Limits.pairIndexesPerType else { return }
        guard !pairs.contains(where: { $0.name == PairIndex.name(first, second) }) else { return }
        pairs.append(PairIndex(first: first, second: second, definition: IndexDefinition(id: nextIndex, for: query)))
        nextIndex += 1
    }
}

extension Schema {
    mutating func make(_ pair: FieldPair, for query: String? = nil) {
        types[pair.type]?.makePair(pair.first, pair.second, for: query, nextIndex: &nextIndex)
    }

    /// Gives up indexes of two fields that are no longer allowed, or of which one is another field now than before. Their rows are left alone and mean
    /// nothing any more.
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
    /// What the keys of an index of two fields begin with for a value of the first. Its length stands before it, so that no other value's begins so too.
    static func prefix(_ first: [UInt8]) -> [UInt8] {
        [UInt8(truncatingIfNeeded: first.count >> 8), UInt8(truncatingIfNeeded: first.count)] + first
    }
}
