import CNacreOpenSSL

/// A key for sealing values that outsiders carry: change tokens, query cursors, web auth tokens.
///
/// AES-SIV (RFC 5297) encrypts, authenticates and is deterministic: one value with one associated data always gives one
/// sealed value. An outsider sees only equality and length. There is no nonce that could be used twice.
///
/// Sealing or opening a hundred bytes takes about a microsecond. Any number of threads may use one key at once.
package final class SealingKey: @unchecked Sendable {
    // Sendable: both contexts are keyed in `init`. After that they are only read, as the source of copies, and OpenSSL
    // counts references to shared parts atomically.

    /// The length of an AES-256-SIV key, in bytes: 32 to authenticate and 32 to encrypt.
    package static let keyLength: Int = 64
    /// The length of an AES-128-SIV key, in bytes. RFC 5297's examples use it.
    package static let shortKeyLength: Int = 32
    /// The bytes by which a sealed value is longer than its plaintext: the synthetic IV, which comes first.
    package static let overhead: Int = 16

    private let sealing: OpaquePointer
    private let opening: OpaquePointer

    /// - Parameter key: `keyLength` or `shortKeyLength` secret random bytes. OpenSSL holds them, and wipes them when
    ///   the key is freed.
    package init(_ key: [UInt8]) throws(CryptoError) {
        let name: String
        switch key.count {
        case Self.keyLength: name = "AES-256-SIV"
        case Self.shortKeyLength: name = "AES-128-SIV"
        default: throw CryptoError(.invalidKeyLength)
        }
        guard let cipher = EVP_CIPHER_fetch(nil, name, nil) else { throw .fromOpenSSL(.libraryFailure) }
        defer { EVP_CIPHER_free(cipher) }
        let sealing = EVP_CIPHER_CTX_new()
        let opening = EVP_CIPHER_CTX_new()
        guard let sealing, let opening,
            EVP_EncryptInit_ex2(sealing, cipher, key, nil, nil) == 1,
            EVP_DecryptInit_ex2(opening, cipher, key, nil, nil) == 1
        else {
            EVP_CIPHER_CTX_free(sealing)
            EVP_CIPHER_CTX_free(opening)
            throw .fromOpenSSL(.libraryFailure)
        }
        self.sealing = sealing
        self.opening = opening
    }

    deinit {
        EVP_CIPHER_CTX_free(sealing)
        EVP_CIPHER_CTX_free(opening)
    }

    /// Returns random bytes for a new key.
    package static func newKeyBytes() throws(CryptoError) -> [UInt8] {
        try SecureRandom.keyBytes(keyLength)
    }

    /// - Parameters:
    ///   - plaintext: At least one byte. OpenSSL leaves an empty one unauthenticated, so it is refused here.
    ///   - associated: The bytes that the value is bound to without containing them (kind, caller). `open` must get the
    ///     same bytes.
    /// - Returns: The synthetic IV and the ciphertext: `overhead` bytes more than the plaintext.
    package func seal(_ plaintext: [UInt8], associated: [UInt8]) throws(CryptoError) -> [UInt8] {
        guard let length = Int32(exactly: plaintext.count), length > 0 else { throw CryptoError(.invalidLength) }
        let context = try message(from: sealing)
        defer { EVP_CIPHER_CTX_free(context) }
        try take(associated, into: context)
        var isSealed = false
        let sealed = [UInt8](unsafeUninitializedCapacity: Self.overhead + plaintext.count) { buffer, count in
            guard let tag = buffer.baseAddress else { return }
            let body = tag + Self.overhead
            var written: Int32 = 0
            var last: Int32 = 0
            isSealed =
                EVP_EncryptUpdate(context, body, &written, plaintext, length) == 1 && written == length
                && EVP_EncryptFinal_ex(context, body + Int(written), &last) == 1 && last == 0
                && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, Int32(Self.overhead), tag) == 1
            count = isSealed ? Self.overhead + plaintext.count : 0
        }
        guard isSealed else { throw .fromOpenSSL(.libraryFailure) }
        return sealed
    }

    /// Returns the plaintext of a value that this key sealed with the same associated data.
    /// - Throws: `notAuthentic` for any other value, whatever is wrong with it.
    package func open(_ sealed: [UInt8], associated: [UInt8]) throws(CryptoError) -> [UInt8] {
        let count = sealed.count - Self.overhead
        guard count > 0, let length = Int32(exactly: count) else { throw CryptoError(.notAuthentic) }
        let context = try message(from: opening)
        defer { EVP_CIPHER_CTX_free(context) }
        var isAuthentic = false
        var tag = (UInt64(0), UInt64(0))
        withUnsafeMutableBytes(of: &tag) { $0.copyBytes(from: sealed.prefix(Self.overhead)) }
        guard EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, Int32(Self.overhead), &tag) == 1 else { throw .fromOpenSSL(.libraryFailure) }
        try take(associated, into: context)
        let plaintext = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            guard let out = buffer.baseAddress else { return }
            var written: Int32 = 0
            var last: Int32 = 0
            isAuthentic = sealed.withUnsafeBufferPointer { sealed in
                guard let body = sealed.baseAddress.map({ $0 + Self.overhead }) else { return false }
                return EVP_DecryptUpdate(context, out, &written, body, length) == 1 && written == length
                    && EVP_DecryptFinal_ex(context, out + Int(written), &last) == 1 && last == 0
            }
            initialized = isAuthentic ? count : 0
        }
        guard isAuthentic else { throw .fromOpenSSL(.notAuthentic) }
        return plaintext
    }

    /// Returns a context for one message; an AES-SIV context serves no second one. A copy takes a third of the time
    /// that it takes to give the key to a new context.
    private func message(from keyed: OpaquePointer) throws(CryptoError) -> OpaquePointer {
        guard let context = EVP_CIPHER_CTX_new() else { throw .fromOpenSSL(.libraryFailure) }
        guard EVP_CIPHER_CTX_copy(context, keyed) == 1 else {
            EVP_CIPHER_CTX_free(context)
            throw .fromOpenSSL(.libraryFailure)
        }
        return context
    }

    /// Adds the associated data as exactly one component of RFC 5297's vector, even if it is empty.
    private func take(_ associated: [UInt8], into context: OpaquePointer) throws(CryptoError) {
        guard let length = Int32(exactly: associated.count) else { throw CryptoError(.invalidLength) }
        var written: Int32 = 0
        // OpenSSL takes the input as associated data if the output is null, whether the context seals or opens.
        guard EVP_CipherUpdate(context, nil, &written, associated, length) == 1 else { throw .fromOpenSSL(.libraryFailure) }
    }
}
