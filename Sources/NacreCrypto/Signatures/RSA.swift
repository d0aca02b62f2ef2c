import CNacreOpenSSL

/// RSA with SHA-256 and the padding of PKCS #1 v1.5 (RFC 8017, 8.2): RS256 in OpenID Connect.
package enum RSA {
    /// The permitted bytes of a modulus: 2,048 to 4,096 bits. Shorter ones are broken, longer ones cost too much.
    private static let modulusBytes = 256...512
    /// The permitted bytes of an exponent. A long exponent makes a verification as costly as a signature.
    private static let exponentBytes = 1...4
    /// The identifier of `rsaEncryption` in `SubjectPublicKeyInfo`, with its absent parameters.
    private static let algorithm: [UInt8] = [
        0x30, 0x0d, 0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01, 0x05, 0x00,
    ]

    /// A public key. Any number of threads may use one at once.
    package final class PublicKey: @unchecked Sendable {
        // Sendable: the key is not changed after `init`, and OpenSSL locks the caches inside it.
        private let pointer: OpaquePointer

        /// - Parameters:
        ///   - modulus: The modulus, highest byte first, as JWK writes it.
        ///   - exponent: The exponent, highest byte first; odd, and 3 at least.
        /// - Throws: `malformedKey` for other numbers.
        package init(modulus: [UInt8], exponent: [UInt8]) throws(CryptoError) {
            let (modulus, exponent) = (
                Array(modulus.drop { $0 == 0 }), Array(exponent.drop { $0 == 0 })
            )
            guard modulusBytes.contains(modulus.count), exponentBytes.contains(exponent.count),
                let last = exponent.last,
                last & 1 == 1, exponent != [1]
            else { throw CryptoError(.malformedKey) }
            let key = DER.sequence(DER.integer(modulus), DER.integer(exponent))
            let info = DER.sequence(algorithm, DER.bits(key))
            guard let pointer = nacre_read_public_key(info, info.count) else {
                throw .fromOpenSSL(.malformedKey)
            }
            self.pointer = pointer
        }

        deinit {
            EVP_PKEY_free(pointer)
        }

        /// Whether the private key made this signature of this message. Takes about 100 µs.
        /// - Throws: `libraryFailure`, after which the signature may be right or wrong.
        package func isValid(_ signature: [UInt8], for message: [UInt8]) throws(CryptoError) -> Bool {
            try Verification.isValid(signature, for: message, under: pointer)
        }
    }
}

/// Verifies a signature over a SHA-256 digest with an OpenSSL key.
enum Verification {
    static func isValid(_ signature: [UInt8], for message: [UInt8], under key: OpaquePointer)
        throws(CryptoError) -> Bool
    {
        guard let context = EVP_MD_CTX_new() else { throw .fromOpenSSL(.libraryFailure) }
        defer { EVP_MD_CTX_free(context) }
        guard EVP_DigestVerifyInit_ex(context, nil, "SHA256", nil, nil, key, nil) == 1 else {
            throw .fromOpenSSL(.libraryFailure)
        }
        let isValid =
            EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
        // 0 is a wrong signature, less than 0 a malformed one. Both leave errors in the thread's queue.
        if !isValid { ERR_clear_error() }
        return isValid
    }
}
