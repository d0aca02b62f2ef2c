/// A string in its document, compared without making a `String`.
///
/// The text points into the document: use it at once, while the document's bytes exist.
@usableFromInline
package struct JSONText {
    /// The bytes between the quotes.
    @usableFromInline
    package let bytes: UnsafeRawBufferPointer
    @usableFromInline
    package let hasEscapes: Bool

    /// The text. Costs an allocation beyond 15 bytes.
    @usableFromInline
    package var string: String {
        guard hasEscapes else { return String(decoding: bytes, as: UTF8.self) }
        let bytes = self.bytes
        // An escape is never shorter than its character, so the text fits.
        return String(unsafeUninitializedCapacity: bytes.count) { JSONText.unescape(bytes, into: $0) }
    }

    /// Returns whether the text equals a name. Costs a comparison of lengths, and of bytes if they agree. Text with
    /// escapes is decoded first.
    @inlinable
    @inline(__always)
    package func matches(_ name: StaticString) -> Bool {
        if hasEscapes { return matchesUnescaped(name) }
        let count = name.utf8CodeUnitCount
        guard bytes.count == count else { return false }
        let other = UnsafeRawPointer(name.utf8Start)
        guard let start = bytes.baseAddress else { return true }
        var index = 0
        while index + 8 <= count {
            guard start.loadUnaligned(fromByteOffset: index, as: UInt64.self) == other.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            else { return false }
            index += 8
        }
        while index < count {
            guard start.load(fromByteOffset: index, as: UInt8.self) == other.load(fromByteOffset: index, as: UInt8.self) else { return false }
            index += 1
        }
        return true
    }

    @usableFromInline
    @inline(never)
    func matchesUnescaped(_ name: StaticString) -> Bool {
        string == name.description
    }

    /// Lets `switch key { case "fields": … }` compare bytes.
    @inlinable
    @inline(__always)
    package static func ~= (name: StaticString, text: JSONText) -> Bool {
        text.matches(name)
    }

    /// Decodes the escapes.
    /// - Parameter bytes: Text whose escapes have been checked.
    private static func unescape(_ bytes: UnsafeRawBufferPointer, into output: UnsafeMutableBufferPointer<UInt8>) -> Int {
        var source = 0
        var count = 0
        while source < bytes.count {
            let byte = bytes[source]
            guard byte == UInt8(ascii: "\\") else {
                output[count] = byte
                count += 1
                source += 1
                continue
            }
            let escape = bytes[source + 1]
            guard escape == UInt8(ascii: "u") else {
                output[count] = plainEscape(escape)
                count += 1
                source += 2
                continue
            }
            var code = UInt32(codeUnit(of: bytes, at: source + 2))
            source += 6
            if 0xD800..<0xDC00 ~= code {
                let low = UInt32(codeUnit(of: bytes, at: source + 2))
                code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00)
                source += 6
            }
            count += encode(code, into: output, at: count)
        }
        return count
    }

    private static func plainEscape(_ escape: UInt8) -> UInt8 {
        switch escape {
        case UInt8(ascii: "b"): 0x08
        case UInt8(ascii: "f"): 0x0C
        case UInt8(ascii: "n"): 0x0A
        case UInt8(ascii: "r"): 0x0D
        case UInt8(ascii: "t"): 0x09
        default: escape
        }
    }

    private static func codeUnit(of bytes: UnsafeRawBufferPointer, at offset: Int) -> UInt16 {
        var unit: UInt16 = 0
        for index in offset..<offset + 4 {
            unit = unit << 4 | UInt16(JSONReader.hexValue(bytes[index]) ?? 0)
        }
        return unit
    }

    /// Encodes a scalar in UTF-8 and returns its bytes' count.
    private static func encode(_ code: UInt32, into output: UnsafeMutableBufferPointer<UInt8>, at index: Int) -> Int {
        switch code {
        case 0..<0x80:
            output[index] = UInt8(code)
            return 1
        case 0x80..<0x800:
            output[index] = UInt8(0xC0 | code >> 6)
            output[index + 1] = UInt8(0x80 | code & 0x3F)
            return 2
        case 0x800..<0x10000:
            output[index] = UInt8(0xE0 | code >> 12)
            output[index + 1] = UInt8(0x80 | code >> 6 & 0x3F)
            output[index + 2] = UInt8(0x80 | code & 0x3F)
            return 3
        default:
            output[index] = UInt8(0xF0 | code >> 18)
            output[index + 1] = UInt8(0x80 | code >> 12 & 0x3F)
            output[index + 2] = UInt8(0x80 | code >> 6 & 0x3F)
            output[index + 3] = UInt8(0x80 | code & 0x3F)
            return 4
        }
    }
}
