import CNacreOpenSSL

/// ECDSA on the curve P-256 with SHA-256 (FIPS 186-4): the signatures of server-to-server keys. Signatures are ASN.1
/// DER. Anybody can turn a valid one into another valid one for the same message, so a signature cannot identify a
/// message.
package enum P256 {
    /// A private key. Any number of threads may use one at once.
    package final class PrivateKey: Sendable {
        let key: Key

        /// Creates a new key, in about 20 µs.
        package init() throws(CryptoError) {
            guard let pointer = nacre_generate_p256() else { throw .fromOpenSSL(.libraryFailure) }
            key = Key(owning: pointer)
        }

        /// - Parameter pem: `PRIVATE KEY` (PKCS #8, also Apple's .p8) or `EC PRIVATE KEY` (SEC 1), without a
        ///   passphrase.
        /// - Throws: `malformedKey` for anything else, for another curve, and for a key whose two halves do not belong
        ///   together.
        package init(pem: String) throws(CryptoError) {
            key = try Key(pem: pem, part: .privateKey)
        }

        /// Returns the key as `PRIVATE KEY` in PEM. The text is the secret itself.
        package func pem() throws(CryptoError) -> String {
            try key.text { PEM_write_bio_PKCS8PrivateKey($0, $1, nil, nil, 0, nil, nil) }
        }

        package func publicKey() throws(CryptoError) -> PublicKey {
            try PublicKey(pem: key.text { PEM_write_bio_PUBKEY($0, $1) })
        }

        /// - Returns: A signature in DER, at most 72 bytes. Each call returns another one.
        package func sign(_ message: [UInt8]) throws(CryptoError) -> [UInt8] {
            guard let context = EVP_MD_CTX_new() else { throw .fromOpenSSL(.libraryFailure) }
            defer { EVP_MD_CTX_free(context) }
            var length = 0
            guard EVP_DigestSignInit_ex(context, nil, "SHA256", nil, nil, key.pointer, nil) == 1,
                EVP_DigestSign(context, nil, &length, message, message.count) == 1
            else { throw .fromOpenSSL(.libraryFailure) }
            var signature = [UInt8](repeating: 0, count: length)
            guard EVP_DigestSign(context, &signature, &length, message, message.count) == 1, length <= signature.count else {
                throw .fromOpenSSL(.libraryFailure)
            }
            signature.removeLast(signature.count - length)
            return signature
        }
    }

    /// A public key. Any number of threads may use one at once.
    package final class PublicKey: Sendable {
        let key: Key

        /// - Parameter pem: `PUBLIC KEY` in PEM.
        /// - Throws: `malformedKey` for anything else, for another curve, and for a point that is not on it.
        package init(pem: String) throws(CryptoError) {
            key = try Key(pem: pem, part: .publicKey)
        }

        /// The bytes before the point in the `SubjectPublicKeyInfo` (RFC 5480) of an uncompressed key on P-256.
        private static let pointHeader: [UInt8] = [
            0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01,
            0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00, 0x04,
        ]

        /// Creates a key from its coordinates, as COSE and JWK write them.
        /// - Parameters:
        ///   - x: 32 bytes, highest first.
        ///   - y: 32 bytes, highest first.
        /// - Throws: `malformedKey` for other lengths, and for a point that is not on the curve.
        package init(x: [UInt8], y: [UInt8]) throws(CryptoError) {
            guard x.count == 32, y.count == 32 else { throw CryptoError(.malformedKey) }
            key = try Key(subjectPublicKeyInfo: Self.pointHeader + x + y)
        }

        /// Returns the key as `PUBLIC KEY` in PEM.
        package func pem() throws(CryptoError) -> String {
            try key.text { PEM_write_bio_PUBKEY($0, $1) }
        }

        /// Whether the private key made this signature of this message, for a signature as JSON Web Signatures write it
        /// (RFC 7518, 3.4): two numbers of 32 bytes.
        package func isValid(pair: [UInt8], for message: [UInt8]) throws(CryptoError) -> Bool {
            guard pair.count == 64 else { return false }
            let signature = DER.sequence(DER.integer(Array(pair[..<32])), DER.integer(Array(pair[32...])))
            return try isValid(signature, for: message)
        }

        /// Whether the private key made this signature of this message; false also for bytes that are no signature.
        /// Takes about 50 µs.
        /// - Throws: `libraryFailure`, after which the signature may be right or wrong.
        package func isValid(_ signature: [UInt8], for message: [UInt8]) throws(CryptoError) -> Bool {
            try Verification.isValid(signature, for: message, under: key.pointer)
        }
    }
}
