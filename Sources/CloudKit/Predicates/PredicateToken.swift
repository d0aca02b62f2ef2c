/// A word, sign or value of a predicate format.
struct PredicateToken: Equatable, Sendable {
    enum Kind: Equatable, Sendable {
        /// A keyword, a key, or a function's name with its colons.
        case word(String)
        /// A key written `#key`, which is never a keyword.
        case escapedWord(String)
        /// A variable, written `$NAME`.
        case variable(String)
        case string(String)
        case integer(UInt64)
        case double(Double)
        /// A placeholder; `at` is the index of its argument if the placeholder names it.
        case argument(Argument, at: Int?)
        case sign(String)
        case end
    }

    /// The type of a placeholder's argument.
    enum Argument: Equatable, Sendable {
        case value
        case key
        case integer
        case double
        /// A text of C.
        case text
    }

    var kind: Kind
    /// The range of the token's bytes in the format.
    var range: Range<Int>
}

/// Splits a format into tokens. It takes any bytes, and never traps.
struct PredicateTokens {
    let bytes: [UInt8]
    private var next = 0

    init(_ format: String) {
        bytes = Array(format.utf8)
    }

    /// The signs, longer ones first, so that each is matched as a whole.
    private static let signs = [
        "<=", "=<", ">=", "=>", "==", "!=", "<>", "&&", "||", "**", "=", "<", ">", "!", "(", ")", "{", "}", "[", "]", ",", ".", "+", "-", "*", "/",
    ].map { (text: $0, bytes: Array($0.utf8)) }

    /// Returns all tokens; the last one is an end.
    static func all(of format: String) throws(PredicateFault) -> [PredicateToken] {
        var tokens = PredicateTokens(format)
        var all: [PredicateToken] = []
        repeat { all.append(try tokens.read()) } while all.last?.kind != .end
        return all
    }

    private mutating func read() throws(PredicateFault) -> PredicateToken {
        while let byte = peek(), byte == UInt8(ascii: " ") || (9...13).contains(byte) { next += 1 }
        let start = next
        let kind = try readKind()
        return PredicateToken(kind: kind, range: start..<next)
    }

    private func peek(_ distance: Int = 0) -> UInt8? {
        next + distance < bytes.count ? bytes[next + distance] : nil
    }

    private mutating func readKind() throws(PredicateFault) -> PredicateToken.Kind {
        guard let byte = peek() else { return .end }
        switch byte {
        case UInt8(ascii: "'"), UInt8(ascii: "\""): return .string(try string(closedBy: byte))
        case UInt8(ascii: "%"): return try argument()
        case UInt8(ascii: "#"):
            next += 1
            return .escapedWord(try name(after: "#"))
        case UInt8(ascii: "$"):
            next += 1
            return .variable(try name(after: "$"))
        case _ where byte.isDigit || (byte == UInt8(ascii: ".") && peek(1)?.isDigit == true): return try number()
        case _ where byte.startsWord: return .word(word())
        default: break
        }
        for sign in Self.signs where bytes[next...].starts(with: sign.bytes) {
            next += sign.bytes.count
            return .sign(sign.text)
        }
        throw fault("Unexpected character", from: next, to: next + 1)
    }

    private func fault(_ problem: String, from start: Int, to end: Int) -> PredicateFault {
        PredicateFault(problem: problem, in: bytes, at: start..<min(end, bytes.count))
    }

    // MARK: Words

    private mutating func word() -> String {
        let start = next
        while let byte = peek() {
            // A colon belongs to a function's name: `distanceToLocation:fromLocation:(a, b)`.
            let isColon = byte == UInt8(ascii: ":") && peek(1).map { $0.startsWord || $0 == UInt8(ascii: "(") } == true
            guard byte.startsWord || byte.isDigit || isColon else { break }
            next += 1
        }
        return String(decoding: bytes[start..<next], as: UTF8.self)
    }

    private mutating func name(after sign: String) throws(PredicateFault) -> String {
        guard peek()?.startsWord == true else { throw fault("Expected a name after '\(sign)'", from: next - 1, to: next) }
        return word()
    }

    // MARK: Text

    private mutating func string(closedBy quote: UInt8) throws(PredicateFault) -> String {
        let start = next
        next += 1
        var text: [UInt8] = []
        while let byte = peek() {
            next += 1
            switch byte {
            case quote: return String(decoding: text, as: UTF8.self)
            case UInt8(ascii: "\\"): text += try escaped()
            default: text.append(byte)
            }
        }
        throw fault("The text is not closed", from: start, to: next)
    }

    private mutating func escaped() throws(PredicateFault) -> [UInt8] {
        guard let byte = peek() else { return [] }
        next += 1
        switch byte {
        case UInt8(ascii: "n"): return [10]
        case UInt8(ascii: "t"): return [9]
        case UInt8(ascii: "r"): return [13]
        case UInt8(ascii: "x"): return try scalar(digits: 2)
        case UInt8(ascii: "u"): return try scalar(digits: 4)
        default: return [byte]
        }
    }

