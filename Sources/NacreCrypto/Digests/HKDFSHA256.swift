/// Derives keys from a secret (HKDF, RFC 5869) with SHA-256.
package enum HKDFSHA256 {
    /// Returns `count` bytes that are derived from the secret.
    /// - Parameters:
    ///   - count: 1 to 8160 bytes; any other count throws `invalidLength`.
    ///   - salt: May be empty.
    ///   - info: The purpose of the bytes. Another purpose gives other bytes.
    package static func bytes(_ count: Int, from secret: [UInt8], salt: [UInt8], info: [UInt8]) throws(CryptoError) -> [UInt8] {
        let length = HMACSHA256.codeLength
        guard count > 0, count <= 255 * length else { throw CryptoError(.invalidLength) }
        let key = HMACSHA256.code(for: secret, key: salt.isEmpty ? [UInt8](repeating: 0, count: length) : salt)
        var bytes: [UInt8] = []
        var block: [UInt8] = []
        var number: UInt8 = 0
        while bytes.count < count {
            number += 1
            block = HMACSHA256.code(for: block + info + [number], key: key)
            bytes += block
        }
        return Array(bytes.prefix(count))
    }
}
