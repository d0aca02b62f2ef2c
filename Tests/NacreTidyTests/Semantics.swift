/// Rules of CloudKit and how Nacre keeps them: rows of tables, `| 4.2 | rule | same | `Suite`: sentence |`, or a
/// reason in the place of a test.
enum Semantics {
    static let page = "docs/semantics.md"
    static let stances: Set = ["same", "stricter", "different", "absent"]
    /// How many rules each section has. What nobody has seen for certain is in none (22, 23); 25 is section 6 of
    /// the Web Services, 26 has rules of webhooks, 27 of telemetry, 28 of alerts, 29 of the console, and 30 of keys.
    static let sections = [
        1: 9, 2: 12, 3: 13, 4: 10, 5: 26, 6: 9, 7: 8, 8: 7, 9: 10, 10: 10, 11: 2, 12: 10, 13: 11, 14: 6, 15: 32, 16: 3, 17: 8, 18: 10, 19: 7, 20: 3,
        21: 14, 24: 17, 25: 19, 26: 7, 27: 3, 28: 5, 29: 5,
        30: 10,
    ]

    struct Row: Equatable {
        var section: Int
        var number: Int
        var stance: String
        /// nil where the last column is a reason.
        var test: (suite: String, sentence: String)?
        var line: Int

        static func == (left: Row, right: Row) -> Bool {
            (left.section, left.number, left.stance, left.line) == (right.section, right.number, right.stance, right.line)
        }
    }

    static func rows(of text: String) -> (rows: [Row], findings: [Finding]) {
        var rows: [Row] = []
        var findings: [Finding] = []
        for (offset, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            guard line.hasPrefix("|"), !line.hasPrefix("| rule |"), !line.hasPrefix("| ---") else { continue }
            guard let row = line.wholeMatch(of: /\| (\d+)\.(\d+) \| (.+?) \| (\w+) \| (.+) \|/), let section = Int(row.1), let number = Int(row.2),
                stances.contains(String(row.4))
            else {
                findings.append(Finding(path: page, line: offset + 1, message: "not a rule: | 4.2 | rule | same | `Suite`: sentence |"))
                continue
            }
            let test = row.5.wholeMatch(of: /`(\w+)`: (.+)/).map { (suite: String($0.1), sentence: String($0.2)) }
            rows.append(Row(section: section, number: number, stance: String(row.4), test: test, line: offset + 1))
        }
        return (rows, findings)
    }

    /// Returns rows whose test does not exist, and rules that stand twice, out of order, or not at all.
    static func findings(_ rows: [Row], tests: [String]) -> [Finding] {
        let missing = rows.compactMap { row -> Finding? in
            guard let test = row.test, !Claims.isThere(suite: test.suite, sentence: test.sentence, in: tests) else { return nil }
            return Finding(path: page, line: row.line, message: "no test of \(test.suite) says: \(test.sentence)")
        }
        let expected = sections.sorted { $0.key < $1.key }.flatMap { section, count in (1...count).map { "\(section).\($0)" } }
        let found = rows.map { "\($0.section).\($0.number)" }
        let wrong = found.elementsEqual(expected) ? nil : zip(found + [""], expected + [""]).first { $0 != $1 }
        return missing + (wrong.map { [Finding(path: page, line: 1, message: "rule \($0.1) is to be where rule \($0.0) is")] } ?? [])
    }
}
