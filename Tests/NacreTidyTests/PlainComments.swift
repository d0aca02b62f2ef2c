/// Checks the rules of CONTRIBUTING.md for comments that a machine can check.
enum PlainComments {
    /// Words that begin a doc comment without saying what it is about.
    static let emptyBeginnings: Set = [
        "As", "By", "Else", "It", "Nobody", "Of", "So", "Such", "They", "Those", "What", "Where", "Who", "Whose",
    ]
    /// The longest line of a comment, its indentation included.
    static let columnsMax = 120

    /// Paragraphs of doc comments that begin with an empty word.
    static func emptyOnes(in text: SwiftText) -> [Finding] {
        let doc = text.comments.filter { $0.text.hasPrefix("///") }
        // A line without words ends a paragraph.
        let lines = Set(doc.filter { $0.text.contains { !"/ ".contains($0) } }.map(\.line))
        return doc.compactMap { comment in
            guard !lines.contains(comment.line - 1) else { return nil }
            let first = String(comment.text.drop { "/ ".contains($0) }.prefix { $0.isLetter })
            guard emptyBeginnings.contains(first) else { return nil }
            return Finding(
                path: text.path, line: comment.line, message: "begin the comment with the noun or the verb that it is about, not with \(first)")
        }
    }

    /// Lines of the file that hold a comment alone and are too long.
    static func longLines(in source: String, path: String) -> [Finding] {
        source.split(separator: "\n", omittingEmptySubsequences: false).enumerated().compactMap { number, line in
            guard line.drop(while: { $0 == " " }).hasPrefix("//"), line.count > columnsMax else { return nil }
            return Finding(path: path, line: number + 1, message: "the comment has \(line.count) columns; the limit is \(columnsMax)")
        }
    }
}
