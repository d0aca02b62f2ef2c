import Foundation

/// What a page claims, each with the test that shows it: rows of a table, `| claim | `Suite`: sentence |`. A script that CI runs may stand in the place of a suite.
enum Claims {
    /// Of the page for security, as a summary.
    static let security = (page: "SECURITY.md", heading: "## What shows it")
    /// What the pages say, in their words.
    static let page = "docs/claims.md"
    static let pages = ["README.md", "SECURITY.md"]
    /// Of a page's statements those that say nothing of what Nacre does.
    static let none = "## Says nothing of what it does"

    static func place(of page: String) -> (page: String, heading: String) { (Self.page, "## \(page)") }

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
            if let row = line.wholeMatch(of: /\| (.+) \| `([\w\/]+)`: (.+) \|/) {
                rows.append(Row(claim: String(row.1), suite: String(row.2), sentence: String(row.3), line: offset + 1))
            } else {
                findings.append(Finding(path: place.page, line: offset + 1, message: "not a claim and its test: | claim | `Suite`: sentence |"))
            }
        }
        return (rows, findings)
    }

    /// Rows whose test is not there: a suite in a file of tests, and in one of its files the sentence as the name of a function.
    /// - Parameter script: the text of a file that is no Swift.
    static func findings(_ rows: [Row], on page: String = security.page, tests: [String], script: (String) -> String? = { _ in nil }) -> [Finding] {
        rows.compactMap { row in
            let isShown =
                row.suite.contains("/")
                ? script(row.suite)?.contains(row.sentence) == true : isThere(suite: row.suite, sentence: row.sentence, in: tests)
            return isShown ? nil : Finding(path: page, line: row.line, message: "no test of \(row.suite) says: \(row.sentence)")
        }
    }

    /// Lines of the list below a heading.
    static func items(of text: String, below heading: String) -> [String] {
        var isHere = false
        return text.split(separator: "\n").compactMap { line in
            if line.hasPrefix("#") { isHere = line == heading }
            return isHere && line.hasPrefix("- ") ? String(line.dropFirst(2)) : nil
        }
    }

    struct Statement: Equatable {
        var text: String
        /// Where it begins.
        var line: Int
    }

    /// The sentences of a page's prose, and the rows of its tables. Headings, code and the table of tests are none.
    static func statements(of text: String) -> [Statement] {
        var statements: [Statement] = []
        var words: [(text: Substring, line: Int)] = []
        func end() {
            if let first = words.first { statements.append(Statement(text: words.map { String($0.text) }.joined(separator: " "), line: first.line)) }
            words = []
        }
        var isCode = false
        var isTests = false
        for (offset, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            if line.hasPrefix("```") { isCode.toggle() }
            if line.hasPrefix("#"), !isCode { isTests = line == security.heading }
            let isProse = !isCode && !isTests && !line.isEmpty && !line.hasPrefix("#") && !line.hasPrefix("```")
            guard isProse, !line.hasPrefix("|") else {
                end()
                if isProse, !line.hasPrefix("| ---") { statements.append(Statement(text: String(line), line: offset + 1)) }
                continue
            }
            if line.hasPrefix("- ") { end() }
            for word in line.split(separator: " ") {
                // A sentence begins with a capital, or with a word in code, in bold or of a link.
                if let last = words.last?.text.last, ".!?".contains(last), let first = word.first, first.isUppercase || "`*[(".contains(first) {
                    end()
                }
                words.append((word, offset + 1))
            }
        }
        end()
        return statements
    }

    /// Rows and lines of the list whose words the page does not have, and statements of the page of which neither has a word.
    static func findings(_ rows: [Row], none: [String], page: String, text: String) -> [Finding] {
        let statements = statements(of: text)
        let foreign = rows.filter { row in !statements.contains { $0.text.contains(row.claim) } }.map {
            Finding(path: Self.page, line: $0.line, message: "\(page) does not say: \($0.claim)")
        }
        let bare = statements.filter { statement in !(rows.map(\.claim) + none).contains { statement.text.contains($0) } }.map {
            Finding(path: page, line: $0.line, message: "no test in \(Self.page) shows: \($0.text)")
        }
        return foreign + bare
    }

    /// Whether one of the files has the suite, and in it the sentence as the name of a function; or, for the suite of scenarios, a scenario of that name.
    static func isThere(suite: String, sentence: String, in tests: [String]) -> Bool {
        tests.contains { $0.contains(" \(suite) {") && $0.contains("func `\(sentence)`(") }
            || suite == "ScenarioTests" && tests.contains { $0.contains("\"\(sentence)\"") }
    }
}
