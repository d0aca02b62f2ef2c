package import NacreCloudWire

/// How much work somebody may have done for him: it fills by so much a second up to a most, and what was done is taken from it afterwards, because
/// only then it is known. So one may owe, and waits until that is paid.
package struct TokenBucket: Hashable, Sendable {
    package struct Rate: Hashable, Sendable {
        /// Costs (`WorkMeter`) a second.
        package var perSecond: Double
        /// Costs at once, of who has asked for nothing for a while.
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

    /// Whole seconds after which something may begin; nil: now.
    package mutating func pause(_ rate: Rate, at now: Timestamp) -> Int? {
        fill(rate, at: now)
        guard level <= 0 else { return nil }
        return max(1, Int((-level / rate.perSecond).rounded(.up)))
    }

    package mutating func take(_ cost: Int, _ rate: Rate, at now: Timestamp) {
        fill(rate, at: now)
        level -= Double(cost)
    }

    /// As if nothing had ever been taken.
    package mutating func isFull(_ rate: Rate, at now: Timestamp) -> Bool {
        fill(rate, at: now)
        return level >= rate.most
    }

    /// A clock that is set back fills nothing and takes nothing.
    private mutating func fill(_ rate: Rate, at now: Timestamp) {
        level = min(rate.most, level + max(0, now.secondsSince2001 - at) * rate.perSecond)
        at = now.secondsSince2001
    }
}
