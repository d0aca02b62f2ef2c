import Testing

/// Tests that commands and the console's pages cover the admin API.
struct AdministrationTests {
    /// Paths without a command: the document is for programs, and the console's page signs itself in and out.
    private static let asked = [
        "/admin/1/openapi.json", "/admin/1/console/sign-in", "/admin/1/console/challenge", "/admin/1/console/session",
        "/admin/1/console/sign-out",
    ]

    /// Returns the paths in the string literals of files below a folder.
    private static func paths(in folder: String) throws -> Set<String> {
        let found = try SourceTree.paths(under: [folder]).filter { $0.hasSuffix(".swift") }.flatMap { path in
            try SourceTree.text(of: path).matches(of: #/"(\/admin\/1\/[a-z.\/-]+)/#).map { String($0.output.1) }
        }
        return Set(found)
    }

    @Test func `each endpoint of administration is asked by a command of nacre, and no command asks another`() throws {
        let endpoints = try Self.paths(in: "Sources/NacreCloudServer/Admin").subtracting(Self.asked)
        let commands = try Self.paths(in: "Sources/NacreCloudCLI")
        #expect(endpoints.count > 40)
        #expect(endpoints.subtracting(commands).sorted() == [])
        #expect(commands.subtracting(endpoints).sorted() == [])
    }

    /// The sign-in of the console itself, which its shell asks.
    private static let signIn = "/admin/1/console/"

    @Test func `each endpoint of administration has a page of the console that asks it, and a command`() throws {
        let rows = try SourceTree.text(of: "Web/console/routes.tsv").split(separator: "\n").dropFirst().map {
            $0.split(separator: "\t").map(String.init)
        }
        #expect(rows.allSatisfy { $0.count == 3 && $0[0].contains(" ") })
        let named = Set(rows.compactMap { $0[0].split(separator: " ").last.map(String.init) })
        let endpoints = try Self.paths(in: "Sources/NacreCloudServer/Admin").subtracting(Self.asked).filter { !$0.hasPrefix(Self.signIn) }
        #expect(endpoints.subtracting(named).sorted() == [])
        #expect(named.subtracting(endpoints).sorted() == [])

        let scripts = try SourceTree.paths(under: ["Web/console/js"]).filter { $0.hasSuffix(".js") }.map(SourceTree.text).joined()
        let commands = try SourceTree.text(of: "docs/commands.md")
        for row in rows where row.count == 3 {
            let literal = row[0].replacing(#/^[A-Z]+ \/admin\/1\//#, with: "\"") + "\""
            #expect(row[1] == "-" || scripts.contains(literal), "no page asks \(row[0])")
            #expect(row[1] == "-" || SourceTree.exists("Web/console/js/pages/\(row[1]).js"), "no page \(row[1])")
            #expect(row[2] == "-" || commands.contains("## nacre \(row[2])\n"), "no command \(row[2])")
        }
    }
}
