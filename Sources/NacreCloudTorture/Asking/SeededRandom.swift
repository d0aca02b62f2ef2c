/// SplitMix64 (Steele, Lea, Flood 2014): a seed gives the same choices on every machine. What a server does with them in time is its own.
package struct SeededRandom: RandomNumberGenerator, Sendable {
    private var state: UInt64

    package init(seed: UInt64) {
        state = seed
    }

    package mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var value = state
        value = (value ^ (value >> 30)) &* 0xbf58_476d_1ce4_e5b9
        value = (value ^ (value >> 27)) &* 0x94d0_49bb_1331_11eb
        return value ^ (value >> 31)
    }

    /// True once in so many times.
    mutating func happens(onceIn times: UInt64) -> Bool {
        next() % times == 0
    }
}
