import FoundationEssentials

/// The extent of tests that go through every call, place or engine. `make test` takes a part of them, another one for each seed.
/// `make soak` takes them all: it sets `NACRE_WHOLE`.
package enum LongSearch {
    package static let isWhole = ProcessInfo.processInfo.environment["NACRE_WHOLE"] != nil

    /// The number of rounds, steps or operations of a test that draws at random.
    /// - Parameters:
    ///   - name: an environment variable that holds another number.
    ///   - part: the number of `make test`.
    ///   - whole: the number of a whole search.
    package static func rounds(_ name: String, part: Int, whole: Int) -> Int {
        ProcessInfo.processInfo.environment[name].flatMap { Int($0) } ?? (isWhole ? whole : part)
    }

    /// Numbers of calls from 1 to `last`: each one in a whole search, else every `step`-th from a start that the seed draws.
    package static func calls(upTo last: Int, every step: Int) -> StrideThrough<Int> {
        isWhole ? stride(from: 1, through: last, by: 1) : stride(from: 1 + Int(HistorySeed.value % UInt64(step)), through: last, by: step)
    }
}

extension Engine {
    /// The engines under tests of rules: the one that promises least. Conformance, histories and a whole search take every engine.
    package static let ofRules: [Engine] = LongSearch.isWhole ? allCases : [.sideBySide]
}
