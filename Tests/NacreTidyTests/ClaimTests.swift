import Testing

struct ClaimTests {
    private static let test = "struct DoorTests {\n    @Test func `a door that is shut keeps out`() {}\n}\n"

    private func findings(_ row: String) -> [String] {
        let (rows, findings) = Claims.rows(of: "# Security\n\(Claims.security.heading)\n\n| claim | test |\n| --- | --- |\n\(row)\n")
        return (findings + Claims.findings(rows, tests: [Self.test])).map(\.message)
    }

    @Test func `a claim whose test is there is shown`() {
        #expect(findings("| Doors shut. | `DoorTests`: a door that is shut keeps out |") == [])
    }

    @Test(arguments: [
        "| Doors shut. | `DoorTests`: a door that is open keeps out |", "| Doors shut. | `WindowTests`: a door that is shut keeps out |",
        "| Doors shut. | we looked |", "| Doors shut. | `DoorTests`: a door that is shut |",
    ])
    func `a claim without one is found`(row: String) {
        #expect(findings(row).count == 1)
    }

    @Test func `every claim of the security page has its test`() throws {
        let (rows, findings) = Claims.rows(of: try SourceTree.text(of: Claims.security.page))
        #expect(rows.count >= 30)
        #expect(Set(rows.map(\.claim)).count == rows.count)
        report(
            findings
                + Claims.findings(rows, tests: try SourceTree.swift.get().filter { $0.path.hasPrefix("Tests/") }.map(\.path).map(SourceTree.text)))
    }

    @Test func `what the README says is claimed in its words, and a row of its table without a test is found`() {
        let row = Claims.Row(claim: "doors", suite: "DoorTests", sentence: "a door that is shut keeps out", line: 1)
        #expect(Claims.findings([row], readme: "| works | not yet |\n| --- | --- |\n| doors that shut | windows |\n\nno walls\n") == [])
        #expect(Claims.findings([row], readme: "| works | not yet |\n| --- | --- |\n| doors | |\n| walls | |\n").count == 1)
        #expect(Claims.findings([row], readme: "| works | not yet |\n| --- | --- |\n").count == 1)
    }

    @Test func `every claim of the README has its test`() throws {
        let (rows, findings) = Claims.rows(of: try SourceTree.text(of: Claims.readme.page), on: Claims.readme)
        #expect(rows.count >= 25)
        let tests = try SourceTree.swift.get().filter { $0.path.hasPrefix("Tests/") }.map(\.path).map(SourceTree.text)
        report(
            findings + Claims.findings(rows, on: Claims.readme.page, tests: tests)
                + Claims.findings(rows, readme: try SourceTree.text(of: "README.md")))
    }
}
