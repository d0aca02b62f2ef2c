package import NacreCrypto
package import NacreEncryptionForms

extension RecordPlace {
    fileprivate func context(ofField field: String) throws(CryptoError) -> Digest { try context("nacre value", Array(field.utf8)) }
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
        guard let context = try? record.context(ofField: field) else { throw .cannotBeOpened }
        let padded = try Sealing.open(sealed, as: .value, keyID: id, key: secret, context: context) {
            (cipher, nonce, associated) throws(CryptoError) in
            try cipher.open(sealed.ciphertext, nonce: nonce, associated: associated)
        }
        guard let value = EncryptedPlaintext(padded: padded) else { throw .cannotBeOpened }
        return value
    }
}

extension ScopeKey {
    /// Makes the manifest of a record. Its writer signs it in each scope, which takes about 25 µs: a key is handed on
    /// to participants who come later, and they must not be able to write what looks older than they are.
    /// - Parameter parts: Its parts, under this key and by this writer.
    package func manifest(_ parts: RecordManifest.Parts, of record: RecordPlace, by writer: DeviceKeys) throws(CryptoError) -> RecordManifest {
        try RecordManifest(parts: parts, code: code(of: parts, of: record)) { (bytes) throws(CryptoError) in try writer.keys.sign(bytes) }
    }

    /// Checks that a record, or the part of it that was fetched, is what its manifest says. `ScopeChain.check` says
    /// whether its writer might write, and whether it is older than a version that was seen.
    /// - Parameters:
    ///   - values: The sealed values that the client has got.
    ///   - files: The roots of the files that it has got.
    ///   - parent: What `ScopeManifest.Parts.boundParent` returns for the record's parent.
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
        let key = try HKDFSHA256.expand(extracted, info: record.context("nacre manifest").bytes)
        return try Digest(code: HMACSHA256.code(for: parts.bytes, key: key))
    }
}

extension DeviceKeys {
    /// Returns the admission that the next manifest of a record has: a new one if this is a device of the owner, and
    /// the record moves or moved before; otherwise that of the manifest which was read.
    /// - Parameters:
    ///   - scope: The scope that the record is sealed for.
    ///   - number: The number of the scope's newest manifest.
    ///   - stamp: The stamp that the next manifest of the record has.
    ///   - read: The record's manifest that the writer has read; nil for a new record.
    ///   - isOwner: Whether this is a device of the zone's owner.
    /// - Throws: `ScopeFault` if the record would move, and this is no device of the owner.
    package func admission(
        of record: RecordPlace, to scope: ScopeID, number: UInt64, stamp: UInt64, after read: RecordManifest?, isOwner: Bool
    ) throws -> RecordManifest.Admission? {
        guard let read = read?.parts else { return nil }
        let moves = read.keyID.scope != scope
        guard isOwner, moves || read.admission != nil else {
            if moves { throw ScopeFault.mayNotMove(device: id) }
            return read.admission
        }
        let signed = try RecordManifest.Admission.signedBytes(of: record, to: scope, number: number, stamp: stamp)
        return RecordManifest.Admission(number: number, stamp: stamp, device: id, signature: try keys.sign(signed))
    }
}
