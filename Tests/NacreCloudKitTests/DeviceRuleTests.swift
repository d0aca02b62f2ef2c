import NacreCloudWire
import NacreCrypto
import NacreEncryption
import NacreEncryptionForms
import Testing

@testable import CloudKit

/// Tests of the rules by which a device without keys takes an account that a server shows.
struct DeviceRuleTests {
    /// An account as a server shows it.
    private struct Shown {
        let device: DeviceKeys
        var log: KeyLog
        var account: ShownAccount

        /// Begins an account that names a recovery key, with the words that the key signs for it.
        init(_ secret: SecretBytes) throws {
            var random = SystemRandomBytes()
            let name = try #require(KeyDevice.account?.name)
            device = try DeviceKeys(using: &random)
            let (statement, log, key) = try device.begin(name, recovery: RecoveryKey(secret, of: name), using: &random)
            self.log = log
            let wraps = try key.wraps(for: log, by: device, using: &random).map(\.bytes)
            account = ShownAccount(statements: [statement.bytes], wraps: wraps)
        }

        /// Adds a device.
        mutating func add(_ keys: DeviceKeys) throws {
            let statement = try log.add(keys.publicKeys, agreement: keys.agreement(toJoin: log.head), by: .device(device))
            account.statements.append(statement.bytes)
        }

        func answer(to commitment: EnrolmentCommitment) throws -> EnrolmentAnswer {
            EnrolmentAnswer(
                commitment: commitment.hash, fingerprint: log.fingerprint, head: log.head, device: device.id, random: commitment.commitment)
        }
    }

    private let random = KeyRandom(source: nil)
    private let secret: SecretBytes
    private let name: AccountName
    private let new: DeviceKeys
    private let commitment: EnrolmentCommitment

    init() throws {
        var random = SystemRandomBytes()
        secret = try random.secret(RecoveryWords.secretLength)
        name = try #require(KeyDevice.account?.name)
        new = try DeviceKeys(using: &random)
        commitment = try EnrolmentCommitment(keys: new.publicKeys, random: try #require(Digest(try random.bytes(Digest.length))))
    }

    @Test func `the recovery key adds the device to a log that others verify`() throws {
        var shown = try Shown(secret)
        var kept = KeptKeys()
        let request = try kept.join(new, shown.account, of: name, with: secret, using: random)
        shown.account.statements.append(request.statement)
        shown.account.wraps = request.wraps
        #expect(request.wraps.count == 1 && request.olderKey == nil)
        guard case .open(let own) = try kept.take(shown.account, of: name) else {
            Issue.record("the device has no keys")
            return
        }
        #expect(own.log.device(new.id)?.added == 1 && own.accountKeys.count == 1)
    }

    @Test func `words of another account are refused`() throws {
        var kept = KeptKeys()
        let other = SecretBytes([UInt8](repeating: 7, count: RecoveryWords.secretLength))
        let shown = try Shown(secret)
        let error = #expect(throws: CKError.self) {
            try kept.join(new, shown.account, of: name, with: other, using: random)
        }
        #expect(error?.localizedDescription == CKError.otherRecoveryWords.localizedDescription && kept.device == nil)
    }

    @Test func `A6: an account in the place of the one that was compared is not joined, and no key is kept`() throws {
        let compared = try Shown(secret)
        var other = try Shown(secret)
        let answer = try compared.answer(to: commitment)
        var kept = KeptKeys()
        #expect(try !kept.join(new, other.account, of: name, as: answer))
        try other.add(new)
        #expect(try !kept.join(new, other.account, of: name, as: answer))
        #expect(kept.device == nil && kept.own == nil)
        #expect(try kept.join(new, compared.account, of: name, as: answer))
        #expect(kept.device?.id == new.id && kept.own?.fingerprint == compared.log.fingerprint)
    }

    @Test func `after the comparison a server cannot show the device in another account`() throws {
        let compared = try Shown(secret)
        var other = try Shown(secret)
        var kept = KeptKeys()
        #expect(try kept.join(new, compared.account, of: name, as: try compared.answer(to: commitment)))
        try other.add(new)
        let shown = other.account
        #expect(throws: CKError.self) { try kept.take(shown, of: name) }
    }

    @Test func `the recovery key of the account signs a reset that names new keys of this device, and no other key does`() throws {
        let shown = try Shown(secret)
        var kept = KeptKeys()
        #expect(throws: CKError.self) { try kept.toReset(shown.account, of: name, with: nil, using: random) }
        let other = SecretBytes([UInt8](repeating: 7, count: RecoveryWords.secretLength))
        #expect(throws: CKError.self) { try kept.toReset(shown.account, of: name, with: other, using: random) }
        #expect(kept.device == nil)
        let request = try #require(try kept.toReset(shown.account, of: name, with: secret, using: random))
        var log = shown.log
        try log.append(KeyStatement(request.statement))
        #expect(log.successor == kept.device?.publicKeys && log.successor != nil)
        var ended = shown.account
        ended.statements.append(request.statement)
        #expect(try kept.toReset(ended, of: name, with: secret, using: random) == nil)
    }
}
