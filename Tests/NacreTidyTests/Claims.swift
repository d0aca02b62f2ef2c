import Foundation

/// The claims of SECURITY.md, each with the test that shows it: rows of a table, `| claim | `Suite`: sentence |`.
enum Claims {
    static let security = (page: "SECURITY.md", heading: "## What shows it")

    struct Row: Equatable {
        var claim: String
        var suite: String
        var sentence: String
        var line: Int
    }

    /// Reads the rows of the table below the heading, with a finding for each line of it that is no row.
    static func rows(of text: String) -> (rows: [Row], findings: [Finding]) {
        var rows: [Row] = []
        var findings: [Finding] = []
        var isHere = false
        for (offset, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            if line.hasPrefix("#") { isHere = line == security.heading }
            guard isHere, line.hasPrefix("|"), !line.hasPrefix("| claim |"), !line.hasPrefix("| ---") else { continue }
            if let row = line.wholeMatch(of: /\| (.+) \| `(\w+)`: (.+) \|/) {
                rows.append(Row(claim: String(row.1), suite: String(row.2), sentence: String(row.3), line: offset + 1))
            } else {
                findings.append(Finding(path: security.page, line: offset + 1, message: "not a claim and its test: | claim | `Suite`: sentence |"))
            }
        }
        return (rows, findings)
    }

    /// Finds rows whose test is not there: a suite in a file of tests, and in one of its files the sentence as the name
    /// of a function.
    static func findings(_ rows: [Row], tests: [String]) -> [Finding] {
        rows.filter { !isThere(suite: $0.suite, sentence: $0.sentence, in: tests) }.map {
            Finding(path: security.page, line: $0.line, message: "no test of \($0.suite) says: \($0.sentence)")
        }
    }

    /// Whether one of the files has the suite, and in it the sentence as the name of a function; or, for the suite of
    /// scenarios, a scenario of that name.
    static func isThere(suite: String, sentence: String, in tests: [String]) -> Bool {
        tests.contains { $0.contains(" \(suite) {") && $0.contains("func `\(sentence)`(") }
            || suite == "ScenarioTests" && tests.contains { $0.contains("\"\(sentence)\"") }
    }
}
