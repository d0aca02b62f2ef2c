import Foundation
import Testing

struct ArrowTests {
    private let arrows = Arrows(
        table: """
            ## The arrows

            | target | may import | note |
            | --- | --- | --- |
            | `Leaf`, `Twig` | nothing of ours | |
            | `Branch` | `Leaf`, `CBark` | not `Twig` |

            ## Next
            | `Root` | `Branch` | |
            """)

    @Test func `the table is read from its section`() {
        #expect(arrows.allowed == ["Leaf": [], "Twig": [], "Branch": ["Leaf", "CBark"]])
    }

    @Test(arguments: [
        "import Twig", "package import Twig", "@testable import Twig", "@preconcurrency public import Twig", "import struct Twig.Bud",
        "import Twig.Bud",
        "#if canImport(Twig)\n    import Twig\n#endif", "import Leaf; import Twig",
    ])
    func `an import that no arrow allows is found`(text: String) {
        let findings = arrows.findings(SwiftText(text, path: "Sources/Branch/A.swift"))
        #expect(findings.map(\.message) == ["Branch may not import Twig"])
    }

    @Test(arguments: ["import Leaf\nimport CBark", "import Foundation", "// import Twig", "let a = \"import Twig\"", "import LeafTwig"])
    func `other imports are not`(text: String) {
        #expect(arrows.findings(SwiftText(text, path: "Sources/Branch/A.swift")) == [])
    }

    @Test func `a target without a row is found`() {
        #expect(arrows.findings(SwiftText("", path: "Sources/Root/A.swift")).count == 1)
        #expect(arrows.findings(SwiftText("", path: "Tests/RootTests/A.swift")) == [])
    }

    @Test(arguments: [
        ("import CNacreSQLite", "Sources/NacreCloudStore/SQL/A.swift"), ("import CNacreSodium", "Sources/CloudKit/A.swift"),
        ("import CNacreOpenSSL", "Sources/NacreHTTPServer/A.swift"), ("import CNacreZlib", "Sources/NacreCloudServer/A.swift"),
        ("import CNacreSockets", "Tests/NacreCloudServerTests/A.swift"), ("import NacreCloudStore", "Sources/NacreCloudServer/API/A.swift"),
    ])
    func `a module outside its place is found`(text: String, path: String) {
        #expect(Confinement.findings(SwiftText(text, path: path)).count == 1)
    }

    @Test(arguments: [
        ("import CNacreSQLite", "Sources/NacreCloudStore/SQLite/A.swift"), ("import CNacreSodium", "Sources/NacreCrypto/A.swift"),
        ("import NacreCloudStore", "Sources/NacreCloudServer/Server.swift"), ("import NacreCloudStore", "Tests/NacreCloudServerTests/A.swift"),
    ])
    func `a module in its place is not`(text: String, path: String) {
        #expect(Confinement.findings(SwiftText(text, path: path)) == [])
    }

    @Test func `every target has its arrows and keeps to them`() throws {
        let arrows = Arrows(table: try SourceTree.text(of: Arrows.page))
        #expect(arrows.allowed["NacreCloudContainer"]?.contains("NacreCloudWire") == true)
        try report(arrows.findings)
    }

    @Test func `C libraries and engines stay in their places`() throws {
        try report(Confinement.findings)
    }
}
