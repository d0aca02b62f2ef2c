/// A position in a list that the server answers in pages: the server's own cursor, and the rows of its page that were
/// shown already.
struct ToolPage {
    /// Rows of a page, and characters of a document, that may be skipped. Ours: no page and no schema has more.
    private static let skippedMax = 10_000_000

    /// The server's cursor of the page; nil: the first page.
    let cursor: String?
    let skipped: Int
    private let cursors: ToolCursors

    /// The beginning of a page of the server's; nil: of the list.
    init(cursor: String?, skipping skipped: Int = 0, _ cursors: ToolCursors) {
        (self.cursor, self.skipped, self.cursors) = (cursor, skipped, cursors)
    }

    /// Reads the position behind which a call goes on: `skipped` or `skipped:cursor`; nil: from the beginning.
    init(_ after: String?, _ cursors: ToolCursors) throws(ToolFault) {
        let parts = (after ?? "0").split(separator: ":", omittingEmptySubsequences: false).map { Int($0) ?? -1 }
        guard parts.count <= 2, (0...Self.skippedMax).contains(parts[0]) else { throw Self.unknown }
        guard parts.count == 2 else {
            self.init(cursor: nil, skipping: parts[0], cursors)
            return
        }
        guard let cursor = cursors.cursor(parts[1]) else { throw Self.unknown }
        self.init(cursor: cursor, skipping: parts[0], cursors)
    }

    private static let unknown = ToolFault(
        "after is not a place in this list", field: "after", remedy: "Send next as it was given in this session, or leave it out to begin.")

    /// Returns the value of `after` that goes on behind a number of rows of this page.
    func after(_ rows: Int) -> String { Self.text(rows, cursor, cursors) }

    private static func text(_ skipped: Int, _ cursor: String?, _ cursors: ToolCursors) -> String {
        cursor.map { "\(skipped):\(cursors.keep($0))" } ?? "\(skipped)"
    }

    /// Returns an answer with rows of the page from this position on, and the way to go on.
    /// - Parameters:
    ///   - rows: All rows of the server's page.
    ///   - next: The server's cursor of the next page; nil: this is the last one.
    func answer(
        _ name: String, _ rows: [JSONValue], next: String?, limit: Int, _ facts: KeyValuePairs<String, JSONValue?> = [:]
    ) -> ToolAnswer {
        let answer = ToolAnswer(name, rows.dropFirst(skipped), limit: limit, facts)
        let end = skipped + answer.shown
        return answer.goingOn(after: end < rows.count ? after(end) : next.map { Self.text(0, $0, cursors) })
    }
}
