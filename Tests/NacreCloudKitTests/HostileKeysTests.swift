import Foundation
import NacreCloudWire
import NacreCrypto
import NacreEncryption
import NacreEncryptionForms
import Testing

@testable import CloudKit

/// Tests of attacks of a server on its users' keys. The numbers are those of docs/encryption.md.
struct HostileKeysTests {
    private let server: HostileServer
    private var cloud: PretendCloud { server.cloud }

    init() async throws { server = try await HostileServer() }

    /// Checks that a new process takes no keys, for reading or for saving, that it makes none, and that it says why.
    /// - Parameter device: the store of its device; nil: the phone's.
    private func expectRefused(_ words: String..., by device: KeyStore? = nil) async throws {
        let before = await cloud.keys
        let saving = try await server.process(of: device).refusal()
        let reading = try #require(await #expect(throws: CKError.self) { try await server.process(of: device).toOpen() })
        for error in [saving, reading] {
            let remedy = error.userInfo["CKErrorRemedy"] as? String ?? ""
            #expect(error.code == .internalError && words.allSatisfy { remedy.contains($0) }, "\(error.code): \(remedy)")
        }
        let after = await cloud.keys
        #expect(after.statements == before.statements && after.accountWraps == before.accountWraps)
        #expect(after.scopes.mapValues(\.manifests) == before.scopes.mapValues(\.manifests))
    }

    // MARK: Keys of the operator's

    @Test func `A1: an account key that the operator made is refused, and the error names the device`() async throws {
        let phone = try await server.process().toSave().device.id
        var random = SystemRandomBytes()
        let (log, key) = (try await server.log(), try AccountKey(generation: 1, using: &random))
        let wraps = try key.wraps(for: log, by: server.forger, using: &random)
        try #require(wraps.contains { $0.subject == .accountKey(phone) })
        await cloud.change { for wrap in wraps { $0.accountWraps[wrap.subject] = wrap.bytes } }
        try await expectRefused("account key comes from device \(server.forger.id)")
    }

    @Test func `A1: a zone's key that the operator made is refused, and the error names device and key`() async throws {
        _ = try await server.process().toSave()
        let forged = try await server.forgedKey(isNext: false)
        await cloud.change { $0.scopes["Notes"]?.wraps = [forged.wrap.bytes] }
        try await expectRefused("Key \(forged.id) comes from device \(server.forger.id)")
    }

    @Test(arguments: [false, true]) func `A1: a list of participants that the operator signed gives no key`(isNext: Bool) async throws {
        _ = try await server.process().toSave()
        let forged = try await server.forgedKey(isNext: isNext)
        await cloud.change { keys in
            if !isNext { keys.scopes["Notes"]?.manifests = [] }
            keys.scopes["Notes"]?.manifests.append(forged.manifest.bytes)
            keys.scopes["Notes"]?.wraps = [forged.wrap.bytes]
        }
        try await expectRefused("Manifest \(isNext ? 1 : 0) is not signed by device \(server.forger.id)")
    }

    @Test(arguments: [false, true]) func `A4: a device that the operator adds is not enrolled, and gets no key`(asPhone: Bool) async throws {
        let phone = try await server.process().toSave().device.id
        let (forger, head) = (server.forger, try await server.log().head)
        let agreement = try server.sign(KeyStatement.enrolment(of: forger.publicKeys, after: head.hash))
        let statement = try await server.statement(.addDevice(forger.publicKeys, agreement), inTheNameOf: asPhone ? phone : forger.id)
        await cloud.change { $0.statements.append(statement.bytes) }
        try await expectRefused("Statement 1 is not signed by a device of the account")
    }

    @Test func `A5: keys that were not asked for are dropped`() async throws {
        let process = try server.process()
        let keys = try await process.toSave()
        _ = try await process.toSave(CKRecordZone.ID(zoneName: "Lists"))
        var random = SystemRandomBytes()
        let bob = try #require(AccountName(container: "iCloud.test", environment: "development", user: "_bob"))
        let (_, log, key) = try server.forger.begin(bob, recovery: RecoveryKey(of: bob, using: &random), using: &random)
        let accountWraps = try key.wraps(for: log, by: server.forger, using: &random).filter { $0.subject == .accountKey(server.forger.id) }
        let next = try await server.forgedKey(isNext: true)
        try #require(accountWraps.count == 1)
        await cloud.change { keys in
            // In front of what was asked for: a version that no manifest has, and a key of another zone.
            let others = [next.wrap.bytes] + (keys.scopes["Lists"]?.wraps ?? [])
            keys.scopes["Notes"]?.wraps.insert(contentsOf: others, at: 0)
            for wrap in accountWraps { keys.accountWraps[wrap.subject] = wrap.bytes }
        }
        let later = try await server.process().toSave()
        #expect(later.newest.proof == keys.newest.proof && later.older.isEmpty)
        #expect(try await server.process().own().accountKeys.map(\.generation) == [1])
    }

    // MARK: Logs

