import NacreCrypto
import NacreEncryption
import NacreEncryptionForms
import Testing

/// The test vectors of docs/encryption.md: one conversation of Ada's devices, of fixed secrets. Bytes are hexadecimal.
///
/// `Scripts/encryption/vectors.json` has what this code wrote once. Forms do not change, so that file does not either.
struct Vectors {
    /// sections[section][name]
    private(set) var sections: [String: [String: String]] = [:]

    private let account = AccountName(container: "iCloud.com.example.notes", environment: "development", user: "_ada")

    init() throws {
        let account = try #require(account)
        sections["place"] = ["container": account.container, "environment": account.environment, "user": account.user, "zone": "Diary"]
        let (device, phone) = (try device("device"), try device("phone"))
        let log = try statements(account, device: device, phone: phone)
        let (keys, manifest) = try scope(account, device: device, log: log)
        try values(keys[1], manifest: manifest, device: device)
        try handover(keys, manifest: manifest, device: device, log: log)
        try enrolment(device: device, phone: phone, log: log)
    }

    private mutating func note(_ section: String, _ name: String, _ bytes: [UInt8]) {
        sections[section, default: [:]][name] = Hex.encode(bytes)
    }

    /// Returns a secret that the file has too.
    private mutating func secret(_ name: String) -> SecretBytes {
        note("secrets", name, sampleBytes(name))
        return SecretBytes(sampleBytes(name))
    }

    private mutating func device(_ name: String) throws -> DeviceKeys {
        try DeviceKeys(signing: secret("\(name) signs"), agreement: secret("\(name) agrees"))
    }

    private mutating func random(_ name: String) -> FixedBytesOnce {
        FixedBytesOnce(secret(name).exposed)
    }

    private mutating func accountKey(_ generation: UInt32) throws -> AccountKey {
        try AccountKey(generation: generation, secret: secret("account key \(generation)"))
    }

