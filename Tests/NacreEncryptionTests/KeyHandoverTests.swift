import NacreCrypto
import NacreEncryption
import NacreEncryptionForms
import Testing

/// An account with its secrets, made as devices make them.
struct LiveAccount {
    let name: AccountName
    var random: SeededBytes
    let device: DeviceKeys
    let recovery: RecoveryKey
    var log: KeyLog
    var key: AccountKey

    init(_ user: String) throws {
        name = try #require(AccountName(container: "iCloud.com.example.notes", environment: "development", user: user))
        random = SeededBytes(user)
        device = try DeviceKeys(using: &random)
        recovery = try RecoveryKey(of: name, using: &random)
        (_, log, key) = try device.begin(name, recovery: recovery, using: &random)
    }

    /// Adds a device with its agreement. Returns its keys.
    mutating func add(by signer: Signer? = nil) throws -> DeviceKeys {
        let new = try DeviceKeys(using: &random)
        _ = try log.add(new.publicKeys, agreement: new.agreement(toJoin: log.head), by: signer ?? .device(device))
        return new
    }

    var participant: ScopeManifest.Participant { participant(.readWrite, .owner) }

    func participant(_ permission: ScopeManifest.Permission, _ role: ScopeManifest.Role) -> ScopeManifest.Participant {
        .init(user: name.user, fingerprint: log.fingerprint, head: log.head, permission: permission, role: role)
    }

    /// Signs the first manifest of a scope for keys, the oldest first.
    func manifest(_ keys: [ScopeKey], with participants: [ScopeManifest.Participant] = []) throws -> ScopeManifest {
        let (first, last) = (try #require(keys.first), try #require(keys.last))
        return try device.sign(
            ScopeManifest.Parts(
                place: #require(Place(owner: name, zone: "Diary")), scope: last.id.scope, root: "", number: 0, stamp: 1, before: .none,
                version: last.id.version, oldest: first.id.version, keyProofs: keys.map(\.proof), participants: [participant] + participants,
                linkPermission: .none), log: log)
    }
}

struct KeyHandoverTests {
    @Test func `a device and the recovery key open the account key, by wraps that its first device made`() throws {
        var ada = try LiveAccount("_ada")
        let phone = try ada.add()
        let wraps = try ada.key.wraps(for: ada.log, by: ada.device, using: &ada.random)
        #expect(wraps.count == 3)
        let subjects = Set(wraps.map(\.subject))
        #expect(subjects == [.accountKey(ada.device.id), .accountKey(phone.id), .accountKey(nil)])
        for wrap in try wraps.map({ try KeyWrap($0.bytes) }) {
            let openings = [
                Result { try ada.device.open(wrap, log: ada.log) }, Result { try phone.open(wrap, log: ada.log) },
                Result { try ada.recovery.open(wrap, log: ada.log) },
            ]
            #expect(openings.compactMap { try? $0.get().publicKey } == [ada.log.accountKey])
        }
        let words = try ada.recovery.words().joined(separator: " ")
        let read = try RecoveryKey(RecoveryWords.secret(from: words), of: ada.name)
        #expect(read.publicKeys == ada.recovery.publicKeys)
        let grace = try LiveAccount("_grace")
        #expect(try RecoveryKey(RecoveryWords.secret(from: words), of: grace.name).publicKeys != read.publicKeys)
    }

    @Test func `A1 and A8: an account key that the server made is refused, also from an enrolled device`() throws {
        var ada = try LiveAccount("_ada")
        let own = try AccountKey(generation: 1, using: &ada.random)
        let server = try DeviceKeys(using: &ada.random)
        let wraps = try own.wraps(for: ada.log, by: server, using: &ada.random)
        for wrap in wraps {
            #expect(throws: KeyWrapFault.unknownSender(device: server.id, key: wrap.subject)) { try ada.device.open(wrap, log: ada.log) }
        }
        // Signed by the device, but another key than the log has.
        for wrap in try own.wraps(for: ada.log, by: ada.device, using: &ada.random) {
            #expect(throws: EncryptionError.cannotBeOpened) { try ada.device.open(wrap, log: ada.log) }
            #expect(throws: EncryptionError.cannotBeOpened) { try ada.recovery.open(wrap, log: ada.log) }
        }
    }

