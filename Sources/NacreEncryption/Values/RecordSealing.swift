package import NacreCrypto
package import NacreEncryptionForms

/// A record as its sealed values are bound to it.
package struct RecordPlace: Hashable, Sendable {
    package let place: Place
    package let type: String
    package let name: String
    /// The bytes of the three, for contexts.
    private let parts: [[UInt8]]

    /// Returns nil if a name is empty or longer than 255 bytes.
    package init?(place: Place, type: String, name: String) {
        guard !place.zone.isEmpty, [type, name].allSatisfy({ !$0.isEmpty && $0.utf8.count <= FormReader.textBytesMax }) else { return nil }
        (self.place, self.type, self.name) = (place, type, name)
        parts = [place.bytes, Array(type.utf8), Array(name.utf8)]
    }

    func context(ofField field: String) -> Digest {
        Digest(label: "nacre value", parts + [Array(field.utf8)])
    }

    var contextOfManifest: Digest {
        Digest(label: "nacre manifest", parts)
    }
}

extension ScopeKey {
    /// Seals the values of one save of a record, with a new salt. About 3 µs, and 6 µs for each short value.
    /// - Parameter values: The values by the name of their field.
    package func seal(
        _ values: [String: EncryptedPlaintext], of record: RecordPlace, using random: inout some RandomBytes
    ) throws(CryptoError) -> [String: SealedValue] {
        let salt = try random.digest()
        let secret = Sealing.secret(from: self.secret, salt: salt)
        var sealed: [String: SealedValue] = [:]
        for (field, value) in values {
            guard !field.isEmpty, field.utf8.count <= FormReader.textBytesMax else { throw CryptoError(.invalidLength) }
            let padded = value.padded
            sealed[field] = try Sealing.seal(as: .value, keyID: id, salt: salt, secret: secret, context: record.context(ofField: field)) {
                (cipher, nonce, associated) throws(CryptoError) in try cipher.seal(padded, nonce: nonce, associated: associated)
            }
        }
        return sealed
    }

    /// Opens the value of a field, in about 7 µs if it is short. Check the record's manifest first: it says which
    /// values belong together.
    package func open(_ sealed: SealedValue, of record: RecordPlace, field: String) throws(EncryptionError) -> EncryptedPlaintext {
        let padded = try Sealing.open(sealed, as: .value, keyID: id, key: secret, context: record.context(ofField: field)) {
            (cipher, nonce, associated) throws(CryptoError) in
            try cipher.open(sealed.ciphertext, nonce: nonce, associated: associated)
        }
        guard let value = EncryptedPlaintext(padded: padded) else { throw .cannotBeOpened }
        return value
    }
}

extension ScopeKey {
    /// Makes the manifest of a record.
    /// - Parameters:
    ///   - parts: Its parts, under this key and by this writer.
    ///   - isShared: Whether others than the owner have the key, so that the writer signs.
    package func manifest(
        _ parts: RecordManifest.Parts, of record: RecordPlace, by writer: DeviceKeys, isShared: Bool
    ) throws(CryptoError) -> RecordManifest {
        let code = try code(of: parts, of: record)
        let signature = isShared ? try writer.keys.sign(RecordManifest.signedBytes(parts: parts, code: code)) : nil
        return RecordManifest(parts: parts, code: code, signature: signature)
    }

    /// Checks that a record, or the part of it that was fetched, is what its manifest says. `ScopeManifest.check` says
    /// whether its writer may write.
    /// - Parameters:
    ///   - values: The sealed values that the client has got.
    ///   - files: The roots of the files that it has got.
    ///   - parent: The name of the record's parent; empty for none.
    ///   - asked: The fields that were asked for; nil for all. A listed field may be missing only if it is not among
    ///     them. What was got is checked, also where nobody asked for it.
    package func check(
        _ manifest: RecordManifest, of record: RecordPlace, values: [String: SealedValue], files: [String: [Digest]], parent: String,
        asked: Set<String>?
    ) throws(EncryptionError) {
        let parts = manifest.parts
        let isLeftOut = { (name: String) in asked.map { !$0.contains(name) } ?? false }
        guard parts.keyID == id, let code = try? code(of: parts, of: record), constantTimeEquals(code.bytes, manifest.code.bytes),
            parts.parent.utf8.elementsEqual(parent.utf8),
            parts.fields.count(where: { values[$0.name] != nil }) == values.count,
            parts.fields.allSatisfy({ field in values[field.name].map { $0.hash == field.hash } ?? isLeftOut(field.name) }),
            parts.files.count(where: { files[$0.name] != nil }) == files.count,
            parts.files.allSatisfy({ field in files[field.name].map { $0 == field.roots } ?? isLeftOut(field.name) })
        else { throw .cannotBeOpened }
    }

    private func code(of parts: RecordManifest.Parts, of record: RecordPlace) throws(CryptoError) -> Digest {
        let key = try HKDFSHA256.expand(extracted, info: record.contextOfManifest.bytes)
        return try Digest(code: HMACSHA256.code(for: parts.bytes, key: key))
    }
}
