package import NacreCloudWire
package import NacreCrypto
package import NacreEncryptionForms

/// The keys of a device or a recovery key, made of a name.
package struct KeyringDevice: Sendable {
    package let signing: Ed25519.PrivateKey
    package let publicKeys: PublicKeys
    package let id: DeviceID

    package init(_ name: String) throws {
        signing = try Ed25519.PrivateKey(seed: SecretBytes(SHA256.digest(Array("\(name) signs".utf8))))
        guard let key = KeyBytes(signing.publicKey.bytes), let agreement = KeyBytes(SHA256.digest(Array("\(name) agrees".utf8))) else {
            throw FormFault.invalid("sample")
        }
        publicKeys = PublicKeys(signing: key, agreement: agreement)
        id = try DeviceID(of: publicKeys)
    }

    package func sign(_ bytes: [UInt8]) throws -> Signature {
        guard let signature = Signature(try signing.sign(bytes)) else { throw FormFault.invalid("sample") }
        return signature
    }
}

/// An account with its log of keys, as its devices keep it. Its signatures are real. What is sealed is not: a server
/// cannot open it.
package struct SampleKeyring: Sendable {
    package let account: AccountName
    package let first: KeyringDevice
    package let recovery: KeyringDevice
    package private(set) var log: KeyLog
    package private(set) var newest: KeyStatement

    /// Begins a log.
    /// - Parameter reset: the hash of the reset that it follows.
    package init(_ user: String, container: String, follows reset: Digest = .none, named name: String? = nil) throws {
        guard let account = AccountName(container: container, environment: "development", user: user) else { throw FormFault.invalid("sample") }
        self.account = account
        let name = name ?? user
        (first, recovery) = (try KeyringDevice("\(name)'s first device"), try KeyringDevice("\(name)'s recovery key"))
        let beginning = KeyStatement.Beginning(
            account: account, device: first.publicKeys, recovery: recovery.publicKeys, accountKey: try Self.accountKey("\(name) 1"), reset: reset)
        let consent = try recovery.sign(KeyStatement.consent(to: beginning))
        newest = try KeyStatement(number: 0, before: .none, action: .begin(beginning, consent), signer: first.id, sign: first.sign)
        log = try KeyLog(first: newest)
    }

    package static func accountKey(_ name: String) throws -> KeyBytes {
        guard let key = KeyBytes(SHA256.digest(Array("account key \(name)".utf8))) else { throw FormFault.invalid("sample") }
        return key
    }

    /// Returns the next statement by a device, the first one unless another is given, or by the recovery key.
    package func statement(_ action: KeyStatement.Action, by device: KeyringDevice? = nil, isRecovery: Bool = false) throws -> KeyStatement {
        let device = device ?? (isRecovery ? recovery : first)
        return try KeyStatement(
            number: log.head.number + 1, before: log.head.hash, action: action, signer: isRecovery ? nil : device.id, sign: device.sign)
    }

    package func adding(_ device: KeyringDevice) throws -> KeyStatement.Action {
        .addDevice(device.publicKeys, try device.sign(KeyStatement.enrolment(of: device.publicKeys, after: log.head.hash)))
    }

    /// Returns the action that puts another recovery key, which agrees, in the place of the account's.
    package func renewing(_ recovery: KeyringDevice) throws -> KeyStatement.Action {
        let (keys, next) = (recovery.publicKeys, try Self.accountKey("\(account.user) \(log.generation + 1)"))
        return .newRecovery(
            keys, nextAccountKey: next, try recovery.sign(KeyStatement.consent(to: keys, nextAccountKey: next, after: log.head.hash)))
    }

    package func removing(_ device: KeyringDevice) throws -> KeyStatement.Action {
        .removeDevice(device.id, nextAccountKey: try Self.accountKey("\(account.user) \(log.generation + 1)"))
    }

    /// Returns the action that ends the log, for one with keys of this name to follow.
    package static func reset(for name: String = "new") throws -> KeyStatement.Action {
        .reset(next: try KeyringDevice("\(name)'s first device").publicKeys)
    }

    /// Takes the next statement.
    package mutating func say(_ action: KeyStatement.Action, by device: KeyringDevice? = nil, isRecovery: Bool = false) throws {
        newest = try statement(action, by: device, isRecovery: isRecovery)
        try log.append(newest)
    }

    /// Returns the account key, sealed for a device, or for the recovery key if it is nil.
    package func wrap(for device: DeviceID?, generation: UInt32? = nil, by sender: KeyringDevice? = nil) throws -> KeyWrap {
        let sender = sender ?? first
        let wrap = try KeyWrap(
            subject: .accountKey(device), recipient: log.fingerprint, generation: generation ?? log.generation, sender: sender.id,
            sealed: [UInt8](repeating: 7, count: KeyWrap.sealedLength), sign: sender.sign)
        guard let wrap else { throw FormFault.invalid("sample") }
        return wrap
    }

    /// Returns the older account key, sealed under a generation.
    package func olderKey(under generation: UInt32? = nil) throws -> NacreEncryptionForms.SealedValue {
        guard let scope = ScopeID(Array(log.fingerprint.bytes.prefix(ScopeID.length))),
            let id = KeyID(scope: scope, version: generation ?? log.generation),
            let sealed = NacreEncryptionForms.SealedValue(
                kind: .olderKey, keyID: id, salt: log.fingerprint, commitment: log.fingerprint,
                ciphertext: [UInt8](repeating: 7, count: 32 + AESGCM.tagLength))
        else { throw FormFault.invalid("sample") }
        return sealed
    }

    /// Returns the request that has the newest statement kept, with the keys that it needs, sealed by the first device.
    package func request() throws -> KeysAppendRequest {
        let everybody = log.enrolled.keys.map(Optional.some) + [nil]
        let needed: [DeviceID?]
        var older: NacreEncryptionForms.SealedValue?
        switch newest.action {
        case .begin: needed = everybody
        case .addDevice(let keys, _): needed = [try DeviceID(of: keys)]
        case .removeDevice, .newRecovery: (needed, older) = (everybody, try olderKey())
        case .reset: needed = []
        }
        return KeysAppendRequest(
            statement: newest.bytes, wraps: try needed.map { try wrap(for: $0).bytes }, olderKey: older?.bytes)
    }
}