    @Test func `a removal and a new recovery key make generations, and the newest opens the older ones`() throws {
        var ada = try LiveAccount("_ada")
        let phone = try ada.add(by: .recovery(ada.recovery))
        let first = ada.key
        let (_, second) = try ada.log.remove(phone.id, by: .device(ada.device), using: &ada.random)
        let recovery = try RecoveryKey(of: ada.name, using: &ada.random)
        let (_, third) = try ada.log.replaceRecovery(with: recovery, by: .recovery(ada.recovery), using: &ada.random)
        #expect(ada.log.generation == 3 && third.isKey(of: ada.log))
        let wraps = try third.wraps(for: ada.log, by: ada.device, using: &ada.random)
        #expect(Set(wraps.map(\.subject)) == [.accountKey(ada.device.id), .accountKey(nil)])
        let newest = try recovery.open(#require(wraps.last), log: ada.log)
        let chain = [try third.seal(older: second, of: ada.log, using: &ada.random), try second.seal(older: first, of: ada.log, using: &ada.random)]
        let older = try newest.open(older: chain[0], of: ada.log)
        #expect(try older.open(older: chain[1], of: ada.log).publicKey == first.publicKey)
        #expect(throws: EncryptionError.cannotBeOpened) { try newest.open(older: chain[1], of: ada.log) }
        #expect(throws: EncryptionError.cannotBeOpened) { try first.open(older: chain[1], of: ada.log) }
        #expect(throws: KeyLogFault.self) { try ada.log.remove(phone.id, by: .device(ada.device), using: &ada.random) }
    }

    @Test func `a participant opens a scope key, older versions with it, and a link's secret opens it too`() throws {
        var (ada, grace) = (try LiveAccount("_ada"), try LiveAccount("_grace"))
        let keys = [try SampleSealing.key("1"), try SampleSealing.key("2", version: 2)]
        let manifest = try ada.manifest(keys, with: [grace.participant(.readOnly, .privateUser)])
        let wrap = try keys[1].wrap(for: "_grace", log: grace.log, manifest: manifest, by: ada.device, using: &ada.random)
        let opened = try grace.key.open(KeyWrap(wrap.bytes), manifest: manifest, senders: ada.log, recipients: grace.log)
        let place = manifest.parts.place
        let older = try opened.open(older: keys[1].seal(older: keys[0], place: place, using: &ada.random), manifest: manifest)
        #expect(opened.proof == keys[1].proof && older.proof == keys[0].proof && older.id == keys[0].id)
        let link = try LinkSecret(using: &ada.random)
        let sealed = try link.seal(keys[1], place: place, using: &ada.random)
        #expect(try #require(LinkSecret(fragment: link.fragment)).open(SealedValue(sealed.bytes), manifest: manifest).proof == keys[1].proof)
        #expect(throws: EncryptionError.cannotBeOpened) { try LinkSecret(using: &ada.random).open(sealed, manifest: manifest) }
        #expect(LinkSecret(fragment: "") == nil && LinkSecret(fragment: link.fragment + "00") == nil)
        // Readers take version 1 no more.
        let later = try ada.manifest([keys[1]])
        #expect(throws: EncryptionError.cannotBeOpened) {
            try opened.open(older: keys[1].seal(older: keys[0], place: place, using: &ada.random), manifest: later)
        }
    }

