import FoundationEssentials

/// The extent of tests that try every call, place or engine. `make test` takes a part of them, another one for each
/// seed. `make soak` takes them all: it sets `NACRE_WHOLE`.
package enum LongSearch {
    package static let isWhole = ProcessInfo.processInfo.environment["NACRE_WHOLE"] != nil

    /// Returns the number of rounds, steps or operations of a random test.
    /// - Parameters:
    ///   - name: An environment variable that can set another number.
    ///   - part: The number in `make test`.
    ///   - whole: The number in a whole search.
    package static func rounds(_ name: String, part: Int, whole: Int) -> Int {
        rounds(name, isWhole ? whole : part)
    }

    /// Returns the number of rounds, steps or operations of a random test that is as long in `make test` as in a whole
    /// search, unless the environment variable `name` sets another number.
    package static func rounds(_ name: String, _ number: Int) -> Int {
        ProcessInfo.processInfo.environment[name].flatMap { Int($0) } ?? number
    }

    /// Returns numbers of calls from 1 to `last`: all in a whole search, otherwise every `step`-th from a start that
    /// the seed draws.
    package static func calls(upTo last: Int, every step: Int) -> StrideThrough<Int> {
        isWhole ? stride(from: 1, through: last, by: 1) : stride(from: 1 + Int(HistorySeed.value % UInt64(step)), through: last, by: step)
    }
}

extension Engine {
    /// The engines for histories: the one that users run, and the one with the fewest guarantees. Conformance and a
    /// whole search take every engine.
    package static let ofHistories: [Engine] = LongSearch.isWhole ? embedded : [.sqlite, .sideBySide]

    /// The engines for tests of rules: the one with the fewest guarantees. A whole search takes every engine.
    package static let ofRules: [Engine] = LongSearch.isWhole ? embedded : [.sideBySide]
}
