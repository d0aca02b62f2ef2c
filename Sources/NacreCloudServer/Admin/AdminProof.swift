import NacreCrypto

/// Proves that a server knows the admin token before a client sends it: another program that listens at the address
/// learns nothing.
package enum AdminProof {
    /// Hexadecimal digits of a nonce: 16 to 64 bytes. NIST SP 800-107, 5.3.4 requires no fewer bits than the strength
    /// of the code.
    static let nonceDigits = 32...128

    /// A new nonce: 32 random bytes as hexadecimal digits.
    package static func newNonce() throws -> String {
        Hex.encode(try SecureRandom.bytes(32))
    }

    /// The proof; nil for a nonce that is too short, too long or not hexadecimal. The key is the token's text as in the
    /// file.
    package static func make(nonce: String, token: String) -> String? {
        guard nonceDigits.contains(nonce.utf8.count), (try? Hex.decode(nonce)) != nil else { return nil }
        return Hex.encode(HMACSHA256.code(for: Array("nacre-admin:\(nonce)".utf8), key: Array(token.utf8)))
    }

    package static func isValid(_ proof: String, nonce: String, token: String) -> Bool {
        guard let expected = make(nonce: nonce, token: token) else { return false }
        return constantTimeEquals(Array(proof.utf8), Array(expected.utf8))
    }
}