    /// A change of the log, and the words in which it is told.
    struct LogChange: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let words: String
        let make: @Sendable (inout [[UInt8]]) -> Void
    }

    private static let logChanges = [
        LogChange(testDescription: "two statements in the other order", words: "Statement 2 does not follow") { $0.swapAt(1, 2) },
        LogChange(testDescription: "a statement dropped", words: "Statement 2 does not follow") { $0.remove(at: 1) },
        LogChange(testDescription: "a statement twice", words: "Statement 2 does not follow") { $0.append($0[2]) },
        LogChange(testDescription: "without its beginning", words: "newest statement of the log is not in the tree") { $0.removeFirst() },
        LogChange(testDescription: "cut", words: "The log ends at statement 1, and had statement 2") { $0.removeLast() },
        LogChange(testDescription: "a signature changed", words: "Statement 2 is not signed") { $0[2][$0[2].count - 1] ^= 1 },
        LogChange(testDescription: "dropped", words: "shows no log of keys, and this device has seen statement 2") { $0 = [] },
    ]

    @Test(arguments: logChanges) func `A8: a log that was changed is told, and no key is made in its place`(change: LogChange) async throws {
        let process = try server.process()
        _ = try await process.toSave()
        for _ in 0..<2 { try await process.replaceRecovery() }
        _ = try await process.own()
        _ = try await server.process().toSave()
        await cloud.change { change.make(&$0.statements) }
        try await expectRefused(change.words)
    }

    @Test func `A8: another account in the place of the user's is told with both fingerprints`() async throws {
        _ = try await server.process().toSave()
        let other = try await HostileServer()
        _ = try await other.process().toSave()
        let (kept, shown, forged) = (try await server.log().fingerprint, try await other.log().fingerprint, await other.cloud.keys)
        await cloud.change { ($0.statements, $0.accountWraps, $0.scopes) = (forged.statements, forged.accountWraps, forged.scopes) }
        try await expectRefused("\(kept)", "\(shown)")
    }

    @Test func `A19: a removed device that is shown its old keys writes nothing that a device takes which has seen newer`() async throws {
        let phone = try server.database()
        let record = SealedNote.note()
        try await phone.save(record)
        let tablet = try await server.enrolled()
        #expect(try await server.database(of: tablet.store).record(for: SealedNote.id).encryptedValues["a"] as? String == "apple")
        // Another server goes on with the keys and the record of before the removal.
        let (keys, note) = (await cloud.keys, try await server.stored("note"))
        let stale = try await HostileServer()
        await stale.cloud.change { $0 = keys }
        try await stale.database().save(SealedNote.note([:]))
        await stale.cloud.alter("note", in: HostileServer.notes) { $0 = note }
        _ = try await CKContainer(line: try server.process().line).userKeys().remove("\(tablet.id)")
        let later = try server.database()
        record.encryptedValues["a"] = "almond"
        try await later.save(record)
        #expect(try await later.record(for: SealedNote.id).encryptedValues["a"] as? String == "almond")
        // The removed device reads nothing of that, and its version does not take the place of the newer one.
        let removed = CKContainer(line: try KeyDevice(stale.cloud, tablet.store).line).privateCloudDatabase
        let theirs = try await removed.record(for: SealedNote.id)
        let newer = try await server.stored("note")
        await stale.cloud.alter("note", in: HostileServer.notes) { $0 = newer }
        #expect(await thrown { try await removed.record(for: SealedNote.id) }?.code == .internalError)
        await stale.cloud.alter("note", in: HostileServer.notes) { $0 = note }
        theirs.encryptedValues["a"] = "arsenic"
        try await removed.save(theirs)
        let forged = try await stale.stored("note")
        await cloud.alter("note", in: HostileServer.notes) { $0 = forged }
        let error = try #require(await thrown { try await later.record(for: SealedNote.id) })
        #expect(error.code == .internalError && error.localizedDescription.contains("older version"), "\(error)")
    }

    // MARK: Resets

    @Test func `A23: a reset that no device signed ends nothing, and no key is made`() async throws {
        let phone = try await server.process().toSave().device.id
        let reset = try await server.statement(.reset(next: server.forger.publicKeys), inTheNameOf: phone)
        await cloud.change { keys in
            keys.statements.append(reset.bytes)
            keys.scopes = [:]
        }
        try await expectRefused("Statement 1 is not signed by a device of the account")
    }

    @Test func `A23: a log that the operator begins after a true reset is refused`() async throws {
        let process = try server.process()
        _ = try await process.toSave()
        try await process.reset()
        var random = SystemRandomBytes()
        let account = try #require(KeyDevice.account?.name)
        let (beginning, log, key) = try server.forger.begin(account, recovery: RecoveryKey(of: account, using: &random), using: &random)
        let wraps = try key.wraps(for: log, by: server.forger, using: &random)
        await cloud.change { keys in
            keys.statements.append(beginning.bytes)
            keys.accountWraps = wraps.reduce(into: [:]) { $0[$1.subject] = $1.bytes }
            keys.scopes = [:]
        }
        try await expectRefused("\(log.fingerprint)", "no signed reset leads to it")
    }

    // MARK: Two devices that are shown different things

    @Test func `A27: two logs that were shown to two devices are told when they meet`() async throws {
        _ = try await server.process().toSave()
        let tablet = try await server.enrolled()
        let (other, keys) = (try await HostileServer(), await cloud.keys)
        await other.cloud.change { $0 = keys }
        let process = try KeyDevice(other.cloud, tablet.store)
        try await process.replaceRecovery()
        _ = try await process.own()
        try await server.process().replaceRecovery()
        let remedy = try await server.process(of: tablet.store).refusal().userInfo["CKErrorRemedy"] as? String ?? ""
        // The logs differ, and so do the trees that have them.
        #expect(remedy.contains("the server has shown two logs") || remedy.contains("signed two trees"), "\(remedy)")
    }

    @Test func `A27: a log that was shown longer to the device which signed the zone's list is missed by the others`() async throws {
        let process = try server.process()
        _ = try await process.toSave()
        let tablet = try await server.enrolled()
        let old = await cloud.keys
        try await process.replaceRecovery()
        _ = try await server.process().toSave()
        await cloud.change { ($0.statements, $0.accountWraps) = (old.statements, old.accountWraps) }
        try await expectRefused("does not extend statement 2 of the signed list", by: tablet.store)
    }
}
