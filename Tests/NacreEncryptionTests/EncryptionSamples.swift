import NacreCrypto
import NacreEncryptionForms
import Testing

/// Returns 32 bytes that are the same for a name in each run.
func sampleBytes(_ name: String) -> [UInt8] { SHA256.digest(Array(name.utf8)) }

/// Returns a hash that is the same for a name in each run.
func sampleDigest(_ name: String) -> Digest { Digest(of: Array(name.utf8)) }

/// The keys of a device or a recovery key, made of a name.
struct SampleKeys {
    let signing: Ed25519.PrivateKey
    let agreement: X25519.PrivateKey

    init(_ name: String) throws {
        signing = try Ed25519.PrivateKey(seed: SecretBytes(sampleBytes("\(name) signs")))
        agreement = try X25519.PrivateKey(SecretBytes(sampleBytes("\(name) agrees")))
    }

    var publicKeys: PublicKeys {
        get throws {
            PublicKeys(
                signing: try #require(KeyBytes(signing.publicKey.bytes)), agreement: try #require(KeyBytes(agreement.publicKey.bytes)))
        }
    }

    var id: DeviceID { get throws { try DeviceID(of: publicKeys) } }

    func sign(_ bytes: [UInt8]) throws -> Signature { try #require(Signature(try signing.sign(bytes))) }
}

/// An account with its log, as its devices keep it.
struct SampleAccount {
    let name: AccountName
    let first: SampleKeys
    let recovery: SampleKeys
    var statements: [KeyStatement]

    init(
        _ user: String, keys: String? = nil, container: String = "iCloud.com.example.notes", environment: String = "development",
        follows reset: Digest = .none
    ) throws {
        let name = try #require(AccountName(container: container, environment: environment, user: user))
        let keys = keys ?? user
        first = try SampleKeys("\(keys)'s first device")
        recovery = try SampleKeys("\(keys)'s recovery key")
        let beginning = KeyStatement.Beginning(
            account: name, device: try first.publicKeys, recovery: try recovery.publicKeys, accountKey: try Self.accountKey(1, of: keys),
            reset: reset)
        self.name = name
        statements = [
            try KeyStatement(
                number: 0, before: .none, action: .begin(beginning, recovery.sign(KeyStatement.consent(to: beginning))), signer: first.id,
                sign: first.sign)
        ]
    }

    static func accountKey(_ generation: Int, of user: String) throws -> KeyBytes {
        let key = try X25519.PrivateKey(SecretBytes(sampleBytes("\(user)'s account key \(generation)")))
        return try #require(KeyBytes(key.publicKey.bytes))
    }

    var log: KeyLog { get throws { try KeyLog(statements) } }
    var fingerprint: Digest { statements[0].hash }
    var head: ChainHead { ChainHead(number: UInt64(statements.count - 1), hash: statements[statements.count - 1].hash) }

    /// Returns the next statement by one of the account's keys.
    func statement(_ action: KeyStatement.Action, by keys: SampleKeys? = nil, isRecovery: Bool = false) throws -> KeyStatement {
        let keys = keys ?? (isRecovery ? recovery : first)
        return try KeyStatement(
            number: head.number + 1, before: head.hash, action: action, signer: isRecovery ? nil : try keys.id, sign: keys.sign)
    }

    /// Returns the action that adds a device which agrees to it.
    func adding(_ device: SampleKeys) throws -> KeyStatement.Action {
        let keys = try device.publicKeys
        return .addDevice(keys, try device.sign(KeyStatement.enrolment(of: keys, after: head.hash)))
    }

    /// Returns the action that ends the log, for an account with keys of this name to follow.
    static func reset(for keys: String = "new keys") throws -> KeyStatement.Action {
        .reset(next: try SampleKeys("\(keys)'s first device").publicKeys)
    }

    /// Returns the action that puts another recovery key, which agrees, in the place of the account's.
    /// - Parameter accountKey: that of the next generation.
    func renewing(_ recovery: SampleKeys, _ accountKey: KeyBytes) throws -> KeyStatement.Action {
        let keys = try recovery.publicKeys
        return .newRecovery(
            keys, nextAccountKey: accountKey, try recovery.sign(KeyStatement.consent(to: keys, nextAccountKey: accountKey, after: head.hash)))
    }

    func removing(_ device: SampleKeys, generation: Int) throws -> KeyStatement.Action {
        .removeDevice(try device.id, nextAccountKey: try Self.accountKey(generation, of: name.user))
    }

    mutating func say(_ action: KeyStatement.Action, by keys: SampleKeys? = nil, isRecovery: Bool = false) throws {
        statements.append(try statement(action, by: keys, isRecovery: isRecovery))
    }
}

/// A scope of Ada's with its manifests.
struct SampleScope {
    let owner: SampleAccount
    let id: ScopeID
    let place: Place
    var manifests: [ScopeManifest] = []

    init(owner: SampleAccount, zone: String = "Diary", root: String = "") throws {
        self.owner = owner
        id = try #require(ScopeID(Array(sampleBytes("\(zone)\(root)'s scope").prefix(16))))
        place = try #require(Place(owner: owner.name, zone: zone))
        let parts = ScopeManifest.Parts(
            place: place, scope: id, root: root, number: 0, stamp: 1_000, before: .none, version: 1, oldest: 1, keyProofs: [sampleDigest("key 1")],
            participants: [Self.participant(owner, .readWrite, .owner)], linkPermission: .none)
        manifests = [try signed(parts)]
    }

    static func participant(
        _ account: SampleAccount, _ permission: ScopeManifest.Permission = .readWrite, _ role: ScopeManifest.Role = .privateUser
    ) -> ScopeManifest.Participant {
        .init(user: account.name.user, fingerprint: account.fingerprint, head: account.head, permission: permission, role: role)
    }

    /// Signs parts as a device of an account, the owner's first unless another is given.
    func signed(_ parts: ScopeManifest.Parts, by account: SampleAccount? = nil, device: SampleKeys? = nil) throws -> ScopeManifest {
        let account = account ?? owner
        let device = device ?? account.first
        return try ScopeManifest(parts: parts, signer: account.fingerprint, device: device.id, sign: device.sign)
    }

    /// The parts of a next manifest that changes nothing but number, stamp and chain.
    var next: ScopeManifest.Parts {
        var parts = manifests[manifests.count - 1].parts
        parts.number += 1
        parts.stamp += 1
        parts.before = manifests[manifests.count - 1].hash
        return parts
    }

    func chain(with next: ScopeManifest? = nil, _ others: SampleAccount...) throws -> ScopeChain {
        var logs = [owner.fingerprint: try owner.log]
        for other in others { logs[other.fingerprint] = try other.log }
        return try ScopeChain(
            manifests + (next.map { [$0] } ?? []), of: place, root: manifests[0].parts.root, owner: owner.fingerprint, logs: logs)
    }
}

extension ScopeManifest.Parts {
    /// Adds a participant in the place of its name.
    func with(_ participant: ScopeManifest.Participant) -> Self {
        ScopeManifest.Parts(
            place: place, scope: scope, root: root, number: number, stamp: stamp, before: before, version: version, oldest: oldest,
            keyProofs: keyProofs, participants: participants + [participant], linkPermission: linkPermission)
    }

    /// Takes the next version of the key.
    func rotated() -> Self {
        var parts = self
        parts.version += 1
        parts.keyProofs.append(sampleDigest("key \(parts.version)"))
        return parts
    }
}
