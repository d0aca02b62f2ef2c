import Testing

struct ManifestTests {
    private let text = """
        let stem = Target.Dependency.target(name: "NacreStem", condition: .when(platforms: [.linux]))
        let package = Package(
            products: [.library(name: "Tree", targets: ["Tree"])],
            targets: [
                .systemLibrary(name: "CBark", pkgConfig: "bark", providers: [.apt(["libbark-dev"])]),
                module("NacreStem"),
                module("CloudKit", ["NacreStem", "NacreLeaf"]),
                .executableTarget(
                    name: "NacreTree", dependencies: ["CloudKit", stem], swiftSettings: settings),
            ])
        """

    @Test func `targets are read with what they depend on`() throws {
        let targets = try Manifest(text).targets
        #expect(targets.map(\.name) == ["CBark", "NacreStem", "CloudKit", "NacreTree"])
        #expect(targets.map(\.dependencies) == [[], [], ["NacreStem", "NacreLeaf"], ["CloudKit", "NacreStem"]])
        #expect(targets.map(\.line) == [5, 6, 7, 8])
    }

    @Test func `an internal target without the prefix is found`() throws {
        #expect(try Manifest(text).unprefixed.map(\.line) == [5])
    }

    @Test func `a dependency that nobody imports is found`() throws {
        let files = [
            SwiftText("import NacreStem", path: "Sources/CloudKit/A.swift"),
            SwiftText("public import CloudKit", path: "Sources/NacreTree/A.swift"), SwiftText("import NacreStem", path: "Sources/NacreTree/B.swift"),
        ]
        #expect(try Manifest(text).unused(by: files).map(\.message) == ["CloudKit depends on NacreLeaf, and none of its files imports it"])
    }

    @Test func `every internal target has the prefix, and imports what it depends on`() throws {
        let manifest = try Manifest(SourceTree.text(of: Manifest.page))
        #expect(manifest.targets.count > 30)
        report(manifest.unprefixed)
        report(manifest.unused(by: try SourceTree.swift.get()))
    }
}
