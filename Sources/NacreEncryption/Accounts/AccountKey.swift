package import NacreCrypto
package import NacreEncryptionForms

/// A generation of an account's key, to which others wrap the keys of scopes.
package struct AccountKey: Secret {
    /// The number of the key in the account's log, from 1.
    package let generation: UInt32
    let key: X25519.PrivateKey
    package let publicKey: KeyBytes

    /// Makes a new key.
    package init(generation: UInt32, using random: inout some RandomBytes) throws(CryptoError) {
        try self.init(generation: generation, secret: random.secret(X25519.keyLength))
    }

    package init(generation: UInt32, secret: SecretBytes) throws(CryptoError) {
        self.generation = generation
        key = try X25519.PrivateKey(secret)
        guard let publicKey = KeyBytes(key.publicKey.bytes) else { throw CryptoError(.libraryFailure) }
        self.publicKey = publicKey
    }

    /// Whether the key is the one that the account's log has for its generation.
    package func isKey(of log: KeyLog) -> Bool {
        generation > 0 && generation <= log.generation && log.accountKeys[Int(generation) - 1] == publicKey
    }
}

extension AccountKey {
    /// Wraps the key for every enrolled device, and for the recovery key.
    /// - Parameters:
    ///   - log: The log of the account, in which this is the newest key.
    ///   - sender: An enrolled device, which signs.
    package func wraps(for log: KeyLog, by sender: DeviceKeys, using random: inout some RandomBytes) throws(CryptoError) -> [KeyWrap] {
        var wraps: [KeyWrap] = []
        for (id, device) in log.enrolled.sorted(by: { $0.key.bytes.lexicographicallyPrecedes($1.key.bytes) }) {
            wraps.append(try wrap(for: id, key: device.keys.agreement, log: log, by: sender, using: &random))
        }
        wraps.append(try wrap(for: nil, key: log.recovery.agreement, log: log, by: sender, using: &random))
        return wraps
    }

    private func wrap(
        for device: DeviceID?, key: KeyBytes, log: KeyLog, by sender: DeviceKeys, using random: inout some RandomBytes
    ) throws(CryptoError) -> KeyWrap {
        try Wrapping.wrap(
            self.key.bytes, as: .accountKey(device), for: key, of: log.fingerprint, generation: generation, place: Place(log.account), by: sender,
            using: &random)
    }
}

extension DeviceKeys {
    /// Opens the account key that was wrapped for this device.
    /// - Parameter log: The verified log of the account.
    /// - Throws: `KeyWrapFault` for a wrap that no enrolled device signed; `EncryptionError` for one that does not
    ///   open, or has another key than the log.
    package func open(_ wrap: KeyWrap, log: KeyLog) throws -> AccountKey {
        try keys.open(wrap, subject: .accountKey(id), log: log)
    }
}

extension RecoveryKey {
    /// Opens the account key that was wrapped for the recovery key. Throws as `DeviceKeys.open` does.
    package func open(_ wrap: KeyWrap, log: KeyLog) throws -> AccountKey {
        try keys.open(wrap, subject: .accountKey(nil), log: log)
    }
}

extension SecretKeys {
    fileprivate func open(_ wrap: KeyWrap, subject: KeyWrap.Subject, log: KeyLog) throws -> AccountKey {
        if let fault = wrap.fault(senders: log, recipients: log) { throw fault }
        guard wrap.subject == subject else { throw EncryptionError.cannotBeOpened }
        let secret = try Wrapping.open(wrap, with: agreement, place: Place(log.account))
        guard let key = try? AccountKey(generation: wrap.generation, secret: secret), key.isKey(of: log) else {
            throw EncryptionError.cannotBeOpened
        }
        return key
    }
}

extension AccountKey {
    /// Seals the generation before this one under it, so that a wrap of the newest opens all older data.
    package func seal(older: AccountKey, of log: KeyLog, using random: inout some RandomBytes) throws(CryptoError) -> SealedValue {
        guard older.generation + 1 == generation, let id = keyID(in: log) else { throw CryptoError(.malformedKey) }
        return try Sealing.seal(
            key: older.key.bytes, under: key.bytes, as: .olderKey, keyID: id, context: Self.context(of: log), using: &random)
    }

    /// Opens the generation before this one.
    package func open(older sealed: SealedValue, of log: KeyLog) throws(EncryptionError) -> AccountKey {
        guard generation > 1, let id = keyID(in: log), let context = try? Self.context(of: log) else { throw .cannotBeOpened }
        let secret = try Sealing.openKey(sealed, under: key.bytes, as: .olderKey, keyID: id, context: context)
        guard let older = try? AccountKey(generation: generation - 1, secret: secret), older.isKey(of: log) else { throw .cannotBeOpened }
        return older
    }

    private static func context(of log: KeyLog) throws(CryptoError) -> Digest {
        try Digest(label: "nacre older account key", [Place(log.account).bytes])
    }

    private func keyID(in log: KeyLog) -> KeyID? {
        ScopeID(Array(log.fingerprint.bytes.prefix(ScopeID.length))).flatMap { KeyID(scope: $0, version: generation) }
    }
}
