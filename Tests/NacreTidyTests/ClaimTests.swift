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
}