    /// Notes a statement of each kind. Returns the log before the last, which is the reset.
    private mutating func statements(_ account: AccountName, device: DeviceKeys, phone: DeviceKeys) throws -> KeyLog {
        let tablet = try self.device("tablet")
        let first = try RecoveryKey(secret("recovery key 1"), of: account)
        let second = try RecoveryKey(secret("recovery key 2"), of: account)
        var randoms = (1...3).map { random("account key \($0)") }
        var (begin, log, _) = try device.begin(account, recovery: first, using: &randoms[0])
        note("statements", "0 begin", begin.bytes)
        let add = try log.add(phone.publicKeys, agreement: phone.agreement(toJoin: log.head), by: .device(device))
        note("statements", "1 add device", add.bytes)
        let (replace, _) = try log.replaceRecovery(with: second, by: .device(phone), using: &randoms[1])
        note("statements", "2 new recovery", replace.bytes)
        let (remove, _) = try log.remove(phone.id, by: .recovery(second), using: &randoms[2])
        note("statements", "3 remove device", remove.bytes)
        var ended = log
        note("statements", "4 reset", try ended.reset(by: .device(device), next: tablet.publicKeys).bytes)
        note("account", "fingerprint", log.fingerprint.bytes)
        let tree = MerkleTree([
            TreeOfLogs.entry(fingerprint: log.fingerprint, number: 0, hash: begin.hash),
            TreeOfLogs.entry(fingerprint: log.fingerprint, number: 1, hash: add.hash),
        ])
        let server = try Ed25519.PrivateKey(seed: secret("server signs"))
        let head = try TreeHead(container: account.container, environment: account.environment, head: tree.head, stamp: 1_700_000_000_000) {
            try #require(Signature(try server.sign($0)))
        }
        note("account", "tree head", try #require(head).bytes)
        return log
    }

    private mutating func scope(_ account: AccountName, device: DeviceKeys, log: KeyLog) throws -> ([ScopeKey], ScopeManifest) {
        let id = try #require(ScopeID(Array(secret("scope").exposed.prefix(16))))
        let keys = try [UInt32(1), 2].map { version in
            try ScopeKey(#require(KeyID(scope: id, version: version)), secret: secret("scope key \(version)"))
        }
        let owner = ScopeManifest.Participant(
            user: account.user, fingerprint: log.fingerprint, head: log.head, permission: .readWrite, role: .owner)
        let grace = ScopeManifest.Participant(
            user: "_grace", fingerprint: sampleDigest("grace"), head: ChainHead(number: 7, hash: sampleDigest("grace's head")), permission: .readOnly,
            role: .privateUser)
        let parts = ScopeManifest.Parts(
            place: try #require(Place(owner: account, zone: "Diary")), scope: id, root: "", number: 0, stamp: 1_700_000_000_000, before: .none,
            version: 1, oldest: 1, keyProofs: [keys[0].proof], participants: [owner], linkPermission: .none)
        let first = try device.sign(parts, log: log)
        let second = try device.sign(
            ScopeManifest.Parts(
                place: parts.place, scope: id, root: "", number: 1, stamp: 1_700_000_000_001, before: first.hash, version: 2, oldest: 1,
                keyProofs: keys.map(\.proof), participants: [owner, grace], linkPermission: .readOnly), log: log)
        note("scope", "manifest 0", first.bytes)
        note("scope", "manifest 1", second.bytes)
        let share = try #require(try ScopeID(ofShare: "share", root: "list", at: parts.place, random: Array(id.bytes.prefix(8))))
        note("scope", "ID of a share's", share.bytes)
        return (keys, second)
    }

    private mutating func values(_ key: ScopeKey, manifest: ScopeManifest, device: DeviceKeys) throws {
        let record = try #require(RecordPlace(place: manifest.parts.place, type: "Note", name: "note"))
        var salt = random("salt")
        let plain = Dictionary(uniqueKeysWithValues: samplePlaintexts.enumerated().map { ("field\($0)", $1) })
        let sealed = try key.seal(plain, of: record, using: &salt)
        for (field, value) in sealed {
            note("plaintexts", field, plain[field]?.padded ?? [])
            note("values", field, value.bytes)
        }
        let files = try ChunkSealing(key, place: record.place)
        let chunk = try files.seal(Array("a short file".utf8), isLast: true)
        note("files", "chunk", chunk.bytes)
        note("files", "root", FileChunks.root(of: [chunk.hash]).bytes)
        let stamp: UInt64 = 1_700_000_000_002
        // The admission of a record that was in another scope, by a device of the owner.
        let elsewhere = try key.manifest(
            parts(of: #require(otherScope), sealed: [:], root: nil, stamp: stamp - 1, by: device), of: record, by: device)
        let admission = try device.admission(of: record, to: key.id.scope, number: 1, stamp: stamp, after: elsewhere, isOwner: true)
        let root = FileChunks.root(of: [chunk.hash])
        for (name, admission) in [("manifest", nil), ("manifest of a moved record", admission)] {
            let parts = try parts(of: key.id, sealed: sealed, root: root, stamp: stamp, by: device, admission)
            note("records", name, try key.manifest(parts, of: record, by: device).bytes)
        }
    }

    private let otherScope = ScopeID([UInt8](repeating: 1, count: ScopeID.length)).flatMap { KeyID(scope: $0, version: 1) }

    private func parts(
        of key: KeyID, sealed: [String: SealedValue], root: Digest?, stamp: UInt64, by device: DeviceKeys,
        _ admission: RecordManifest.Admission? = nil
    ) throws -> RecordManifest.Parts {
        try #require(
            RecordManifest.Parts(
                keyID: key, number: 1, stamp: stamp, writer: device.id, parent: "chapter",
                fields: sealed.map { .init(name: $0.key, hash: $0.value.hash) }, files: root.map { [.init(name: "scan", roots: [$0])] } ?? [],
                admission: admission))
    }

    private mutating func handover(_ keys: [ScopeKey], manifest: ScopeManifest, device: DeviceKeys, log: KeyLog) throws {
        let third = try accountKey(3)
        var ephemeral = random("ephemeral 1")
        note("wraps", "scope key", try keys[1].wrap(for: "_ada", log: log, manifest: manifest, by: device, using: &ephemeral).bytes)
        var others = SeededBytes("ephemeral")
        // The first two draws of the same source; the file has them as secrets.
        for draw in 1...2 {
            var source = SeededBytes("ephemeral")
            for _ in 1..<draw { _ = try source.bytes(32) }
            note("secrets", "ephemeral of account key \(draw)", try source.bytes(32))
        }
        for (index, wrap) in try third.wraps(for: log, by: device, using: &others).enumerated() {
            note("wraps", "account key for \(["device", "recovery"][index])", wrap.bytes)
        }
        var (older, olderAccount, link) = (random("salt of older key"), random("salt of older account key"), random("salt of link"))
        note("keys", "older key", try keys[1].seal(older: keys[0], place: manifest.parts.place, using: &older).bytes)
        note("keys", "older account key", try third.seal(older: accountKey(2), of: log, using: &olderAccount).bytes)
        let secret = try #require(LinkSecret(fragment: Hex.encode(secret("link").exposed)))
        let place = manifest.parts.place
        note("keys", "link", try secret.seal(keys[1], place: place, using: &link).bytes)
        var salt = random("salt of link's secret")
        note("links", "secret", try keys[1].seal(secret, named: "p", place: place, using: &salt).bytes)
        for (name, link) in [("joining", ""), ("joining by a one-time link", "p")] {
            let parts = Joining.Parts(place: place, keyID: keys[1].id, link: link, user: "_grace", fingerprint: sampleDigest("grace"))
            note("links", name, try secret.joining(#require(parts)).bytes)
        }
    }

    private mutating func enrolment(device: DeviceKeys, phone: DeviceKeys, log: KeyLog) throws {
        var (first, second) = (random("phone's random"), random("device's random"))
        var joining = try JoiningDevice(phone, at: 0, using: &first)
        var admitting = AdmittingDevice(device, approvedAt: 0)
        let answer = try admitting.answer(joining.commitment, log: log, at: 0, using: &second)
        let (opening, code) = try joining.take(answer, at: 0)
        note("enrolment", "commitment", joining.commitment.bytes)
        note("enrolment", "answer", answer.bytes)
        note("enrolment", "opening", opening.bytes)
        sections["enrolment"]?["code"] = "\(try admitting.take(opening, at: 0))"
        #expect(code.description == sections["enrolment"]?["code"])
    }
}

/// Given bytes, as randomness for one draw.
private struct FixedBytesOnce: RandomBytes {
    private var left: [UInt8]?

    init(_ bytes: [UInt8]) {
        left = bytes
    }

    mutating func bytes(_ count: Int) throws(CryptoError) -> [UInt8] {
        guard let bytes = left, bytes.count == count else { throw CryptoError(.randomnessUnavailable) }
        left = nil
        return bytes
    }

    mutating func secret(_ count: Int) throws(CryptoError) -> SecretBytes { SecretBytes(try bytes(count)) }
}
