import NacreCrypto
import NacreEncryptionForms

/// Seals and opens the five kinds of `SealedValue`. Each thing has a key of its own, made of a salt; so the nonce is
/// always zeros.
enum Sealing {
    private static let nonce = [UInt8](repeating: 0, count: AESGCM.nonceLength)

    /// Returns the secret under the keys of all things that have one salt.
    static func secret(from key: SecretBytes, salt: Digest) -> SecretBytes {
        HKDFSHA256.extract(key, salt: salt.bytes)
    }

    private static func keys(_ secret: SecretBytes, context: Digest) throws(CryptoError) -> (key: SecretBytes, commitment: Digest) {
        let both = try HKDFSHA256.expand(secret, info: context.bytes, count: 64)
        return (both.part(0..<32), try Digest(code: both.part(32..<64).exposed))
    }

    /// - Parameters:
    ///   - secret: `secret(from:salt:)` of this salt.
    ///   - context: The place of the thing. Two things with one salt have two contexts.
    ///   - seal: Seals the plaintext, with this nonce and associated data.
    static func seal(
        as kind: FormKind, keyID: KeyID, salt: Digest, secret: SecretBytes, context: Digest,
        _ seal: (inout AESGCM, _ nonce: [UInt8], _ associated: [UInt8]) throws(CryptoError) -> [UInt8]
    ) throws(CryptoError) -> SealedValue {
        let (key, commitment) = try keys(secret, context: context)
        let associated = SealedValue.associated(kind: kind, keyID: keyID, salt: salt, commitment: commitment)
        var cipher = try AESGCM(key: key)
        let ciphertext = try seal(&cipher, nonce, associated)
        guard let sealed = SealedValue(kind: kind, keyID: keyID, salt: salt, commitment: commitment, ciphertext: ciphertext) else {
            throw CryptoError(.invalidLength)
        }
        return sealed
    }

    /// - Parameter open: Opens the ciphertext, with this nonce and associated data.
    static func open<Plaintext>(
        _ sealed: SealedValue, as kind: FormKind, keyID: KeyID, key: SecretBytes, context: Digest,
        _ open: (inout AESGCM, _ nonce: [UInt8], _ associated: [UInt8]) throws(CryptoError) -> Plaintext
    ) throws(EncryptionError) -> Plaintext {
        guard sealed.kind == kind, sealed.keyID == keyID, let (key, commitment) = try? keys(secret(from: key, salt: sealed.salt), context: context),
            constantTimeEquals(commitment.bytes, sealed.commitment.bytes)
        else { throw .cannotBeOpened }
        do throws(CryptoError) {
            var cipher = try AESGCM(key: key)
            return try open(&cipher, nonce, sealed.associated)
        } catch {
            throw .cannotBeOpened
        }
    }

    /// Seals a key under another one, with a new salt.
    static func seal(
        key: SecretBytes, under other: SecretBytes, as kind: FormKind, keyID: KeyID, context: Digest, using random: inout some RandomBytes
    ) throws(CryptoError) -> SealedValue {
        let salt = try random.digest()
        return try seal(as: kind, keyID: keyID, salt: salt, secret: secret(from: other, salt: salt), context: context) {
            (cipher, nonce, associated) throws(CryptoError) in try cipher.seal(key, nonce: nonce, associated: associated)
        }
    }

    static func openKey(
        _ sealed: SealedValue, under other: SecretBytes, as kind: FormKind, keyID: KeyID, context: Digest
    ) throws(EncryptionError) -> SecretBytes {
        try open(sealed, as: kind, keyID: keyID, key: other, context: context) { (cipher, nonce, associated) throws(CryptoError) in
            try cipher.openSecret(sealed.ciphertext, nonce: nonce, associated: associated)
        }
    }
}
