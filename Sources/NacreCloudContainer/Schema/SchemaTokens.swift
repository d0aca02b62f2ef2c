import NacreCloudWire

/// The words and signs of a text in CloudKit's schema language, with their positions. Comments are left out.
struct SchemaTokens {
    package struct Token: Hashable {
        package enum Kind: Hashable {
            /// A name or a keyword without quotes.
            case word
            /// A name in double quotes; never a keyword.
            case quoted
            case sign
            case end
        }

        package var kind: Kind
        /// The text without quotes.
        package var text: String
        package var position: Position

        /// The token in an error's text.
        package var shown: String { kind == .end ? "<EOF>" : "\"\(text)\"" }

        /// Whether the token is this keyword, in any case. On this server: all known files have them in upper case.
        func isKeyword(_ keyword: String) -> Bool { kind == .word && text.uppercased() == keyword }

        func isSign(_ sign: String) -> Bool { kind == .sign && text == sign }
    }

    /// Both count from 1. A column is a character of Unicode.
    package struct Position: Hashable {
        package var line = 1
        package var column = 1
    }

    private let text: [UInt8]
    private var index = 0
    private var position = Position()

    package init(_ text: String) {
        self.text = Array(text.utf8)
        if self.text.starts(with: [0xEF, 0xBB, 0xBF]) { index = 3 }
    }

    /// - Throws: if a quote or a comment has no end, or a character is not in the language.
    package mutating func next() throws(ServerError) -> Token {
        try skipSpace()
        let (start, from) = (position, index)
        guard let first = peek() else { return Token(kind: .end, text: "", position: start) }
        if first == UInt8(ascii: "\"") { return try quoted(from: start) }
        if Names.isLetter(first) {
            while let byte = peek(), Names.isLetter(byte) || Names.isDigit(byte) || byte == UInt8(ascii: "_") { advance() }
            return Token(kind: .word, text: string(from: from), position: start)
        }
        guard "(),;<>".utf8.contains(first) else {
            let rest = String(decoding: text[index...].prefix(4), as: UTF8.self).first.map(String.init) ?? ""
            throw .schemaSyntax(
                "Encountered \"\(rest)\"", at: start,
                remedy: "A name that begins with _ or a digit, or is not only letters, digits and _, stands in double quotes.")
        }
        advance()
        return Token(kind: .sign, text: string(from: from), position: start)
    }

    private mutating func quoted(from start: Position) throws(ServerError) -> Token {
        advance()
        let from = index
        while let byte = peek(), byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\n") { advance() }
        guard peek() == UInt8(ascii: "\"") else {
            throw .schemaSyntax("A quoted name does not end", at: start, remedy: "Close it on its line with a double quote.")
        }
        let name = string(from: from)
        advance()
        return Token(kind: .quoted, text: name, position: start)
    }

    /// Skips space and comments.
    private mutating func skipSpace() throws(ServerError) {
        while let byte = peek() {
            if byte == UInt8(ascii: " ") || (0x09...0x0D).contains(byte) {
                advance()
            } else if isNext("//") || isNext("--") {
                while let byte = peek(), byte != UInt8(ascii: "\n") { advance() }
            } else if isNext("/*") {
                let start = position
                advance(by: 2)
                while peek() != nil, !isNext("*/") { advance() }
                guard peek() != nil else { throw .schemaSyntax("A comment does not end", at: start, remedy: "Close it with */.") }
                advance(by: 2)
            } else {
                return
            }
        }
    }

    private func peek() -> UInt8? { index < text.count ? text[index] : nil }

    private func isNext(_ sign: String) -> Bool { text[index...].starts(with: sign.utf8) }

    private func string(from start: Int) -> String { String(decoding: text[start..<index], as: UTF8.self) }

    private mutating func advance(by count: Int = 1) {
        for _ in 0..<count {
            if text[index] == UInt8(ascii: "\n") {
                position = Position(line: position.line + 1)
            } else if text[index] & 0xC0 != 0x80 {
                position.column += 1
            }
            index += 1
        }
    }
}

extension ServerError {
    /// Makes a syntax error. CloudKit: its importer tells the line and the column in these words.
    static func schemaSyntax(_ what: String, at position: SchemaTokens.Position, expecting: [String] = [], remedy: String) -> ServerError {
        let opening = expecting.count > 1 ? "\nWas expecting one of:" : "\nWas expecting:"
        let expected = expecting.isEmpty ? "" : opening + expecting.map { "\n    \($0)" }.joined()
        return ServerError(.badRequest, "\(what) at line \(position.line), column \(position.column).\(expected)", field: "schema", remedy: remedy)
    }
}
