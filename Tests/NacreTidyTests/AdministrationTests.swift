import Testing

/// Tests that commands cover the admin API.
struct AdministrationTests {
    /// Paths without a command: the document is for programs, and the console's page signs itself in and out.
    private static let asked = [
        "/admin/1/openapi.json", "/admin/1/console/sign-in", "/admin/1/console/session", "/admin/1/console/sign-out",
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
}
