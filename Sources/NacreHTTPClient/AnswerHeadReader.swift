/// Reads the lines of an answer's head as they come.
struct AnswerHeadReader: Sendable {
    /// The most bytes of all header lines, our choice: no honest server comes near.
    static let bytesMax = 256 << 10

    private(set) var head: HTTPClient.Head?
    /// Whether the head of the final answer has ended, not only one with status 100 to 199.
    private(set) var isComplete = false
    /// Whether any line came, even if only of a "100 Continue".
    private(set) var hasBegun = false
    private var bytes = 0

    /// - Returns: false if the head is too large.
    mutating func take(_ line: UnsafeRawBufferPointer) -> Bool {
        hasBegun = true
        bytes += line.count
        guard bytes <= Self.bytesMax else { return false }
        // Ignore the trailers after the body.
        guard !isComplete else { return true }
        let text = Self.trimmed(line)
        if text.isEmpty {
            end()
        } else if head == nil {
            begin(text)
        } else if let first = line.first, first == 32 || first == 9 {
            // RFC 9112, section 5.2: a header folded over several lines.
            if let last = head?.headers.indices.last { head?.headers[last].value += " " + text }
        } else if let colon = text.firstIndex(of: ":") {
            let value = text[text.index(after: colon)...].utf8
            head?.headers.append(HTTPClient.Header(text[..<colon].lowercased(), String(Substring(value.drop { $0 == 32 || $0 == 9 }))))
        }
        return true
    }

    /// Parses a status line like `HTTP/1.1 200 OK`.
    private mutating func begin(_ line: String) {
        let parts = line.split(separator: " ", maxSplits: 2)
        guard parts.count > 1, parts[0].hasPrefix("HTTP/"), let status = Int(parts[1]) else { return }
        head = HTTPClient.Head(status: status, headers: [], version: String(parts[0].dropFirst("HTTP/".count)))
    }

    private mutating func end() {
        guard let status = head?.status else { return }
        if (100..<200).contains(status) {
            head = nil
        } else {
            isComplete = true
        }
    }

    /// Returns the line without white space at either end.
    private static func trimmed(_ line: UnsafeRawBufferPointer) -> String {
        func isSpace(_ byte: UInt8) -> Bool { byte == 32 || byte == 9 || byte == 13 || byte == 10 }
        guard let start = line.firstIndex(where: { !isSpace($0) }), let last = line.lastIndex(where: { !isSpace($0) }) else { return "" }
        return String(decoding: line[start...last], as: UTF8.self)
    }
}
