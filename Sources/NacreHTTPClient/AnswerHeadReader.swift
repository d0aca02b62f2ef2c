/// Reads the lines of an answer's head as they come: a value.
struct AnswerHeadReader: Sendable {
    /// The most bytes of all header lines. Ours: no honest server comes near.
    static let bytesMax = 256 << 10

    private(set) var head: HTTPClient.Head?
    /// The line that ends the head was there: it is an answer's, and not one that only says to go on (100 to 199).
    private(set) var isComplete = false
    /// Lines came, if only of a "100 Continue".
    private(set) var hasBegun = false
    private var bytes = 0

    /// - Returns: false when there is too much of it.
    mutating func take(_ line: UnsafeRawBufferPointer) -> Bool {
        hasBegun = true
        bytes += line.count
        guard bytes <= Self.bytesMax else { return false }
        // What follows the body is of no use to us.
        guard !isComplete else { return true }
        let text = Self.trimmed(line)
        if text.isEmpty {
            end()
        } else if head == nil {
            begin(text)
        } else if let first = line.first, first == 32 || first == 9 {
            // RFC 9112, section 5.2: a line that goes on over its end.
            if let last = head?.headers.indices.last { head?.headers[last].value += " " + text }
        } else if let colon = text.firstIndex(of: ":") {
            let value = text[text.index(after: colon)...].utf8
            head?.headers.append(HTTPClient.Header(text[..<colon].lowercased(), String(Substring(value.drop { $0 == 32 || $0 == 9 }))))
        }
        return true
    }

    /// `HTTP/1.1 200 OK`
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

    /// Without white space at either end.
    private static func trimmed(_ line: UnsafeRawBufferPointer) -> String {
        func isSpace(_ byte: UInt8) -> Bool { byte == 32 || byte == 9 || byte == 13 || byte == 10 }
        guard let start = line.firstIndex(where: { !isSpace($0) }), let last = line.lastIndex(where: { !isSpace($0) }) else { return "" }
        return String(decoding: line[start...last], as: UTF8.self)
    }
}
