import NacreCrypto

/// A sealed thing, in its parts: the value of a field, a chunk of a file, an older key, the key that a link opens,
/// or the secret of a link.
package struct SealedValue: Form {
    package static let kinds: [FormKind] = [.value, .chunk, .olderKey, .link, .linkSecret]
    /// The length of a salt, in bytes.
    package static let saltLength: Int = 32
    /// The length of a sealed key's ciphertext and tag, in bytes.
    static let sealedKeyLength: Int = 32 + AESGCM.tagLength
    /// The bytes by which a sealed value is longer than its padded plaintext.
    package static let overhead: Int = 2 + KeyID.length + saltLength + Digest.length + AESGCM.tagLength

    package let kind: FormKind
    /// The key that opens it. For a link: the key that is in it.
    package let keyID: KeyID
    package let salt: Digest
    package let commitment: Digest
    /// The ciphertext and the tag.
    package let ciphertext: [UInt8]

    /// Returns nil for a kind that has other parts, and for a ciphertext with a length that the kind cannot have.
    package init?(kind: FormKind, keyID: KeyID, salt: Digest, commitment: Digest, ciphertext: [UInt8]) {
        guard Self.kinds.contains(kind), Self.isLength(ciphertext.count, of: kind) else { return nil }
        self.kind = kind
        self.keyID = keyID
        self.salt = salt
        self.commitment = commitment
        self.ciphertext = ciphertext
    }

    package init(kind: FormKind, parts reader: inout FormReader) throws(FormFault) {
        self.kind = kind
        keyID = try KeyID(reader: &reader)
        salt = try reader.fixed()
        commitment = try reader.fixed()
        ciphertext = reader.takeRest()
        guard Self.isLength(ciphertext.count, of: kind) else { throw .invalid("length of the ciphertext") }
    }

    package func writeParts(to writer: inout FormWriter) {
        Self.writeHead(to: &writer, keyID: keyID, salt: salt, commitment: commitment)
        writer.raw(ciphertext)
    }

    private static func writeHead(to writer: inout FormWriter, keyID: KeyID, salt: Digest, commitment: Digest) {
        keyID.write(to: &writer)
        writer.fixed(salt)
        writer.fixed(commitment)
    }

    /// The parts in front of the ciphertext, to which it is bound.
    package var associated: [UInt8] { Self.associated(kind: kind, keyID: keyID, salt: salt, commitment: commitment) }

    package static func associated(kind: FormKind, keyID: KeyID, salt: Digest, commitment: Digest) -> [UInt8] {
        var writer = FormWriter(capacity: overhead)
        writer.integer(Suite.current)
        writer.integer(kind.rawValue)
        writeHead(to: &writer, keyID: keyID, salt: salt, commitment: commitment)
        return writer.written
    }

    private static func isLength(_ count: Int, of kind: FormKind) -> Bool {
        switch kind {
        case .value: Padding.isBucket(count - AESGCM.tagLength)
        case .chunk: Padding.isBucket(count - AESGCM.tagLength) && count - AESGCM.tagLength <= FileChunks.length
        default: count == sealedKeyLength
        }
    }
}
