import CNacreSodium

/// SipHash-2-4 (Aumasson and Bernstein, 2012): a keyed hash of 64 bits, for tables and sketches and not for signatures.
/// About 30 ns for a name.
package enum ShortHash {
    /// The length of a key, in bytes.
    package static let keyLength: Int = 16

    /// - Parameter key: a shorter key is filled up with zeros.
    package static func code(for text: String, key: [UInt8]) -> UInt64 {
        let key = key.count >= keyLength ? key : key + [UInt8](repeating: 0, count: keyLength - key.count)
        var (text, code) = (text, [UInt8](repeating: 0, count: 8))
        // Documented to return 0 always.
        text.withUTF8 { text in _ = crypto_shorthash(&code, text.baseAddress, UInt64(text.count), key) }
        return code.reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
}
