/// Checks that the domain gets the clock, randomness and new names from its caller, so that a run can be replayed
/// from a seed.
enum Determinism {
    /// Targets that must not draw values from outside.
    static let targets: Set = ["NacreCloudStorage", "NacreCloudAccounts", "NacreCloudContainer", "NacreCloudTasks"]

    static let phrases: [(words: [String], instead: String)] = [
        (["Date", "(", ")"], "take the time as a parameter"),
        (["Date", ".", "init", "(", ")"], "take the time as a parameter"),
        (["Date", ".", "now"], "take the time as a parameter"),
        (["ContinuousClock", "("], "take the time as a parameter"),
        (["ContinuousClock", ".", "now"], "take the time as a parameter"),
        (["SuspendingClock", "("], "take the time as a parameter"),
        (["SuspendingClock", ".", "now"], "take the time as a parameter"),
        (["clock_gettime"], "take the time as a parameter"),
        (["UUID", "(", ")"], "take new names as a parameter"),
        ([".", "random", "("], "take randomness as a parameter"),
        ([".", "randomElement", "("], "take randomness as a parameter"),
        ([".", "shuffled", "("], "take randomness as a parameter"),
        ([".", "shuffle", "("], "take randomness as a parameter"),
        (["SystemRandomNumberGenerator"], "take randomness as a parameter"),
    ]

    static func findings(_ file: SwiftText) -> [Finding] {
        guard file.isSource, let target = file.target, targets.contains(target) else { return [] }
        return file.tokens.indices.compactMap { index in
            let phrase = phrases.first { file.reads($0.words, at: index) }
            let instead = phrase?.instead ?? (isImplicitNow(file, at: index) ? "take the time as a parameter" : nil)
            return instead.map {
                Finding(path: file.path, line: file.tokens[index].line, message: "\(target) draws nothing from outside: \($0)")
            }
        }
    }

    /// Returns whether `.now` reads a clock that was not passed in, as in `= .now` and `(.now`; `caller.now` reads a
    /// passed value.
    private static func isImplicitNow(_ file: SwiftText, at index: Int) -> Bool {
        guard file.reads([".", "now"], at: index), let last = file.text(index - 1).last else { return false }
        return !(last.isLetter || last.isNumber || "_`)]}>?!".contains(last)) || ["return", "in", "case", "default"].contains(file.text(index - 1))
    }
}
