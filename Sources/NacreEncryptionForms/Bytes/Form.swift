package import NacreCrypto

/// A value of docs/encryption.md with exactly one form as bytes: `Form(bytes).bytes == bytes`, and all other bytes are
/// refused.
package protocol Form: Hashable, Sendable {
    /// The kinds that the type reads.
    static var kinds: [FormKind] { get }
    var kind: FormKind { get }

    /// Reads what follows suite and kind.
    init(kind: FormKind, parts reader: inout FormReader) throws(FormFault)
    func writeParts(to writer: inout FormWriter)
}

extension Form {
    /// Reads a form. No signature, code or key is checked.
    package init(_ bytes: [UInt8]) throws(FormFault) {
        var reader = FormReader(bytes)
        let suite = try reader.integer(UInt8.self)
        guard suite == Suite.current else { throw .unknownSuite(suite) }
        let number = try reader.integer(UInt8.self)
        guard let kind = FormKind(rawValue: number), Self.kinds.contains(kind) else { throw .otherKind(number) }
        try self.init(kind: kind, parts: &reader)
        try reader.end()
    }

    package var bytes: [UInt8] {
        var writer = headed
        writeParts(to: &writer)
        return writer.written
    }

    /// The hash of the whole form, by which others name it.
    package var hash: Digest { Digest(of: bytes) }

    /// A writer that has suite and kind.
    var headed: FormWriter {
        var writer = FormWriter(capacity: 256)
        writer.integer(Suite.current)
        writer.integer(kind.rawValue)
        return writer
    }
}

/// A form that ends with the signature of all before it.
package protocol SignedForm: Form {
    var signature: Signature { get }
    /// Writes the parts that are between the kind and the signature.
    func writeSignedParts(to writer: inout FormWriter)
}

extension SignedForm {
    package func writeParts(to writer: inout FormWriter) {
        writeSignedParts(to: &writer)
        writer.fixed(signature)
    }

    /// The bytes that are signed.
    package var signedBytes: [UInt8] {
        var writer = headed
        writeSignedParts(to: &writer)
        return writer.written
    }

    /// Whether the holder of a key has signed the form. About 80 µs.
    package func isSigned(by key: Ed25519.PublicKey) -> Bool {
        key.isValid(signature.bytes, for: signedBytes)
    }
}
