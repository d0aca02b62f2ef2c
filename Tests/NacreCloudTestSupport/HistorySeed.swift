import FoundationEssentials
// Tests draw with `SeededRandom`, and need not name its module.
@_exported public import NacreRandom

/// The seed of this test run: `NACRE_SEED` if set, otherwise another one each time. A failing test prints it.
package enum HistorySeed {
    package static let value = ProcessInfo.processInfo.environment["NACRE_SEED"].flatMap { UInt64($0) } ?? .random(in: 0...UInt64(UInt32.max))
}

extension SeededRandom {
    /// Begins with the seed of this run.
    package init() {
        self.init(seed: HistorySeed.value)
    }

    package mutating func chance(_ oneIn: Int) -> Bool { Int.random(in: 0..<oneIn, using: &self) == 0 }
}