    @Test func `A2 and A3: nothing is wrapped for an account that is not in the signed list`() throws {
        var (ada, grace, eve) = (try LiveAccount("_ada"), try LiveAccount("_grace"), try LiveAccount("_eve"))
        let key = try SampleSealing.key()
        let manifest = try ada.manifest([key], with: [grace.participant(.readOnly, .privateUser)])
        #expect(throws: ScopeFault.noParticipant("_eve")) {
            try key.wrap(for: "_eve", log: eve.log, manifest: manifest, by: ada.device, using: &ada.random)
        }
        #expect(throws: ScopeFault.otherFingerprint(user: "_grace", kept: grace.log.fingerprint, shown: eve.log.fingerprint)) {
            try key.wrap(for: "_grace", log: eve.log, manifest: manifest, by: ada.device, using: &ada.random)
        }
        let foreign = try SampleSealing.key("server")
        #expect(throws: ScopeFault.oldKey(version: 1, oldest: 1, newest: 1)) {
            try foreign.wrap(for: "_grace", log: grace.log, manifest: manifest, by: ada.device, using: &ada.random)
        }
        // A key that no manifest proves, from a device that may send keys.
        let other = try ada.manifest([foreign], with: [grace.participant(.readOnly, .privateUser)])
        let wrap = try foreign.wrap(for: "_grace", log: grace.log, manifest: other, by: ada.device, using: &ada.random)
        #expect(throws: EncryptionError.cannotBeOpened) {
            try grace.key.open(wrap, manifest: manifest, senders: ada.log, recipients: grace.log)
        }
    }

    @Test func `A17: a wrap with any bit changed gives one error, also if its sender signs the change`() throws {
        var (ada, grace) = (try LiveAccount("_ada"), try LiveAccount("_grace"))
        let key = try SampleSealing.key()
        let manifest = try ada.manifest([key], with: [grace.participant(.readOnly, .privateUser)])
        let wrap = try key.wrap(for: "_grace", log: grace.log, manifest: manifest, by: ada.device, using: &ada.random)
        let signing = try Ed25519.PrivateKey(seed: ada.device.kept.signing)
        let open = { (form: KeyWrap) throws in _ = try grace.key.open(form, manifest: manifest, senders: ada.log, recipients: grace.log) }
        for index in 0..<wrap.sealed.count * 8 {
            var sealed = wrap.sealed
            sealed[index / 8] ^= 1 << UInt8(index % 8)
            let change = { (sign: ([UInt8]) throws -> Signature) throws in
                try KeyWrap(
                    subject: wrap.subject, recipient: wrap.recipient, generation: wrap.generation, sender: wrap.sender, sealed: sealed, sign: sign)
            }
            let signed = try #require(try change { Signature(try signing.sign($0)) ?? wrap.signature })
            // The curve ignores the highest bit of the encapsulated key, and the schedule of the key does not.
            #expect(throws: EncryptionError.cannotBeOpened) { try open(signed) }
            if index % 64 == 0 {
                let unsigned = try #require(try change { _ in wrap.signature })
                #expect(throws: KeyWrapFault.unknownSender(device: ada.device.id, key: wrap.subject)) { try open(unsigned) }
            }
        }
    }

    @Test func `A4: a device that is not enrolled is no sender, and signs no manifest`() throws {
        var ada = try LiveAccount("_ada")
        let stranger = try DeviceKeys(using: &ada.random)
        let parts = try ada.manifest([SampleSealing.key()]).parts
        #expect(throws: ScopeFault.unknownSigner(device: stranger.id, number: 0)) { try stranger.sign(parts, log: ada.log) }
        #expect(throws: KeyLogFault.notSigned(number: 1)) {
            try ada.log.add(stranger.publicKeys, agreement: stranger.agreement(toJoin: ada.log.head), by: .device(stranger))
        }
        #expect(ada.log.enrolled.count == 1)
    }

    @Test func `A23: a new device begins anew with the recovery key alone, and no device that the reset does not name`() throws {
        var ada = try LiveAccount("_ada")
        let kept = ada.log
        let (tablet, stranger) = (try DeviceKeys(using: &ada.random), try DeviceKeys(using: &ada.random))
        let recovery = try RecoveryKey(of: ada.name, using: &ada.random)
        #expect(throws: KeyLogFault.self) { try tablet.begin(ada.name, recovery: recovery, after: kept, using: &ada.random) }
        _ = try ada.log.reset(by: .recovery(ada.recovery), next: tablet.publicKeys)
        let ended = ada.log
        let (_, anew, _) = try tablet.begin(ada.name, recovery: recovery, after: ended, using: &ada.random)
        try anew.check(follows: ended)
        #expect(throws: KeyLogFault.self) { try stranger.begin(ada.name, recovery: recovery, after: ended, using: &ada.random) }
    }
}
