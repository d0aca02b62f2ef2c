package import NacreCloudStorage
package import NacreCloudWire

/// Removal of indexes that no query uses. See `docs/decisions/queries-indexes.md`.
extension Schema {
    /// Removes the indexes that are at least a month old (`Limits.recordedQuerySeconds`), not pinned, and of no use to
    /// a recorded query. An index without a noted time counts as made now.
    ///
    /// On this server: in development alone. If as many queries are recorded as are kept, others may be missing, and
    /// nothing is removed.
    mutating func dropUnused(by queries: [RecordedQuery], of container: String, at now: Timestamp) {
        guard queries.count < Limits.recordedQueriesKept else { return }
        let used = queries.reduce(into: Set<IndexID>()) { $0.formUnion(indexes(for: $1, of: container)) }
        let unused = unpinned.filter { $0.end(from: now) <= now && !used.contains($0.index) }
        change(Set(unused.map(\.index))) { $0 = nil }
    }

    /// Returns the earliest time at which one of its indexes may be removed; nil: never.
    func unusedAtTheEarliest(from now: Timestamp) -> Timestamp? {
        unpinned.map { $0.end(from: now) }.min()
    }

    /// Returns the made indexes that a recorded query can use.
    package func indexes(for query: RecordedQuery, of container: String) -> Set<IndexID> {
        guard let shape = query.shape(in: self, of: container) else { return [] }
        let fields = shape.indexes.compactMap { shape.type.fields[$0.field]?[$0.kind]?.index }
        let pairs = shape.pairs.flatMap { wanted in shape.type.pairs.filter { $0.hasFields(of: wanted.pair) }.map(\.definition.index) }
        return Set(fields + pairs)
    }

    /// Notes the time at which indexes were made, if it is not noted yet.
    package mutating func note(madeAt now: Timestamp) {
        let new = types.values.flatMap(\.indexes).filter { $0.made == nil }
        if !new.isEmpty { change(Set(new.map(\.index))) { $0?.made = now.secondsSince2001 } }
    }

    private var unpinned: [IndexDefinition] { types.values.flatMap(\.indexes).filter { !$0.isPinned } }
}

extension IndexDefinition {
    /// Returns the time until which it stays without queries.
    /// - Parameter now: the start of the month for an index without a noted time.
    fileprivate func end(from now: Timestamp) -> Timestamp {
        (made.map(Timestamp.init(secondsSince2001:)) ?? now) + Limits.recordedQuerySeconds
    }
}
