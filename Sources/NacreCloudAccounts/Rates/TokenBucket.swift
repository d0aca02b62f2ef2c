import NacreCloudStorage
package import NacreCloudWire

/// A budget of work. It fills at a rate up to a maximum, and the cost of work is taken after the work, when it is
/// known. The level may therefore be negative, and new work waits until it is positive again.
///
/// ```swift
/// guard bucket.pause(rate, at: now) == nil else { return } // retry after that many seconds
/// await work()
/// bucket.take(meter.cost, rate, at: later)
/// ```
package struct TokenBucket: Hashable, Sendable {
    package struct Rate: Hashable, Sendable {
        /// Costs (`WorkMeter`) per second.
        package var perSecond: Double
        /// Costs that may be used at once after a quiet time.
        package var most: Double

        package init(perSecond: Double, most: Double) {
            self.perSecond = perSecond
            self.most = most
        }
    }

    private var level: Double
    private var at: Double

    package init(full rate: Rate, at now: Timestamp) {
        level = rate.most
        at = now.secondsSince2001
    }

    /// Whole seconds after which work may begin; nil: now.
    package mutating func pause(_ rate: Rate, at now: Timestamp) -> Int? {
        fill(rate, at: now)
        guard level <= 0 else { return nil }
        return max(1, Int((-level / rate.perSecond).rounded(.up)))
    }

    package mutating func take(_ cost: Int, _ rate: Rate, at now: Timestamp) {
        fill(rate, at: now)
        level -= Double(cost)
    }

    /// Whether the bucket is full, as a new one is.
    package mutating func isFull(_ rate: Rate, at now: Timestamp) -> Bool {
        fill(rate, at: now)
        return level >= rate.most
    }

    /// Adds what has accrued since the last call. A clock that is set back adds nothing and removes nothing.
    private mutating func fill(_ rate: Rate, at now: Timestamp) {
        level = min(rate.most, level + max(0, now.secondsSince2001 - at) * rate.perSecond)
        at = now.secondsSince2001
    }
}