    private mutating func scalar(digits: Int) throws(PredicateFault) -> [UInt8] {
        let end = min(next + digits, bytes.count)
        let text = String(decoding: bytes[next..<end], as: UTF8.self)
        guard end == next + digits, bytes[next..<end].allSatisfy(\.isHexDigit), let code = UInt32(text, radix: 16),
            let scalar = Unicode.Scalar(code)
        else { throw fault("The escape names no character", from: next - 2, to: end) }
        next = end
        return Array(String(Character(scalar)).utf8)
    }

    // MARK: Numbers

    private mutating func number() throws(PredicateFault) -> PredicateToken.Kind {
        let start = next
        let radix: Int? =
            switch peek() == UInt8(ascii: "0") ? peek(1).map({ $0 | 0x20 }) : nil {
            case UInt8(ascii: "x"): 16
            case UInt8(ascii: "o"): 8
            case UInt8(ascii: "b"): 2
            default: nil
            }
        if let radix {
            next += 2
            let digits = next
            while let byte = peek(), byte.isHexDigit { next += 1 }
            let text = String(decoding: bytes[digits..<next], as: UTF8.self)
            guard let value = UInt64(text, radix: radix) else { throw fault("The number cannot be read", from: start, to: next) }
            return .integer(value)
        }
        skipDigits()
        var isWhole = true
        if peek() == UInt8(ascii: "."), peek(1)?.isDigit == true {
            isWhole = false
            next += 1
            skipDigits()
        }
        if let byte = peek(), byte | 0x20 == UInt8(ascii: "e") {
            let hasSign = peek(1) == UInt8(ascii: "+") || peek(1) == UInt8(ascii: "-")
            if peek(hasSign ? 2 : 1)?.isDigit == true {
                isWhole = false
                next += hasSign ? 2 : 1
                skipDigits()
            }
        }
        let text = String(decoding: bytes[start..<next], as: UTF8.self)
        if peek()?.startsWord != true {
            if isWhole, let value = UInt64(text) { return .integer(value) }
            if !isWhole, let value = Double(text), value.isFinite { return .double(value) }
        }
        throw fault("The number cannot be read", from: start, to: next)
    }

    private mutating func skipDigits() {
        while let byte = peek(), byte.isDigit { next += 1 }
    }

    // MARK: Arguments

    /// Parses a placeholder: `%@`, `%K`, `%s` or a conversion of `printf` for numbers, behind the position of its
    /// argument if it has one. Characters are not supported.
    private mutating func argument() throws(PredicateFault) -> PredicateToken.Kind {
        let start = next
        next += 1
        let index = try argumentIndex(from: start)
        let plainEnd = next
        skip("-+ #0'")
        skipDigits()
        if peek() == UInt8(ascii: ".") {
            next += 1
            skipDigits()
        }
        skip("hlqLzjt")
        guard let byte = peek() else { throw fault("Expected a conversion after '%'", from: start, to: next) }
        let isPlain = next == plainEnd
        next += 1
        switch byte {
        case UInt8(ascii: "@") where isPlain: return .argument(.value, at: index)
        case UInt8(ascii: "K") where isPlain: return .argument(.key, at: index)
        case UInt8(ascii: "s") where isPlain: return .argument(.text, at: index)
        case _ where "dDiuUxXoO".utf8.contains(byte): return .argument(.integer, at: index)
        case _ where "fFeEgGaA".utf8.contains(byte): return .argument(.double, at: index)
        default: throw fault("Unknown conversion", from: start, to: next)
        }
    }

    /// Parses the position of an argument, `2$`, and returns its index; nil if there is none.
    private mutating func argumentIndex(from start: Int) throws(PredicateFault) -> Int? {
        let digits = next
        skipDigits()
        guard next > digits, peek() == UInt8(ascii: "$") else {
            next = digits
            return nil
        }
        let position = Int(String(decoding: bytes[digits..<next], as: UTF8.self))
        next += 1
        guard let position, position > 0 else { throw fault("Positions of arguments are 1, 2 and so on", from: start, to: next) }
        return position - 1
    }

    private mutating func skip(_ some: String) {
        while let byte = peek(), some.utf8.contains(byte) { next += 1 }
    }
}

extension PredicateFault {
    /// - Parameter range: the bytes at fault; empty for the format's end.
    init(problem: String, in bytes: [UInt8], at range: Range<Int>) {
        // A range that cuts a character is extended to its end.
        var end = range.upperBound
        while end < bytes.count, bytes[end] & 0xC0 == 0x80 { end += 1 }
        let before = String(decoding: bytes[..<range.lowerBound], as: UTF8.self)
        let part = String(decoding: bytes[range.lowerBound..<end], as: UTF8.self)
        self.init(problem: problem, part: part, position: before.unicodeScalars.count + 1)
    }
}

extension UInt8 {
    fileprivate var isDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }
    fileprivate var isHexDigit: Bool { isDigit || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(self | 0x20) }
    /// Whether the byte is a letter, an underscore, the `@` of collection operators, or part of a character beyond
    /// ASCII. The latter two are no valid keys, but error messages name the whole word.
    fileprivate var startsWord: Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self | 0x20) || self == UInt8(ascii: "_") || self == UInt8(ascii: "@") || self >= 0x80
    }
}
