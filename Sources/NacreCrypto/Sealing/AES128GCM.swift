import CNacreOpenSSL

/// AES-128 in Galois/Counter Mode (NIST SP 800-38D), for protocols that ask for it. Stored values are sealed by
/// `AEADKey`.
enum AES128GCM {
    static let keyLength = 16
    static let nonceLength = 12
    static let tagLength = 16

    /// - Parameter nonce: 12 bytes that this key never sealed with before.
    /// - Returns: The ciphertext and the tag.
    static func seal(_ plaintext: [UInt8], key: [UInt8], nonce: [UInt8]) throws(CryptoError) -> [UInt8] {
        guard key.count == keyLength else { throw CryptoError(.invalidKeyLength) }
        guard nonce.count == nonceLength, let count = Int32(exactly: plaintext.count) else { throw CryptoError(.invalidLength) }
        guard let cipher = EVP_CIPHER_fetch(nil, "AES-128-GCM", nil) else { throw .fromOpenSSL(.libraryFailure) }
        defer { EVP_CIPHER_free(cipher) }
        guard let context = EVP_CIPHER_CTX_new() else { throw .fromOpenSSL(.libraryFailure) }
        defer { EVP_CIPHER_CTX_free(context) }
        var sealed = [UInt8](repeating: 0, count: plaintext.count)
        var tag = [UInt8](repeating: 0, count: tagLength)
        var rest = tag
        var (written, more): (Int32, Int32) = (0, 0)
        guard EVP_EncryptInit_ex2(context, cipher, key, nonce, nil) == 1,
            plaintext.isEmpty || EVP_EncryptUpdate(context, &sealed, &written, plaintext, count) == 1, written == count,
            EVP_EncryptFinal_ex(context, &rest, &more) == 1, more == 0,
            EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, Int32(tagLength), &tag) == 1
        else { throw .fromOpenSSL(.libraryFailure) }
        return sealed + tag
    }
}
