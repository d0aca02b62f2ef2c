import CNacreSodium

/// A key for encrypting stored values with XChaCha20-Poly1305. Each call gives other bytes. The random nonce of 24
/// bytes never repeats in practice. For a value whose sealed form must repeat, use `SealingKey`. Any number of threads
/// may use one key at once.
package struct AEADKey: Sendable {
    /// The length of a key, in bytes.
    package static let keyLength: Int = 32
    /// The bytes by which a sealed value is longer than its plaintext: a nonce of 24 before it and a tag of 16 after
    /// it.
    package static let overhead: Int = nonceLength + tagLength

    static let nonceLength = 24
    static let tagLength = 16

    private let key: SecretBytes

    /// - Parameter key: `keyLength` secret random bytes.
    package init(_ key: [UInt8]) throws(CryptoError) {
        guard key.count == Self.keyLength else { throw CryptoError(.invalidKeyLength) }
        try Sodium.start()
        self.key = SecretBytes(key)
    }

    /// Returns random bytes for a new key.
    package static func newKeyBytes() throws(CryptoError) -> [UInt8] {
        try SecureRandom.keyBytes(keyLength)
    }

    /// - Returns: The nonce, the ciphertext and the tag: `overhead` bytes more than the plaintext, which may be empty.
    package func seal(_ plaintext: [UInt8], associated: [UInt8]) throws(CryptoError) -> [UInt8] {
        try seal(plaintext, associated: associated, nonce: SecureRandom.bytes(Self.nonceLength))
    }

    /// Returns the plaintext of a value that this key sealed with the same associated data.
    /// - Throws: `notAuthentic` for any other value, whatever is wrong with it.
    package func open(_ sealed: [UInt8], associated: [UInt8]) throws(CryptoError) -> [UInt8] {
        let count = sealed.count - Self.overhead
        guard count >= 0 else { throw CryptoError(.notAuthentic) }
        let nonce = Array(sealed.prefix(Self.nonceLength))
        var isAuthentic = false
        let plaintext = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            isAuthentic = sealed.withUnsafeBufferPointer { sealed in
                guard let start = sealed.baseAddress else { return false }
                return key.withBytes {
                    crypto_aead_xchacha20poly1305_ietf_decrypt(
                        buffer.baseAddress, nil, nil, start + Self.nonceLength, UInt64(count + Self.tagLength),
                        associated, UInt64(associated.count), nonce, $0) == 0
                }
            }
            initialized = isAuthentic ? count : 0
        }
        guard isAuthentic else { throw CryptoError(.notAuthentic) }
        return plaintext
    }

    /// - Parameter nonce: 24 bytes that this key never sealed with before. Only tests choose them.
    func seal(_ plaintext: [UInt8], associated: [UInt8], nonce: [UInt8]) throws(CryptoError) -> [UInt8] {
        guard nonce.count == Self.nonceLength else { throw CryptoError(.invalidLength) }
        var isSealed = false
        let count = plaintext.count + Self.overhead
        let sealed = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            guard let start = buffer.baseAddress else { return }
            start.initialize(from: nonce, count: Self.nonceLength)
            isSealed = key.withBytes {
                crypto_aead_xchacha20poly1305_ietf_encrypt(
                    start + Self.nonceLength, nil, plaintext, UInt64(plaintext.count),
                    associated, UInt64(associated.count), nil, nonce, $0) == 0
            }
            initialized = isSealed ? count : 0
        }
        guard isSealed else { throw CryptoError(.libraryFailure) }
        return sealed
    }
}
