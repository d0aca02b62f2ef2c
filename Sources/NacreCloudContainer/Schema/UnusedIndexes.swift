import NacreCloudWire

/// Which indexes go because no query uses them. See `docs/decisions/indexes-are-made-when-a-query-needs-them.md`.
extension Schema {
    /// Takes those indexes away that were made a month ago (`Limits.recordedQuerySeconds`) or earlier, that nobody has pinned, and that no recorded query
    /// can go by.
    ///
    /// On this server: in development alone. Where as many queries are recorded as are kept, others may have been asked, and nothing goes.
    mutating func dropUnused(by queries: [RecordedQuery], of container: String, at now: Timestamp) {
        guard queries.count < Limits.recordedQueriesKept else { return }
        let used = queries.reduce(into: Set<IndexID>()) { $0.formUnion(indexes(for: $1, of: container)) }
        let unused = unpinned.filter { ($0.end ?? now) <= now && !used.contains($0.index) }
        change(Set(unused.map(\.index))) { $0 = nil }
    }

    /// When one of its indexes may be taken away at the earliest; nil: none ever is.
    /// - Parameter now: an index that was not noted when it was made counts from now on.
    func unusedAtTheEarliest(from now: Timestamp) -> Timestamp? {
        unpinned.map { $0.end ?? now + Limits.recordedQuerySeconds }.min()
    }

    /// The indexes that are made and that a recorded query can go by.
    func indexes(for query: RecordedQuery, of container: String) -> Set<IndexID> {
        guard let shape = query.shape(in: self, of: container) else { return [] }
        let fields = shape.indexes.compactMap { shape.type.fields[$0.field]?[$0.kind]?.index }
        let pairs = shape.pairs.flatMap { wanted in shape.type.pairs.filter { $0.hasFields(of: wanted.pair) }.map(\.definition.index) }
        return Set(fields + pairs)
    }

    /// Notes of indexes when they were made, where nobody has.
    mutating func note(madeAt now: Timestamp) {
        let new = types.values.flatMap(\.indexes).filter { $0.made == nil }
        if !new.isEmpty { change(Set(new.map(\.index))) { $0?.made = now.secondsSince2001 } }
    }

    private var unpinned: [IndexDefinition] { types.values.flatMap(\.indexes).filter { !$0.isPinned } }
}

extension IndexDefinition {
    /// Until when it stays without queries; nil: nobody noted when it was made.
    fileprivate var end: Timestamp? { made.map { Timestamp(secondsSince2001: $0) + Limits.recordedQuerySeconds } }
}
