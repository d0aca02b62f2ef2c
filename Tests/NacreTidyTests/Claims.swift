import Foundation

/// What a page claims, each with the test that shows it: rows of a table, `| claim | `Suite`: sentence |`.
enum Claims {
    /// Of the page itself.
    static let security = (page: "SECURITY.md", heading: "## What shows it")
    /// Of the README, in its words.
    static let readme = (page: "docs/claims.md", heading: "## Works")

    struct Row: Equatable {
        var claim: String
        var suite: String
        var sentence: String
        var line: Int
    }

    /// Rows of the table below the heading, and findings of those that are none.
    static func rows(of text: String, on place: (page: String, heading: String) = security) -> (rows: [Row], findings: [Finding]) {
        var rows: [Row] = []
        var findings: [Finding] = []
        var isHere = false
        for (offset, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            if line.hasPrefix("#") { isHere = line == place.heading }
            guard isHere, line.hasPrefix("|"), !line.hasPrefix("| claim |"), !line.hasPrefix("| ---") else { continue }
            if let row = line.wholeMatch(of: /\| (.+) \| `(\w+)`: (.+) \|/) {
                rows.append(Row(claim: String(row.1), suite: String(row.2), sentence: String(row.3), line: offset + 1))
            } else {
                findings.append(Finding(path: place.page, line: offset + 1, message: "not a claim and its test: | claim | `Suite`: sentence |"))
            }
        }
        return (rows, findings)
    }

    /// Rows whose test is not there: a suite in a file of tests, and in one of its files the sentence as the name of a function.
    static func findings(_ rows: [Row], on page: String = security.page, tests: [String]) -> [Finding] {
        rows.compactMap { row in
            isThere(suite: row.suite, sentence: row.sentence, in: tests)
                ? nil : Finding(path: page, line: row.line, message: "no test of \(row.suite) says: \(row.sentence)")
        }
    }

    /// Rows whose words the README does not have, and what its table says works of which no row has a word.
    static func findings(_ rows: [Row], readme: String) -> [Finding] {
        let foreign = rows.filter { !readme.contains($0.claim) }.map {
            Finding(path: Self.readme.page, line: $0.line, message: "README.md does not say: \($0.claim)")
        }
        var isTable = false
        var bare: [Finding] = []
        for (offset, line) in readme.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            if line.hasPrefix("| works |") { isTable = true }
            guard isTable, !line.hasPrefix("| works |"), !line.hasPrefix("| ---") else { continue }
            guard line.hasPrefix("| ") else { break }
            let cell = line.dropFirst(2).prefix { $0 != "|" }
            guard !rows.contains(where: { cell.contains($0.claim) }) else { continue }
            bare.append(Finding(path: "README.md", line: offset + 1, message: "no test in \(Self.readme.page) shows: \(cell)"))
        }
        return foreign + bare
    }

    /// Whether one of the files has the suite, and in it the sentence as the name of a function.
    static func isThere(suite: String, sentence: String, in tests: [String]) -> Bool {
        tests.contains { $0.contains(" \(suite) {") && $0.contains("func `\(sentence)`(") }
    }
}
