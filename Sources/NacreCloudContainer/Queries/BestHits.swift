/// A sort of a zone's records that is done in portions, each on its own snapshot.
package struct PartlySorted: Sendable {
    /// The name up to which records were looked at; nil: none was.
    package var name: String?
    /// The first records that pass, in the query's order.
    package var hits: [QueryHit]
}

/// The first `count` of many records. It keeps few more than that, because records may be large, and no more bodies
/// than a page has.
struct BestHits {
    private let count: Int
    private let order: QueryOrder
    private let reader: QueryReader
    private var hits: [QueryHit] = []
    /// The position from which records need not be kept.
    private var worst: QueryPosition?

    package init(_ count: Int, in order: QueryOrder, _ reader: QueryReader) {
        self.count = count
        self.order = order
        self.reader = reader
    }

    package mutating func add(_ hit: QueryHit) {
        if let worst, order.compare(hit.position, worst) >= 0 { return }
        hits.append(reader.keeping(hit))
        if hits.count >= 2 * count + 64 { sort() }
    }

    /// Discards all records.
    package mutating func drop() {
        for hit in take() { reader.dropped(hit) }
    }

    /// Returns the kept records in order, and keeps none.
    package mutating func take() -> [QueryHit] {
        sort()
        defer {
            hits.removeAll(keepingCapacity: true)
            worst = nil
        }
        return hits
    }

    /// Sorts by `QueryOrder.rank`, which costs much less than comparing hits. Compares hits only of equal rank.
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
