package import NacreCrypto
package import NacreEncryptionForms

/// Seals the chunks of the files of one zone under a version of a scope's key. Equal chunks are sealed the same, so
/// that they are stored once; under two keys they never are.
package struct ChunkSealing: Secret {
    private let key: ScopeKey
    private let saltKey: SecretBytes
    private let context: Digest

    package init(_ key: ScopeKey, place: Place) throws(CryptoError) {
        self.key = key
        saltKey = try HKDFSHA256.expand(key.extracted, info: Digest(label: "nacre chunk salt", [place.bytes]).bytes)
        context = try Digest(label: "nacre chunk", [place.bytes])
    }

    /// Seals a chunk of `FileChunks`. A whole one takes about 1 ms.
    /// - Parameter isLast: Whether it is the last one, which is padded. All others are whole.
    package func seal(_ chunk: [UInt8], isLast: Bool) throws(CryptoError) -> SealedValue {
        guard isLast ? chunk.count < FileChunks.length : chunk.count == FileChunks.length else { throw CryptoError(.invalidLength) }
        let salt = try salt(of: chunk)
        var plain = chunk
        if isLast { Padding.pad(&plain) }
        return try Sealing.seal(
            as: .chunk, keyID: key.id, salt: salt, secret: Sealing.secret(from: key.secret, salt: salt), context: context
        ) { (cipher, nonce, associated) throws(CryptoError) in try cipher.seal(plain, nonce: nonce, associated: associated) }
    }

    /// Opens a chunk. Check the root of the file first: it says which chunks belong together.
    package func open(_ sealed: SealedValue, isLast: Bool) throws(EncryptionError) -> [UInt8] {
        var chunk = try Sealing.open(sealed, as: .chunk, keyID: key.id, key: key.secret, context: context) {
            (cipher, nonce, associated) throws(CryptoError) in
            try cipher.open(sealed.ciphertext, nonce: nonce, associated: associated)
        }
        if isLast {
            guard let count = Padding.unpaddedCount(chunk) else { throw .cannotBeOpened }
            chunk.removeLast(chunk.count - count)
        } else if chunk.count != FileChunks.length {
            throw .cannotBeOpened
        }
        return chunk
    }

    private func salt(of chunk: [UInt8]) throws(CryptoError) -> Digest {
        try Digest(code: HMACSHA256.code(for: Digest(of: chunk).bytes, key: saltKey))
    }
}
