/// The lexer of `SwiftText`: one pass over the bytes, one level of recursion for each interpolation.
struct SwiftLexer {
    private let bytes: [UInt8]
    private var position = 0
    private(set) var line = 1
    private(set) var tokens: [SwiftText.Token] = []
    private(set) var comments: [SwiftText.Comment] = []

    init(_ text: String) {
        bytes = Array(text.utf8)
    }

    /// Reads code to the end of the text, or past the parenthesis that closes an interpolation.
    mutating func readCode(untilParenthesis: Bool) {
        var depth = 0
        while let byte = peek() {
            switch byte {
            case UInt8(ascii: "/") where peek(1) == UInt8(ascii: "/"): readLineComment()
            case UInt8(ascii: "/") where peek(1) == UInt8(ascii: "*"): readBlockComment()
            case UInt8(ascii: "\""): readString(hashes: 0)
            case UInt8(ascii: "#"): readHash()
            case UInt8(ascii: "`"): readQuotedWord()
            case _ where Self.isWord(byte): readWord()
            case UInt8(ascii: "\n"), UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r"): advance()
            default:
                if byte == UInt8(ascii: "(") { depth += 1 }
                if byte == UInt8(ascii: ")") {
                    depth -= 1
                    if untilParenthesis && depth < 0 {
                        advance()
                        return
                    }
                }
                add(position..<position + 1)
                advance()
            }
        }
    }

    private func peek(_ offset: Int = 0) -> UInt8? {
        position + offset < bytes.count ? bytes[position + offset] : nil
    }

    private mutating func advance(_ count: Int = 1) {
        for _ in 0..<count where position < bytes.count {
            if bytes[position] == UInt8(ascii: "\n") { line += 1 }
            position += 1
        }
    }

    private static func isWord(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
            UInt8(ascii: "_"), UInt8(ascii: "$"), 0x80...:
            true
        default: false
        }
    }

    /// The offset where the last token ended.
    private var tokenEnd = 0

    private mutating func add(_ range: Range<Int>) {
        let text = String(decoding: bytes[range], as: UTF8.self)
        tokens.append(SwiftText.Token(text: text, line: line, isAttached: range.lowerBound == tokenEnd))
        tokenEnd = range.upperBound
    }

    private mutating func readWord() {
        let start = position
        while let byte = peek(), Self.isWord(byte) { position += 1 }
        add(start..<position)
    }

    /// Reads `` `a name with spaces` ``; a quote that is not closed on its line is a sign like any other.
    private mutating func readQuotedWord() {
        var end = position + 1
        while end < bytes.count, bytes[end] != UInt8(ascii: "`"), bytes[end] != UInt8(ascii: "\n") { end += 1 }
        let closed = end < bytes.count && bytes[end] == UInt8(ascii: "`")
        let range = position..<(closed ? end + 1 : position + 1)
        add(range)
        position = range.upperBound
    }

    private mutating func addComment(from start: Int) {
        comments.append(SwiftText.Comment(text: String(decoding: bytes[start..<position], as: UTF8.self), line: line))
    }

    private mutating func readLineComment() {
        let start = position
        while let byte = peek(), byte != UInt8(ascii: "\n") { position += 1 }
        addComment(from: start)
    }

    private mutating func readBlockComment() {
        var start = position
        var depth = 0
        repeat {
            if peek() == UInt8(ascii: "/"), peek(1) == UInt8(ascii: "*") {
                depth += 1
                position += 2
            } else if peek() == UInt8(ascii: "*"), peek(1) == UInt8(ascii: "/") {
                depth -= 1
                position += 2
            } else if peek() == UInt8(ascii: "\n") {
                addComment(from: start)
                advance()
                start = position
            } else {
                position += 1
            }
        } while depth > 0 && position < bytes.count
        addComment(from: start)
    }

    /// Reads a hash: `#"raw"#` is a string; any other `#` is a sign.
    private mutating func readHash() {
        var hashes = 0
        while peek(hashes) == UInt8(ascii: "#") { hashes += 1 }
        if peek(hashes) == UInt8(ascii: "\"") {
            advance(hashes)
            readString(hashes: hashes)
        } else {
            add(position..<position + 1)
            advance()
        }
    }

    private func standsHere(_ byte: UInt8, times: Int, from offset: Int) -> Bool {
        (0..<times).allSatisfy { peek(offset + $0) == byte }
    }

    /// Reads a literal from its opening quote past its closing one; a one-line literal ends at its line's end in any
    /// case.
    private mutating func readString(hashes: Int) {
        let quote = UInt8(ascii: "\"")
        let quotes = standsHere(quote, times: 3, from: 0) && !isEmptyRaw(hashes) ? 3 : 1
        advance(quotes)
        while let byte = peek() {
            if byte == quote, standsHere(quote, times: quotes, from: 0), standsHere(UInt8(ascii: "#"), times: hashes, from: quotes) {
                advance(quotes + hashes)
                return
            }
            if byte == UInt8(ascii: "\\"), standsHere(UInt8(ascii: "#"), times: hashes, from: 1) {
                advance(1 + hashes)
                let isInterpolation = peek() == UInt8(ascii: "(")
                advance()
                if isInterpolation { readCode(untilParenthesis: true) }
                continue
            }
            if byte == UInt8(ascii: "\n"), quotes == 1 { return }
            advance()
        }
    }

    /// Returns whether `#""#` stands here, followed by a quote: an empty raw literal, not the start of one with three
    /// quotes.
    private func isEmptyRaw(_ hashes: Int) -> Bool {
        hashes > 0 && standsHere(UInt8(ascii: "#"), times: hashes, from: 2)
    }
}