/// A zone's scope with its newest manifest, as its owner's devices keep it.
package struct SampleScope: Sendable {
    package var keys: SampleKeyring
    package private(set) var newest: ScopeManifest

    package init(_ keys: SampleKeyring, zone: String) throws {
        guard let id = ScopeID(Array(Digest(of: Array(zone.utf8)).bytes.prefix(ScopeID.length))),
            let place = Place(owner: keys.account, zone: zone)
        else { throw FormFault.invalid("sample") }
        self.keys = keys
        newest = try Self.signed(
            ScopeManifest.Parts(
                place: place, scope: id, root: "", number: 0, stamp: 1_000, before: .none, version: 1, oldest: 1, keyProofs: [Self.proof(1)],
                participants: [Self.owner(keys)], linkPermission: .none), by: keys.first, keys)
    }

    private static func proof(_ version: UInt32) -> Digest { Digest(of: Array("key \(version)".utf8)) }

    private static func owner(_ keys: SampleKeyring) -> ScopeManifest.Participant {
        .init(
            user: keys.account.user, fingerprint: keys.log.fingerprint, head: keys.log.head, permission: .readWrite, role: .owner)
    }

    package static func participant(_ keys: SampleKeyring, _ permission: ScopeManifest.Permission) -> ScopeManifest.Participant {
        .init(user: keys.account.user, fingerprint: keys.log.fingerprint, head: keys.log.head, permission: permission, role: .privateUser)
    }

    private static func signed(_ parts: ScopeManifest.Parts, by device: KeyringDevice, _ keys: SampleKeyring) throws -> ScopeManifest {
        try ScopeManifest(parts: parts, signer: keys.log.fingerprint, device: device.id, sign: device.sign)
    }

    /// Returns the next manifest, with the owner's newest statement.
    package func next(by device: KeyringDevice? = nil, _ change: (inout ScopeManifest.Parts) -> Void = { _ in }) throws -> ScopeManifest {
        let last = newest.parts
        var parts = ScopeManifest.Parts(
            place: last.place, scope: last.scope, root: "", number: last.number + 1, stamp: last.stamp + 1, before: newest.hash,
            version: last.version, oldest: last.oldest, keyProofs: last.keyProofs, participants: [Self.owner(keys)], linkPermission: .none)
        change(&parts)
        return try Self.signed(parts, by: device ?? keys.first, keys)
    }

    /// Takes the next manifest.
    /// - Parameters:
    ///   - isRotated: whether it has a new version of the key.
    ///   - others: the participants beside the owner, in the order of their names after the owner's.
    package mutating func goOn(isRotated: Bool, with others: [ScopeManifest.Participant] = []) throws {
        newest = try next { parts in
            parts.participants += others
            guard isRotated else { return }
            parts.version += 1
            parts.keyProofs.append(Self.proof(parts.version))
        }
    }

    /// - Parameter other: the recipient; nil: the owner.
    package func wrap(for other: SampleKeyring? = nil, generation: UInt32? = nil, by sender: KeyringDevice? = nil) throws -> KeyWrap {
        let (sender, log) = (sender ?? keys.first, (other ?? keys).log)
        guard let id = newest.parts.keyID,
            let wrap = try KeyWrap(
                subject: .scopeKey(id), recipient: log.fingerprint, generation: generation ?? log.generation, sender: sender.id,
                sealed: [UInt8](repeating: 7, count: KeyWrap.sealedLength), sign: sender.sign)
        else { throw FormFault.invalid("sample") }
        return wrap
    }

    /// Returns the request that has the newest manifest kept, with the keys of a new version.
    package func request(isNewKey: Bool) throws -> KeysScopesModifyRequest {
        let older = newest.parts.keyID.flatMap { id in
            NacreEncryptionForms.SealedValue(
                kind: .olderKey, keyID: id, salt: keys.log.fingerprint, commitment: keys.log.fingerprint,
                ciphertext: [UInt8](repeating: 7, count: 32 + AESGCM.tagLength))
        }
        return KeysScopesModifyRequest(
            zoneID: ZoneID(zoneName: newest.parts.place.zone), manifest: newest.bytes, wraps: isNewKey ? [try wrap().bytes] : [],
            olderKey: isNewKey && newest.parts.version > 1 ? older?.bytes : nil)
    }
}
