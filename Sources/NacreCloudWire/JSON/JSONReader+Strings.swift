extension JSONReader {
    package mutating func string() throws(JSONError) -> String {
        try expect(.string)
        return try text().string
    }

    /// Reads a string without making a `String`: for keys, names of enums, base64.
    package mutating func stringText() throws(JSONError) -> JSONText {
        try expect(.string)
        return try text()
    }

    /// Reads the string whose opening quote is at `offset`, checking escapes, control characters and UTF-8.
    @inline(__always)
    @usableFromInline
    mutating func text() throws(JSONError) -> JSONText {
        let start = offset + 1
        var position = start
        var hasEscapes = false
        var high: UInt64 = 0
        while true {
            position = skipPlain(from: position, high: &high)
            guard position < bytes.count else { throw JSONError(.endOfInput, at: bytes.count) }
            let byte = bytes[position]
            if byte == UInt8(ascii: "\"") { break }
            if byte == UInt8(ascii: "\\") {
                hasEscapes = true
                position = try checkEscape(at: position)
            } else {
                guard byte >= 0x20 else { throw JSONError(.controlCharacter, at: position) }
                high |= UInt64(byte) & 0x80
                position += 1
            }
        }
        let inside = UnsafeRawBufferPointer(rebasing: bytes[start..<position])
        if high != 0, let bad = UTF8Check.firstInvalid(in: inside) { throw JSONError(.invalidUTF8, at: start + bad) }
        offset = position + 1
        return JSONText(bytes: inside, hasEscapes: hasEscapes)
    }

    /// Returns the position behind the words of eight plain bytes, up to the first quote, backslash or control
    /// character.
    ///
    /// Near the document's end it may stop at a plain byte. `high` collects top bits, also of a few bytes beyond the
    /// string: an ASCII string may count as non-ASCII, never the reverse.
    @inline(__always)
    private func skipPlain(from start: Int, high: inout UInt64) -> Int {
        var position = start
        while position + 8 <= bytes.count {
            let word = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self))
            let found = JSONBytes.marks(in: word)
            high |= word & JSONBytes.tops
            if found != 0 { return position + found.trailingZeroBitCount >> 3 }
            position += 8
        }
        return position
    }

    /// Returns the position after the escape at `position`; both halves of a surrogate pair count as one.
    private func checkEscape(at position: Int) throws(JSONError) -> Int {
        guard position + 1 < bytes.count else { throw JSONError(.endOfInput, at: bytes.count) }
        switch bytes[position + 1] {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"), UInt8(ascii: "n"),
            UInt8(ascii: "r"), UInt8(ascii: "t"):
            return position + 2
        case UInt8(ascii: "u"):
            let unit = try codeUnit(at: position + 2)
            if 0xDC00..<0xE000 ~= unit { throw JSONError(.loneSurrogate, at: position) }
            guard 0xD800..<0xDC00 ~= unit else { return position + 6 }
            for (place, byte) in [(position + 6, UInt8(ascii: "\\")), (position + 7, UInt8(ascii: "u"))] {
                guard place < bytes.count else { throw JSONError(.endOfInput, at: bytes.count) }
                guard bytes[place] == byte else { throw JSONError(.loneSurrogate, at: position) }
            }
            guard 0xDC00..<0xE000 ~= (try codeUnit(at: position + 8)) else { throw JSONError(.loneSurrogate, at: position) }
            return position + 12
        default:
            throw JSONError(.invalidEscape, at: position)
        }
    }

    private func codeUnit(at start: Int) throws(JSONError) -> UInt16 {
        var unit: UInt16 = 0
        for position in start..<start + 4 {
            guard position < bytes.count else { throw JSONError(.endOfInput, at: bytes.count) }
            guard let digit = Self.hexValue(bytes[position]) else { throw JSONError(.invalidEscape, at: position) }
            unit = unit << 4 | UInt16(digit)
        }
        return unit
    }

    static func hexValue(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}

/// The well-formedness table of the Unicode Standard (chapter 3, "Well-Formed UTF-8 Byte Sequences").
enum UTF8Check {
    /// Returns where the first ill-formed sequence begins, or nil.
    static func firstInvalid(in bytes: UnsafeRawBufferPointer) -> Int? {
        var position = 0
        while position < bytes.count {
            let lead = bytes[position]
            if lead < 0x80 {
                position += 1
                continue
            }
            guard let length = sequenceLength(in: bytes, at: position, lead: lead) else { return position }
            position += length
        }
        return nil
    }

    @inline(__always)
    private static func sequenceLength(in bytes: UnsafeRawBufferPointer, at position: Int, lead: UInt8) -> Int? {
        let length: Int
        var second: ClosedRange<UInt8> = 0x80...0xBF
        switch lead {
        case 0xC2...0xDF: length = 2
        case 0xE0: (length, second) = (3, 0xA0...0xBF)
        case 0xED: (length, second) = (3, 0x80...0x9F)
        case 0xE1...0xEF: length = 3
        case 0xF0: (length, second) = (4, 0x90...0xBF)
        case 0xF1...0xF3: length = 4
        case 0xF4: (length, second) = (4, 0x80...0x8F)
        default: return nil
        }
        guard position + length <= bytes.count, second.contains(bytes[position + 1]) else { return nil }
        for index in position + 2..<position + length where bytes[index] & 0xC0 != 0x80 { return nil }
        return length
    }
}
