package import NacreCloudWire

/// Buckets of many, by whose they are. Of more than so many those that are full again are forgotten first, then all.
package struct TokenBuckets<Owner: Hashable & Sendable>: Sendable {
    private var buckets: [Owner: TokenBucket] = [:]
    private let most: Int

    package init(most: Int) {
        self.most = most
    }

    /// Whole seconds after which something of the owner may begin; nil: now.
    package mutating func pause(of owner: Owner, _ rate: TokenBucket.Rate, at now: Timestamp) -> Int? {
        guard var bucket = buckets[owner] else { return nil }
        let pause = bucket.pause(rate, at: now)
        // Kept as of now where somebody waits, so that it fills although the clock was set back. Else what has filled is counted when work is taken.
        if pause != nil { buckets[owner] = bucket }
        return pause
    }

    /// - Parameter rate: of an owner.
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
