import CNacreOpenSSL

extension P256.PublicKey {
    /// The length of an uncompressed point, in bytes: a 4 and the two coordinates.
    package static let pointLength: Int = 65

    /// - Parameter point: The point in the uncompressed form of SEC 1.
    /// - Throws: `malformedKey` for other bytes, and for a point that is not on the curve.
    package convenience init(point: [UInt8]) throws(CryptoError) {
        guard point.count == Self.pointLength, point[0] == 4 else { throw CryptoError(.malformedKey) }
        try self.init(x: Array(point[1..<33]), y: Array(point[33...]))
    }

    /// Returns the key's point in the uncompressed form of SEC 1.
    package func point() throws(CryptoError) -> [UInt8] {
        var point = [UInt8](repeating: 0, count: Self.pointLength)
        var length = 0
        guard EVP_PKEY_get_octet_string_param(key.pointer, "pub", &point, point.count, &length) == 1, length == point.count else {
            throw .fromOpenSSL(.malformedKey)
        }
        return point
    }
}

extension P256.PrivateKey {
    /// Returns the 32 bytes that this key and the other party's private key both arrive at (ECDH, NIST SP 800-56A).
    /// Derive keys from them. About 60 µs.
    package func sharedSecret(with other: P256.PublicKey) throws(CryptoError) -> SecretBytes {
        guard let context = EVP_PKEY_CTX_new_from_pkey(nil, key.pointer, nil) else { throw .fromOpenSSL(.libraryFailure) }
        defer { EVP_PKEY_CTX_free(context) }
        return try SecretBytes(count: 32) { secret throws(CryptoError) in
            var length = 32
            guard EVP_PKEY_derive_init(context) == 1, EVP_PKEY_derive_set_peer(context, other.key.pointer) == 1,
                EVP_PKEY_derive(context, secret, &length) == 1, length == 32
            else { throw .fromOpenSSL(.libraryFailure) }
        }
    }

    /// Returns a signature as JSON Web Signatures write it (RFC 7518, 3.4): two numbers of 32 bytes.
    package func signPair(_ message: [UInt8]) throws(CryptoError) -> [UInt8] {
        guard let pair = DER.pair(try sign(message), of: 32) else { throw CryptoError(.libraryFailure) }
        return pair
    }
}
