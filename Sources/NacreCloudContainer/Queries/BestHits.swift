/// A sort of a zone's records that is done in portions, each on a snapshot of its own.
struct PartlySorted: Sendable {
    /// The records up to this name were looked at; nil: none.
    var name: String?
    /// The first of those that pass, in the query's order.
    var hits: [QueryHit]
}

/// The first few of many records: no more of them are kept than it takes, because records may be large, and of these no more bodies than a page has.
struct BestHits {
    private let count: Int
    private let order: QueryOrder
    private let reader: QueryReader
    private var hits: [QueryHit] = []
    /// What is behind it need not be kept.
    private var worst: QueryPosition?

    init(_ count: Int, in order: QueryOrder, _ reader: QueryReader) {
        self.count = count
        self.order = order
        self.reader = reader
    }

    mutating func add(_ hit: QueryHit) {
        if let worst, order.compare(hit.position, worst) >= 0 { return }
        hits.append(reader.keeping(hit))
        if hits.count >= 2 * count + 64 { sort() }
    }

    /// None is needed any more.
    mutating func drop() {
        for hit in take() { reader.dropped(hit) }
    }

    /// Those that are kept, in order; none stays.
    mutating func take() -> [QueryHit] {
        sort()
        defer {
            hits.removeAll(keepingCapacity: true)
            worst = nil
        }
        return hits
    }

    /// Sorts numbers, which costs much less than hits, and looks at the hits only where two numbers are equal.
    private mutating func sort() {
        var ranks = hits.indices.map { (rank: order.rank(of: hits[$0].position), place: $0) }
        ranks.sort { left, right in
            left.rank != right.rank ? left.rank < right.rank : order.compare(hits[left.place].position, hits[right.place].position) < 0
        }
        for rank in ranks.dropFirst(count) { reader.dropped(hits[rank.place]) }
        hits = ranks.prefix(count).map { hits[$0.place] }
        if hits.count >= count { worst = hits.last?.position }
    }
}
