/// The first few of many records: no more of them are kept than it takes, because records may be large.
struct BestHits {
    private let count: Int
    private let order: QueryOrder
    private var hits: [QueryHit] = []
    /// What is behind it need not be kept.
    private var worst: QueryPosition?

    init(_ count: Int, in order: QueryOrder) {
        self.count = count
        self.order = order
    }

    mutating func add(_ hit: QueryHit) {
        if let worst, order.compare(hit.position, worst) >= 0 { return }
        hits.append(hit)
        if hits.count >= 2 * count + 64 { sort() }
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
        hits = ranks.prefix(count).map { hits[$0.place] }
        if hits.count >= count { worst = hits.last?.position }
    }
}
