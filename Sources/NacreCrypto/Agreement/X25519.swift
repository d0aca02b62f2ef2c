import CNacreSodium

/// Diffie-Hellman on Curve25519 (RFC 7748): two parties come to one secret over a line that anybody reads. Calls
/// libsodium, which allocates nothing and looks for the all-zero secret itself.
package enum X25519 {
    /// The length of either key and of the secret, in bytes.
    package static let keyLength: Int = 32

    /// A public key. Any 32 bytes are one: as RFC 7748 asks, the highest bit is ignored and a coordinate past the
    /// field's order is reduced. `sharedSecret` refuses points of small order, and `checkOrder` finds them before.
    package struct PublicKey: Hashable, Sendable {
        package let bytes: [UInt8]

        /// - Throws: `invalidKeyLength` for another number of bytes than 32.
        package init(_ bytes: [UInt8]) throws(CryptoError) {
            guard bytes.count == keyLength else { throw CryptoError(.invalidKeyLength) }
            self.bytes = bytes
        }

        /// Checks that the key is one with which two parties come to a secret. About 35 µs.
        /// - Throws: `malformedKey` for a point of small order, with which every private key arrives at zeros.
        package func checkOrder() throws(CryptoError) {
            try Sodium.start()
            // All private keys are multiples of 8, so any of them finds the points of order 1, 2, 4 and 8.
            let key = [UInt8](repeating: 1, count: keyLength)
            var secret = [UInt8](repeating: 0, count: keyLength)
            guard crypto_scalarmult_curve25519(&secret, key, bytes) == 0 else { throw CryptoError(.malformedKey) }
        }
    }

    /// A private key. Any number of threads may use one at once.
    package struct PrivateKey: Sendable {
        /// The 32 bytes of the key, as they were given.
        package let bytes: SecretBytes
        package let publicKey: PublicKey

        /// Creates a new key.
        package init() throws(CryptoError) {
            try self.init(SecureRandom.secret(keyLength))
        }

        /// Takes about 35 µs.
        /// - Parameter bytes: 32 secret random bytes; another number throws `invalidKeyLength`.
        package init(_ bytes: SecretBytes) throws(CryptoError) {
            guard bytes.count == keyLength else { throw CryptoError(.invalidKeyLength) }
            try Sodium.start()
            var point = [UInt8](repeating: 0, count: keyLength)
            guard bytes.withBytes({ crypto_scalarmult_curve25519_base(&point, $0) }) == 0 else { throw CryptoError(.libraryFailure) }
            self.bytes = bytes
            publicKey = try PublicKey(point)
        }

        /// Returns the 32 bytes that this key and the other party's private key both arrive at. Derive keys from them.
        /// About 35 µs.
        /// - Throws: `malformedKey` for a point of small order, with which every private key arrives at zeros.
        package func sharedSecret(with other: PublicKey) throws(CryptoError) -> SecretBytes {
            try SecretBytes(count: keyLength) { secret throws(CryptoError) in
                guard bytes.withBytes({ crypto_scalarmult_curve25519(secret, $0, other.bytes) }) == 0 else { throw CryptoError(.malformedKey) }
            }
        }
    }
}
