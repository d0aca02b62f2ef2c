package import NacreCrypto
package import NacreEncryptionForms

/// The secret behind the `#` of a link. No server sees it.
package struct LinkSecret: Secret {
    /// The length of the secret, in bytes.
    package static let length: Int = 32
    fileprivate let secret: SecretBytes

    package init(using random: inout some RandomBytes) throws(CryptoError) {
        secret = try random.secret(Self.length)
    }

    /// Reads the 64 hexadecimal digits of a link. Returns nil for other text.
    package init?(fragment: String) {
        guard let bytes = try? Hex.decode(fragment), bytes.count == Self.length else { return nil }
        secret = SecretBytes(bytes)
    }

    fileprivate init(opened secret: SecretBytes) { self.secret = secret }

    /// The text for the link. Nothing wipes it.
    package var fragment: String { Hex.encode(secret.exposed) }

    /// Seals the newest key of a scope for who has the link.
    package func seal(_ key: ScopeKey, place: Place, using random: inout some RandomBytes) throws(CryptoError) -> SealedValue {
        try Sealing.seal(key: key.secret, under: secret, as: .link, keyID: key.id, context: Self.context(place), using: &random)
    }

    /// Opens the key of a scope.
    /// - Parameter manifest: The newest of the scope's verified chain, in which the key must count.
    package func open(_ sealed: SealedValue, manifest: ScopeManifest) throws(EncryptionError) -> ScopeKey {
        guard let context = try? Self.context(manifest.parts.place) else { throw .cannotBeOpened }
        let secret = try Sealing.openKey(sealed, under: secret, as: .link, keyID: sealed.keyID, context: context)
        return try ScopeKey(opened: secret, id: sealed.keyID, manifest: manifest)
    }

    private static func context(_ place: Place) throws(CryptoError) -> Digest { try Digest(label: "nacre link", [place.bytes]) }

    // MARK: Joining

    /// Makes the word of a user who came by the link.
    package func joining(_ parts: Joining.Parts) throws(CryptoError) -> Joining {
        Joining(parts: parts, code: try code(of: parts))
    }

    /// Whether somebody with the link's secret has made a word.
    package func hasMade(_ joining: Joining) -> Bool {
        (try? code(of: joining.parts)).map { constantTimeEquals($0.bytes, joining.code.bytes) } ?? false
    }

    private func code(of parts: Joining.Parts) throws(CryptoError) -> Digest {
        let info = try Digest(label: "nacre joining", [parts.place.bytes]).bytes
        let key = try HKDFSHA256.expand(HKDFSHA256.extract(secret, salt: []), info: info)
        return try Digest(code: HMACSHA256.code(for: parts.bytes, key: key))
    }
}

extension ScopeKey {
    /// Seals the secret of a link, for all who have the scope's key.
    /// - Parameter name: The ID of the participant whose one-time link it is; empty for the share's own link.
    package func seal(
        _ link: LinkSecret, named name: String, place: Place, using random: inout some RandomBytes
    ) throws(CryptoError) -> SealedValue {
        try Sealing.seal(key: link.secret, under: secret, as: .linkSecret, keyID: id, context: Self.contextOfLink(name, place), using: &random)
    }

    /// Opens the secret of a link.
    package func open(_ sealed: SealedValue, ofLink name: String, place: Place) throws(EncryptionError) -> LinkSecret {
        guard let context = try? Self.contextOfLink(name, place) else { throw .cannotBeOpened }
        return LinkSecret(opened: try Sealing.openKey(sealed, under: secret, as: .linkSecret, keyID: id, context: context))
    }

    private static func contextOfLink(_ name: String, _ place: Place) throws(CryptoError) -> Digest {
        try Digest(label: "nacre link secret", [place.bytes, Array(name.utf8)])
    }

    /// Wraps a key that a link has opened for the account of this device's user, so that the user's other devices open
    /// it too. The recipient is in no manifest yet.
    /// - Parameter log: The verified log of the user's own account.
    package func wrap(
        forOwn log: KeyLog, place: Place, by sender: DeviceKeys, using random: inout some RandomBytes
    ) throws(CryptoError) -> KeyWrap {
        try Wrapping.wrap(
            secret, as: .scopeKey(id), for: log.accountKey, of: log.fingerprint, generation: log.generation, place: place, by: sender,
            using: &random)
    }
}
