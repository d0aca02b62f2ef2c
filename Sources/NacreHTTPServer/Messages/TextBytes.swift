/// Tests and conversions of ASCII text for HTTP, on bytes.

/// Returns the lower case of A…Z; other bytes unchanged.
@inline(__always)
func lowercased(_ byte: UInt8) -> UInt8 {
    byte &- 0x41 < 26 ? byte | 0x20 : byte
}

func equalIgnoringCase<One: Collection<UInt8>, Other: Collection<UInt8>>(_ one: One, _ other: Other) -> Bool {
    guard one.count == other.count else { return false }
    var others = other.makeIterator()
    for byte in one {
        guard let match = others.next(), lowercased(byte) == lowercased(match) else { return false }
    }
    return true
}

func equalIgnoringCase(_ one: some StringProtocol, _ other: some StringProtocol) -> Bool {
    equalIgnoringCase(one.utf8, other.utf8)
}

/// Removes the spaces and tabs around a text (RFC 9110 §5.6.3, "OWS").
func trimmingSpaces(_ text: Substring) -> Substring {
    var text = text
    while let first = text.utf8.first, first == 0x20 || first == 0x09 { text.removeFirst() }
    while let last = text.utf8.last, last == 0x20 || last == 0x09 { text.removeLast() }
    return text
}

/// Whether a byte may stand in a header's name (RFC 9110 §5.6.2, "tchar").
func isTokenByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
    case UInt8(ascii: "!"), UInt8(ascii: "#"), UInt8(ascii: "$"), UInt8(ascii: "%"), UInt8(ascii: "&"), UInt8(ascii: "'"), UInt8(ascii: "*"),
        UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "^"), UInt8(ascii: "_"), UInt8(ascii: "`"), UInt8(ascii: "|"),
        UInt8(ascii: "~"):
        true
    default: false
    }
}

/// Whether a byte may stand in a header's value, or after a chunk's size: any but control characters other than the tab
/// (RFC 9110 §5.5).
func isTextByte(_ byte: UInt8) -> Bool { byte >= 0x20 && byte != 0x7F || byte == 0x09 }

/// Decodes `%XX`. Returns nil if an escape is cut or not hexadecimal, if it gives a NUL, or if the result is not UTF-8.
/// `+` stays `+`.
func percentDecoded(_ bytes: ArraySlice<UInt8>) -> String? {
    guard bytes.contains(UInt8(ascii: "%")) else {
        // `String(decoding:)` is fast but repairs, and validation is slow. ASCII needs no validation.
        return bytes.allSatisfy { $0 < 0x80 } ? String(decoding: bytes, as: UTF8.self) : String(validating: bytes, as: UTF8.self)
    }
    guard let decoded = percentDecodedBytes(bytes) else { return nil }
    return String(validating: decoded, as: UTF8.self)
}

func percentDecodedBytes(_ bytes: ArraySlice<UInt8>) -> [UInt8]? {
    var decoded: [UInt8] = []
    decoded.reserveCapacity(bytes.count)
    var index = bytes.startIndex
    while index < bytes.endIndex {
        let byte = bytes[index]
        if byte == UInt8(ascii: "%") {
            guard index + 2 < bytes.endIndex, let high = hexValue(bytes[index + 1]), let low = hexValue(bytes[index + 2]) else { return nil }
            guard high | low != 0 else { return nil }
            decoded.append(high << 4 | low)
            index += 3
        } else {
            decoded.append(byte)
            index += 1
        }
    }
    return decoded
}

/// Returns the value of a hexadecimal digit in either case; nil for other bytes.
func hexValue(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
}
