import CNacreSodium

/// Signatures on edwards25519 (RFC 8032, without a context and without a hash before it). One message and one key have
/// one signature, whose bytes nobody else can change and keep valid.
///
/// Calls libsodium. OpenSSL 3.0 refuses a signature whose number S is not reduced, and takes public keys of small
/// order, of mixed order and in a second encoding: under such a key one signature is valid for many messages, or two
/// implementations differ about it. They are no keys here.
package enum Ed25519 {
    /// The length of the seed of a private key, in bytes.
    package static let seedLength: Int = 32
    /// The length of a public key, in bytes.
    package static let publicKeyLength: Int = 32
    /// The length of a signature, in bytes.
    package static let signatureLength: Int = 64

    /// A private key. Any number of threads may use one at once.
    package struct PrivateKey: Sendable {
        package let seed: SecretBytes
        package let publicKey: PublicKey
        /// The seed and the public key, as libsodium takes them.
        private let pair: SecretBytes

        /// Creates a new key.
        package init() throws(CryptoError) {
            try self.init(seed: SecureRandom.secret(seedLength))
        }

        /// Takes about 20 µs.
        /// - Parameter seed: 32 secret random bytes; another number throws `invalidKeyLength`.
        package init(seed: SecretBytes) throws(CryptoError) {
            guard seed.count == seedLength else { throw CryptoError(.invalidKeyLength) }
            try Sodium.start()
            var point = [UInt8](repeating: 0, count: publicKeyLength)
            pair = try SecretBytes(count: seedLength + publicKeyLength) { pair throws(CryptoError) in
                guard seed.withBytes({ crypto_sign_ed25519_seed_keypair(&point, pair, $0) }) == 0 else { throw CryptoError(.libraryFailure) }
            }
            self.seed = seed
            publicKey = PublicKey(valid: point)
        }

        /// Returns the 64 bytes of the message's signature. About 20 µs for a short message.
        package func sign(_ message: [UInt8]) throws(CryptoError) -> [UInt8] {
            var signature = [UInt8](repeating: 0, count: signatureLength)
            guard pair.withBytes({ crypto_sign_ed25519_detached(&signature, nil, message, UInt64(message.count), $0) }) == 0 else {
                throw CryptoError(.libraryFailure)
            }
            return signature
        }
    }

    /// A public key: a point of the group of prime order, in its only encoding.
    package struct PublicKey: Hashable, Sendable {
        package let bytes: [UInt8]

        /// Takes about 45 µs, of which the check of the point's order takes most.
        /// - Throws: `invalidKeyLength` for another number of bytes than 32; `malformedKey` for bytes that are not on
        ///   the curve or not reduced, and for a point of small or mixed order.
        package init(_ bytes: [UInt8]) throws(CryptoError) {
            guard bytes.count == publicKeyLength else { throw CryptoError(.invalidKeyLength) }
            try Sodium.start()
            guard crypto_core_ed25519_is_valid_point(bytes) == 1 else { throw CryptoError(.malformedKey) }
            self.bytes = bytes
        }

        fileprivate init(valid bytes: [UInt8]) {
            self.bytes = bytes
        }

        /// Whether the private key made this signature of this message; false also for bytes that are no signature, and
        /// for one whose S is not reduced. About 55 µs for a short message.
        package func isValid(_ signature: [UInt8], for message: [UInt8]) -> Bool {
            signature.count == signatureLength && crypto_sign_ed25519_verify_detached(signature, message, UInt64(message.count), bytes) == 0
        }
    }
}
