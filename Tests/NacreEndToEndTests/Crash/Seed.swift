import Foundation

/// A random generator that repeats itself: a failing test prints its seed, and `NACRE_SEED=…` runs it again.
///
/// What several tasks do at once still falls in another order each time; the choices of each are the same.
struct Seed: RandomNumberGenerator, CustomStringConvertible, Sendable {
    let value: UInt64
    private var state: UInt64

    init() {
        self.init(ProcessInfo.processInfo.environment["NACRE_SEED"].flatMap { UInt64($0) } ?? .random(in: 0...UInt64.max))
    }

    init(_ value: UInt64) {
        self.value = value
        state = value
    }

    var description: String { "NACRE_SEED=\(value)" }

    /// A generator of its own for one of several tasks.
    mutating func branch() -> Seed { Seed(next()) }

    /// SplitMix64.
    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }

    mutating func chance(_ oneIn: Int) -> Bool { Int.random(in: 0..<oneIn, using: &self) == 0 }
}
