import NacreCrypto
import NacreEncryptionForms

/// Makes and opens wraps of both kinds.
enum Wrapping {
    static func wrap(
        _ secret: SecretBytes, as subject: KeyWrap.Subject, for key: KeyBytes, of recipient: Digest, generation: UInt32, place: Place,
        by sender: DeviceKeys, using random: inout some RandomBytes
    ) throws(CryptoError) -> KeyWrap {
        let sealed = try HPKE.seal(
            secret, for: X25519.PublicKey(key.bytes), info: info(place),
            associated: KeyWrap.associated(subject: subject, recipient: recipient, generation: generation, sender: sender.id),
            ephemeral: X25519.PrivateKey(random.secret(X25519.keyLength)))
        let wrap = try KeyWrap(subject: subject, recipient: recipient, generation: generation, sender: sender.id, sealed: sealed) {
            (bytes) throws(CryptoError) in try sender.keys.sign(bytes)
        }
        guard let wrap else { throw CryptoError(.invalidLength) }
        return wrap
    }

    static func open(_ wrap: KeyWrap, with key: X25519.PrivateKey, place: Place) throws(EncryptionError) -> SecretBytes {
        guard let secret = try? HPKE.open(wrap.sealed, with: key, info: info(place), associated: wrap.associated) else { throw .cannotBeOpened }
        return secret
    }

    private static func info(_ place: Place) throws(CryptoError) -> [UInt8] { try Digest(label: "nacre wrap", [place.bytes]).bytes }
}
