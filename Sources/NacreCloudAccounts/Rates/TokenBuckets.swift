package import NacreCloudWire

/// Buckets by owner. When there are `most` of them, the full ones are forgotten, and all if more than half are left.
package struct TokenBuckets<Owner: Hashable & Sendable>: Sendable {
    private var buckets: [Owner: TokenBucket] = [:]
    private let most: Int

    package init(most: Int) {
        self.most = most
    }

    /// Whole seconds after which an owner's work may begin; nil: now.
    package mutating func pause(of owner: Owner, _ rate: TokenBucket.Rate, at now: Timestamp) -> Int? {
        guard var bucket = buckets[owner] else { return nil }
        let pause = bucket.pause(rate, at: now)
        // Stored if the owner must wait, so that the bucket fills even if the clock was set back. Otherwise `take`
        // counts what has accrued.
        if pause != nil { buckets[owner] = bucket }
        return pause
    }

    /// Takes the cost of work from an owner's bucket.
    /// - Parameter rate: Returns the rate of an owner.
    package mutating func take(_ cost: Int, from owner: Owner, at now: Timestamp, rate: (Owner) -> TokenBucket.Rate) {
        let own = rate(owner)
        if buckets.count >= most, buckets[owner] == nil { forget(at: now, rate) }
        buckets[owner, default: TokenBucket(full: own, at: now)].take(cost, own, at: now)
    }

    private mutating func forget(at now: Timestamp, _ rate: (Owner) -> TokenBucket.Rate) {
        buckets = buckets.filter { owner, bucket in
            var bucket = bucket
            return !bucket.isFull(rate(owner), at: now)
        }
        if buckets.count > most / 2 { buckets.removeAll() }
    }
}
