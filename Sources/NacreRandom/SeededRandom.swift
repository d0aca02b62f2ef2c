/// SplitMix64 (Steele, Lea, Flood 2014): one seed gives the same numbers on every machine. Only the numbers repeat:
/// tasks that use them at once may still run in another order.
package struct SeededRandom: RandomNumberGenerator, CustomStringConvertible, Sendable {
    package let seed: UInt64
    private var state: UInt64

    package init(seed: UInt64) {
        self.seed = seed
        state = seed
    }

    /// The seed, as the message of a failed test states it. The test repeats with this seed.
    package var description: String { "NACRE_SEED=\(seed)" }

    package mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var value = state
        value = (value ^ (value >> 30)) &* 0xbf58_476d_1ce4_e5b9
        value = (value ^ (value >> 27)) &* 0x94d0_49bb_1331_11eb
        return value ^ (value >> 31)
    }

    /// Returns a new generator for one of several tasks.
    package mutating func branch() -> SeededRandom { SeededRandom(seed: next()) }

    /// Returns true once in `times` calls on average.
    package mutating func happens(onceIn times: UInt64) -> Bool {
        next() % times == 0
    }
}
