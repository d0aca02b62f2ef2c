import Testing

/// Compares `docs/errors.md` with the codes of both APIs.
struct ErrorPageTests {
    private static let unraised = "CloudKit has it; this server and this framework do not raise it."

    /// Returns the rows of the page's tables: a code, its number, its cause.
    private static func rows() throws -> [(code: String, number: Int, cause: String)] {
        try SourceTree.text(of: "docs/errors.md").split(separator: "\n").compactMap { line in
            line.wholeMatch(of: /\| `(\w+)` \| (\d+) \| (.+) \| .+ \|/).map { (String($0.1), Int($0.2) ?? 0, String($0.3)) }
        }
    }

    @Test func `the page has a row for each code of the framework and each of the web API, and no other`() throws {
        let native = try SourceTree.text(of: "Sources/CloudKit/Errors/CKError+Code.swift").matches(of: /\n {8}case (\w+) = (\d+)/).map {
            "\($0.1) \($0.2)"
        }
        let web = try SourceTree.text(of: "Sources/NacreCloudWire/Errors/ServerError.swift").matches(of: /\n {4}case \w+ = "([A-Z_]+)"/).map {
            String($0.1)
        }
        #expect(native.count > 30 && web.count > 10)
        let rows = try Self.rows()
        #expect(Set(rows.map { $0.code.contains(where: \.isLowercase) ? "\($0.code) \($0.number)" : $0.code }) == Set(native + web))
        #expect(rows.count == native.count + web.count)
    }

    @Test func `what the page says is not raised is raised by no source`() throws {
        let sources = try SourceTree.swift.get().filter { $0.path.hasPrefix("Sources/") }.map(\.path).map(SourceTree.text)
        let unraised = try Self.rows().filter { $0.cause == Self.unraised }.map(\.code)
        #expect(unraised.count > 3)
        for code in unraised {
            for text in sources { #expect(!text.contains("native: .\(code)") && !text.contains("CKError(.\(code)"), "\(code)") }
        }
    }
}
