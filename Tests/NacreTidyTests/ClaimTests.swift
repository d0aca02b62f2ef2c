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

    private static func tests() throws -> [String] {
        try SourceTree.swift.get().filter { $0.path.hasPrefix("Tests/") }.map(\.path).map(SourceTree.text)
    }

    @Test func `every claim of the security page has its test`() throws {
        let (rows, findings) = Claims.rows(of: try SourceTree.text(of: Claims.security.page))
        #expect(rows.count >= 30)
        #expect(Set(rows.map(\.claim)).count == rows.count)
        report(findings + Claims.findings(rows, tests: try Self.tests()))
    }

    @Test func `sentences and rows of tables are what a page says, and code and headings are not`() {
        let text = """
            # Doors. And walls
            Doors (of wood) shut. `Walls` stand, as
            ever. They are 2.5 m high; so it is.
            - one
            - two

            ```sh
            Code. Here.
            ```
            | door | wall |
            | --- | --- |
            | shut. Open | high |
            \(Claims.security.heading)
            | claim | test |
            """
        let found = Claims.statements(of: text)
        #expect(
            found.map(\.text) == [
                "Doors (of wood) shut.", "`Walls` stand, as ever.", "They are 2.5 m high; so it is.", "- one", "- two", "| door | wall |",
                "| shut. Open | high |",
            ])
        #expect(found.map(\.line) == [2, 2, 3, 4, 5, 10, 12])
    }

    @Test func `a statement without a test is found, unless it is said to claim nothing, and so is a claim that the page does not make`() {
        let row = Claims.Row(claim: "doors", suite: "DoorTests", sentence: "a door that is shut keeps out", line: 1)
        func count(_ text: String, none: [String] = []) -> Int { Claims.findings([row], none: none, page: "README.md", text: text).count }
        #expect(count("Our doors shut.") == 0)
        #expect(count("Our doors shut. Walls stand.") == 1)
        #expect(count("Our doors shut. Walls stand.", none: ["Walls"]) == 0)
        #expect(count("Walls stand.", none: ["Walls"]) == 1)
        #expect(count("| works | not yet |\n| --- | --- |\n| doors | |\n| walls | |\n", none: ["works"]) == 1)
    }

    @Test func `a script shows what it says that it does`() {
        let row = Claims.Row(claim: "doors", suite: "Scripts/doors", sentence: "Opens each door", line: 1)
        let scripts = ["Scripts/doors": "# Opens each door and shuts it."]
        #expect(Claims.findings([row], tests: [], script: { scripts[$0] }) == [])
        #expect(Claims.findings([row], tests: [Self.test]).count == 1)
    }

    @Test(arguments: Claims.pages) func `every statement of the page has its test, or claims nothing`(page: String) throws {
        let claims = try SourceTree.text(of: Claims.page)
        let (rows, findings) = Claims.rows(of: claims, on: Claims.place(of: page))
        let text = try SourceTree.text(of: page)
        #expect(rows.count >= 60)
        // Of the pages together: a line of one is no word of the other.
        let none = Claims.items(of: claims, below: Claims.none)
        let said = try Claims.pages.flatMap { Claims.statements(of: try SourceTree.text(of: $0)).map(\.text) }
        #expect(none.filter { item in !said.contains { $0.contains(item) } } == [])
        report(
            findings + Claims.findings(rows, on: Claims.page, tests: try Self.tests(), script: { try? SourceTree.text(of: $0) })
                + Claims.findings(rows, none: none, page: page, text: text))
    }
}
