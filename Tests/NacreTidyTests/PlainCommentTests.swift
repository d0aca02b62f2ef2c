import Testing

struct PlainCommentTests {
    @Test(arguments: [
        "/// Of two changes the later wins.", "/// What waits.", "    /// By name.", "/// So.\n/// More.", "/// A change.\n///\n/// It waits.",
    ])
    func `a comment with a paragraph that begins with an empty word is found`(text: String) {
        #expect(PlainComments.emptyOnes(in: SwiftText(text + "\nlet a = 1\n")).count == 1)
    }

    @Test(arguments: [
        "/// The later of two changes wins.", "/// A change\n/// of what waits.", "/// A change.\n///\n/// The other.\n/// It waits.", "// Of code.",
        "let a = \"/// Of\"", "/// Offers.",
    ])
    func `others are not`(text: String) {
        #expect(PlainComments.emptyOnes(in: SwiftText(text + "\n")) == [])
    }

    @Test func `a line of a comment is measured with its indentation, and code is not`() {
        let text = "    // " + String(repeating: "a", count: 113)
        #expect(PlainComments.longLines(in: text + "\nlet b = 1 // " + text, path: "A.swift") == [])
        #expect(PlainComments.longLines(in: text + "a", path: "A.swift").map(\.line) == [1])
    }

    @Test func `no paragraph of a comment of the house begins with an empty word`() throws {
        report(try SourceTree.swift.get().filter { !$0.isGenerated }.flatMap(PlainComments.emptyOnes))
    }

    @Test func `comments keep to their columns`() throws {
        report(
            try SourceTree.swift.get().filter { !$0.isGenerated }.flatMap {
                PlainComments.longLines(in: try SourceTree.text(of: $0.path), path: $0.path)
            })
    }
}
