package import NacreCrypto
package import NacreEncryptionForms

extension ScopeKey {
    /// Wraps the key for a participant.
    /// - Parameters:
    ///   - user: The name of the participant's user record.
    ///   - log: The verified log that the server shows for the participant.
    ///   - manifest: The newest of the scope's verified chain. It says who takes part, whatever the server's list says.
    /// - Throws: `ScopeFault`, and nothing is wrapped, if the log is not that of a participant.
    package func wrap(
        for user: String, log: KeyLog, manifest: ScopeManifest, by sender: DeviceKeys, using random: inout some RandomBytes
    ) throws -> KeyWrap {
        guard counts(in: manifest) else {
            throw ScopeFault.oldKey(version: id.version, oldest: manifest.parts.oldest, newest: manifest.parts.version)
        }
        let recipient = try manifest.recipient(named: user, log: log)
        return try Wrapping.wrap(
            secret, as: .scopeKey(id), for: recipient.accountKey, of: recipient.fingerprint, generation: recipient.generation,
            place: manifest.parts.place, by: sender, using: &random)
    }
}

extension AccountKey {
    /// Opens a scope key that was wrapped for this account.
    /// - Parameters:
    ///   - manifest: The newest of the scope's verified chain.
    ///   - senders: The verified log of the account that the sender belongs to.
    ///   - recipients: The verified log of this account.
    /// - Throws: `KeyWrapFault` for a wrap that no enrolled device signed; `EncryptionError` for one that does not
    ///   open, and for a key that does not count in the manifest.
    package func open(_ wrap: KeyWrap, manifest: ScopeManifest, senders: KeyLog, recipients: KeyLog) throws -> ScopeKey {
        if let fault = wrap.fault(senders: senders, recipients: recipients) { throw fault }
        guard case .scopeKey(let id) = wrap.subject, wrap.generation == generation else { throw EncryptionError.cannotBeOpened }
        let secret = try Wrapping.open(wrap, with: key, place: manifest.parts.place)
        return try ScopeKey(opened: secret, id: id, manifest: manifest)
    }
}

extension ScopeKey {
    /// Takes a key that was opened, if it counts in the manifest.
    init(opened secret: SecretBytes, id: KeyID, manifest: ScopeManifest) throws(EncryptionError) {
        guard let key = try? ScopeKey(id, secret: secret), key.counts(in: manifest) else { throw .cannotBeOpened }
        self = key
    }

    /// Seals the version before this one under it, so that a wrap of the newest opens all older data.
    package func seal(older: ScopeKey, place: Place, using random: inout some RandomBytes) throws(CryptoError) -> SealedValue {
        guard older.id.scope == id.scope, older.id.version + 1 == id.version else { throw CryptoError(.malformedKey) }
        return try Sealing.seal(key: older.secret, under: secret, as: .olderKey, keyID: id, context: Self.contextOfOlder(place), using: &random)
    }

    /// Opens the version before this one.
    package func open(older sealed: SealedValue, manifest: ScopeManifest) throws(EncryptionError) -> ScopeKey {
        guard let older = KeyID(scope: id.scope, version: id.version - 1), let context = try? Self.contextOfOlder(manifest.parts.place) else {
            throw .cannotBeOpened
        }
        let secret = try Sealing.openKey(sealed, under: secret, as: .olderKey, keyID: id, context: context)
        return try ScopeKey(opened: secret, id: older, manifest: manifest)
    }

    private static func contextOfOlder(_ place: Place) throws(CryptoError) -> Digest { try Digest(label: "nacre older key", [place.bytes]) }
}

extension DeviceKeys {
    /// Signs a manifest of a scope.
    /// - Parameter log: The verified log of this device's account.
    /// - Throws: `ScopeFault` if the device is not enrolled; `FormFault` for parts that are no manifest.
    package func sign(_ parts: ScopeManifest.Parts, log: KeyLog) throws -> ScopeManifest {
        guard log.device(id) != nil else { throw ScopeFault.unknownSigner(device: id, number: parts.number) }
        return try ScopeManifest(parts: parts, signer: log.fingerprint, device: id) { try keys.sign($0) }
    }
}
