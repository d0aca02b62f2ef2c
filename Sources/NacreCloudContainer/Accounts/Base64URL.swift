import NacreCloudWire

/// Base64 for URLs without padding (RFC 4648, section 5; RFC 7515, section 2), and nothing else.
package enum Base64URL {
    package static func encode(_ bytes: [UInt8]) -> String {
        String(
            Base64.encode(bytes).compactMap {
                $0 == "+" ? "-" : $0 == "/" ? "_" : $0 == "=" ? nil : $0
            })
    }

    /// nil for other text: padding, another alphabet, bits left over.
    package static func decode(_ text: some StringProtocol) -> [UInt8]? {
        guard text.utf8.allSatisfy({ !"+/=".utf8.contains($0) }) else { return nil }
        let standard = String(text.map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 })
        return Base64.decode(
            standard + String(repeating: "=", count: (4 - standard.utf8.count % 4) % 4))
    }
}
