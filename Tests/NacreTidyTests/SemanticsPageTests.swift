import Testing

struct SemanticsPageTests {
    private static let test = "struct DoorTests {\n    @Test func `a door that is shut keeps out`() {}\n}\n"

    private func findings(_ rows: String...) -> [String] {
        let (rows, findings) = Semantics.rows(
            of: "# Rules\n\n| rule | what it says | here | shown by |\n| --- | --- | --- | --- |\n\(rows.joined(separator: "\n"))\n")
        return (findings + Semantics.findings(rows, tests: [Self.test])).map(\.message)
    }

    @Test func `a rule whose test is there, or that has a reason, is shown`() {
        // Only the other rules are missing.
        #expect(findings("| 1.1 | Doors. | same | `DoorTests`: a door that is shut keeps out |") == ["rule 1.2 is to be where rule  is"])
        #expect(findings("| 1.1 | Doors. | absent | There are no doors. |") == ["rule 1.2 is to be where rule  is"])
    }

    @Test(arguments: [
        "| 1.1 | Doors. | same | `DoorTests`: a door that is open keeps out |",
        "| 1.1 | Doors. | same | `WindowTests`: a door that is shut keeps out |",
        "| 1.1 | Doors. | perhaps | There are no doors. |", "| Doors. | same | There are no doors. |",
    ])
    func `a rule without a test, a reason or a number is found`(row: String) {
        #expect(findings(row).count == 2)
    }

    @Test func `a rule that stands twice or is left out is found`() {
        let row = { (rule: String) in "| \(rule) | Doors. | absent | There are no doors. |" }
        #expect(findings(row("1.1"), row("1.1")) == ["rule 1.2 is to be where rule 1.1 is"])
        #expect(findings(row("1.1"), row("1.3")) == ["rule 1.2 is to be where rule 1.3 is"])
    }

    @Test func `every rule of CloudKit has a test that names it, or says why not`() throws {
        let (rows, findings) = Semantics.rows(of: try SourceTree.text(of: Semantics.page))
        report(
            findings
                + Semantics.findings(
                    rows, tests: try SourceTree.swift.get().filter { $0.path.hasPrefix("Tests/") }.map(\.path).map(SourceTree.text)))
    }
}
