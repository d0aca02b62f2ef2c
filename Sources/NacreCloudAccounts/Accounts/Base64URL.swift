import NacreCloudWire

/// Base64 for URLs without padding (RFC 4648, section 5; RFC 7515, section 2).
package enum Base64URL {
    package static func encode(_ bytes: [UInt8]) -> String { text(standard: Base64.encode(bytes)) }

    /// The decoded bytes; nil for padding, another alphabet, or bits left over.
    package static func decode(_ text: some StringProtocol) -> [UInt8]? {
        guard text.utf8.allSatisfy({ !"+/=".utf8.contains($0) }) else { return nil }
        return Base64.decode(standard(text))
    }

    /// Converts text in standard base64 to this alphabet, without its padding.
    package static func text(standard: String) -> String {
        let digits = standard.utf8.lazy.filter { $0 != UInt8(ascii: "=") }
        return String(
            decoding: digits.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: "-") : $0 == UInt8(ascii: "/") ? UInt8(ascii: "_") : $0 }, as: UTF8.self)
    }

    /// Converts the text to standard base64, with its padding.
    package static func standard(_ text: some StringProtocol) -> String {
        let digits = text.utf8.map { $0 == UInt8(ascii: "-") ? UInt8(ascii: "+") : $0 == UInt8(ascii: "_") ? UInt8(ascii: "/") : $0 }
        return String(decoding: digits, as: UTF8.self) + String(repeating: "=", count: (4 - digits.count % 4) % 4)
    }
}
