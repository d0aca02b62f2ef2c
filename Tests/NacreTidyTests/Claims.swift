import Foundation

/// What `SECURITY.md` claims, each with the test that shows it: rows of a table, `| claim | `Suite`: sentence |`.
enum Claims {
    static let page = "SECURITY.md"
    static let heading = "## What shows it"

    struct Row: Equatable {
        var claim: String
        var suite: String
        var sentence: String
        var line: Int
    }

    /// Rows of the table below the heading, and findings of those that are none.
    static func rows(of text: String) -> (rows: [Row], findings: [Finding]) {
        var rows: [Row] = []
        var findings: [Finding] = []
        var isHere = false
        for (offset, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            if line.hasPrefix("#") { isHere = line == heading }
            guard isHere, line.hasPrefix("|"), !line.hasPrefix("| claim |"), !line.hasPrefix("| ---") else { continue }
            if let row = line.wholeMatch(of: /\| (.+) \| `(\w+)`: (.+) \|/) {
                rows.append(Row(claim: String(row.1), suite: String(row.2), sentence: String(row.3), line: offset + 1))
            } else {
                findings.append(Finding(path: page, line: offset + 1, message: "not a claim and its test: | claim | `Suite`: sentence |"))
            }
        }
        return (rows, findings)
    }

    /// Rows whose test is not there: a suite in a file of tests, and in one of its files the sentence as the name of a function.
    static func findings(_ rows: [Row], tests: [String]) -> [Finding] {
        rows.compactMap { row in
            let isThere = tests.contains { $0.contains(" \(row.suite) {") && $0.contains("func `\(row.sentence)`(") }
            return isThere ? nil : Finding(path: page, line: row.line, message: "no test of \(row.suite) says: \(row.sentence)")
        }
    }
}
