import Testing

struct UndocumentedTests {
    @Test(arguments: [
        "public func a() {}", "    public let a: Int", "open class A {}", "@discardableResult\npublic func a() {}", "/// Says.\n\npublic var a: Int",
        "/// Says.\npublic enum A {\n    case a\n}", "// Says.\npublic init() {}",
    ])
    func `a public declaration without a comment is found`(text: String) {
        #expect(Undocumented.lines(of: text).count == 1)
    }

    @Test(arguments: [
        "/// Says.\npublic func a() {}", "/// Says.\n@discardableResult\npublic func a() {}", "func a() {}", "public import Foundation",
        "/// Says.\npublic enum A {\n    /// Says.\n    case a\n}", "enum A {\n    case a\n}", "    open override var description: String { \"\" }",
        "public required init?(coder: NSCoder) {}", "/// Says.\npublic enum A {\n}\nswitch a {\n    case a\n}",
    ])
    func `others are not`(text: String) {
        #expect(Undocumented.lines(of: text) == [])
    }

    @Test func `what apps see says what it is`() throws {
        for path in try SourceTree.paths(under: ["Sources/CloudKit"]).filter({ $0.hasSuffix(".swift") }) {
            let lines = Undocumented.lines(of: try SourceTree.text(of: path))
            report(lines.map { Finding(path: path, line: $0, message: "public, and no doc comment above it") })
        }
    }
}
