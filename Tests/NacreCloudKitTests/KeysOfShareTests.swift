import Foundation
import NacreCloudTestSupport
import NacreCloudWire
import NacreEncryption
import NacreEncryptionForms
import NacreLocks
import Testing

@testable import CloudKit

/// Tests of the keys that Alice's device makes, or makes none of, in Bob's zone and in her own ones with a share.
struct KeysOfShareTests {
    private static let bobsNotes = CKRecordZone.ID(zoneName: "Notes", ownerName: "_bob")
    private static let mine = CKRecordZone.ID(zoneName: "Mine")
    private let cloud = PretendCloud()
    private let device: KeyDevice

    init() throws { device = try KeyDevice(cloud, KeyStore(folder: nil)) }

    private func conversation(_ scope: CKDatabase.Scope) -> Conversation {
        Conversation(
            line: device.line, scope: scope, patience: Patience(requestTimeout: 60, resourceTimeout: nil, retriesNetworkErrors: false))
    }

    private func keysForFiles(in zone: CKRecordZone.ID) async throws -> ZoneKeys? {
        try await conversation(zone.ownerName == "_bob" ? .shared : .private).zoneKeysForFiles(in: zone, makingKeys: false)
    }

    /// Has the server show the keys of Bob's zone, in which he alone takes part.
    private func addBobsKeys() async throws {
        var random = SystemRandomBytes()
        let bob = try #require(AccountName(container: "iCloud.test", environment: "development", user: "_bob"))
        let keys = try DeviceKeys(using: &random)
        let (statement, log, key) = try keys.begin(bob, recovery: RecoveryKey(of: bob, using: &random), using: &random)
        let own = OwnKeys(device: keys, log: log, accountKeys: [key])
        let first = try own.firstKey(at: try #require(Place(owner: bob, zone: "Notes")), stamp: 1_000, using: KeyRandom(source: nil))
        await cloud.change { shown in
            shown.others["_bob"] = [statement.bytes]
            shown.scopes["Notes"] = PretendKeys.Scope(manifests: [first.manifest], wraps: first.wraps)
        }
    }

    /// Has the server show a share of a zone, in which Alice has a role.
    private func share(_ zone: ZoneID, as role: NacreCloudWire.ParticipantRole) async {
        let owner = ShareParticipant(
            participantID: "1", identity: ParticipantIdentity(userRecordName: zone.ownerRecordName ?? "_alice"), role: .owner,
            permission: .readWrite, acceptance: .accepted)
        let alice = ShareParticipant(
            participantID: "2", identity: ParticipantIdentity(userRecordName: "_alice"), role: role, permission: .readWrite, acceptance: .accepted)
        let details = ShareDetails(
            shortGUID: "g", publicPermission: .readWrite, participants: [owner, alice], owner: owner, currentUserParticipant: alice)
        let stamp = Record.Stamp(timestamp: Timestamp(secondsSince2001: 1000), userRecordName: "_bob")
        let record = Record(
            recordName: CKRecordNameZoneWideShare, recordType: "cloudkit.share", recordChangeTag: "1", created: stamp, modified: stamp,
            sharing: Box(details), fields: RecordFields())
        await cloud.put(record, in: zone)
    }

    @Test(arguments: [(NacreCloudWire.ParticipantRole.publicUser, 0), (.privateUser, 1)])
    func `a look into a shared zone makes keys for who was invited, and none for who came by the link`(
        role: NacreCloudWire.ParticipantRole, statements: Int
    ) async throws {
        try await addBobsKeys()
        await share(Self.bobsNotes.wire, as: role)
        let error = await #expect(throws: CKError.self) { try await conversation(.shared).zoneKeys(of: Self.bobsNotes) }
        #expect(error?.code == .accountTemporarilyUnavailable)
        #expect(await cloud.keys.statements.count == statements)
    }

    @Test func `the files of who came by a link stay plain, and those of an invited participant wait for the zone's keys`() async throws {
        try await addBobsKeys()
        _ = try await device.toSave(Self.mine)
        await share(Self.bobsNotes.wire, as: .publicUser)
        #expect(try await keysForFiles(in: Self.bobsNotes) == nil)
        await share(Self.bobsNotes.wire, as: .privateUser)
        let error = await #expect(throws: CKError.self) { try await keysForFiles(in: Self.bobsNotes) }
        #expect(error?.code == .accountTemporarilyUnavailable)
    }

    @Test func `a file for another user's zone is not sent plain when the server hides keys that this device has seen`() async throws {
        let account = try #require(KeyDevice.account)
        _ = try await device.toSave(Self.mine)
        #expect(try await keysForFiles(in: Self.bobsNotes) == nil)
        try await device.line.keyStore.update(account) { kept throws(CKError) in kept.sharedScopes["_bob Notes"] = kept.scopes["Mine"] }
        let error = try #require(await #expect(throws: CKError.self) { try await keysForFiles(in: Self.bobsNotes) })
        #expect(error.code == .internalError)
    }

    @Test func `a file makes no key of a zone before this device has seen one, nor in a zone that has a share`() async throws {
        let account = try #require(KeyDevice.account)
        _ = try await KeyExchange(asking: conversation(.private), of: account).ownKeysForSaving()
        #expect(try await keysForFiles(in: KeyDevice.notes) == nil)
        #expect(await cloud.keys.statements.count == 1, "the account has keys")
        _ = try await device.toSave(Self.mine)
        await share(KeyDevice.notes.wire, as: .owner)
        #expect(try await keysForFiles(in: KeyDevice.notes) == nil)
        #expect(await cloud.keys.scopes["Notes"] == nil)
        #expect(try await keysForFiles(in: CKRecordZone.ID(zoneName: "Other")) != nil)
        let keys = try await device.toSave()
        #expect(try await keysForFiles(in: KeyDevice.notes)?.newest.proof == keys.newest.proof, "a value has made the key")
    }

    @Test func `the log says once that keys were made, and names the command that shows the words`() async throws {
        let setting = Setting()
        await setting.cloud.addZone("Notes")
        for name in ["note", "other"] { try await setting.database.save(SealedNote.note(["a": "apple"], named: name)) }
        #expect(setting.log.entries.count { $0.contains("nacre keys recovery") } == 1)
    }

    @Test func `the log says once that participants of a share have no keys of its zone`() async throws {
        let setting = Setting()
        await setting.cloud.addZone("Notes")
        try await setting.database.save(SealedNote.note(["a": "apple"]))
        let patience = Patience(requestTimeout: 60, resourceTimeout: nil, retriesNetworkErrors: false)
        let conversation = Conversation(line: setting.container.line, scope: .private, patience: patience)
        let (exchange, place) = try #require(try await conversation.keyExchange(for: SealedNote.zoneID))
        let bob = ShareParticipant(
            participantID: "2", identity: ParticipantIdentity(userRecordName: "_bob"), role: .publicUser, permission: .readWrite,
            acceptance: .accepted)
        var list = ShareList(nil)
        try await exchange.meet(list, at: place)
        #expect(!setting.log.entries.contains { $0.contains("have no keys") })
        list.participants = [bob]
        for _ in 0..<2 { try await exchange.meet(list, at: place) }
        #expect(setting.log.entries.count { $0.contains("have no keys") } == 1)
    }

    // MARK: Shares of records

    /// Makes the keys of a share of the notes whose root is the list.
    private func makeScope() async throws -> (exchange: KeyExchange, place: Place) {
        await cloud.addZone("Notes")
        let (exchange, place) = try #require(try await conversation(.private).keyExchange(for: KeyDevice.notes))
        try await exchange.makeScope(ofShare: ("share", "list"), at: place, beginning: true)
        return (exchange, place)
    }

    @Test(arguments: [CKModifyRecordsOperation.RecordSavePolicy.ifServerRecordUnchanged, .changedKeys, .allKeys])
    func `what hangs on a moved record is looked through whatever the policy of the save, also once its keys were forgotten`(
        policy: CKModifyRecordsOperation.RecordSavePolicy
    ) async throws {
        _ = try await makeScope()
        let database = CKContainer(line: device.line).privateCloudDatabase
        let record = try await database.save(SealedNote.note())
        #expect(await !cloud.paths.contains("changes/zone"))
        device.line.openedKeys.withLock { $0.forgetShared() }
        record.setParent(CKRecord.ID(recordName: "list", zoneID: KeyDevice.notes))
        let results = try await database.modifyRecords(saving: [record], deleting: [], savePolicy: policy).saveResults
        _ = try results[record.recordID]?.get()
        #expect(await cloud.paths.contains("changes/zone"))
    }

    @Test func `the end of a share is noticed once its keys were forgotten, and by another process of the device`() async throws {
        let folder = try TemporaryFolder()
        let device = try KeyDevice(cloud, in: folder)
        await cloud.addZone("Notes")
        let patience = Patience(requestTimeout: 60, resourceTimeout: nil, retriesNetworkErrors: false)
        let conversation = Conversation(line: device.line, scope: .private, patience: patience)
        let (exchange, place) = try #require(try await conversation.keyExchange(for: KeyDevice.notes))
        try await exchange.makeScope(ofShare: ("share", "list"), at: place, beginning: true)
        for line in [device.line, try KeyDevice(cloud, in: folder).line] {
            line.openedKeys.withLock { $0.forgetShared() }
            let before = await cloud.paths.count { $0 == "changes/zone" }
            let database = CKContainer(line: line).privateCloudDatabase
            for name in ["other", "share"] {
                let recordID = CKRecord.ID(recordName: name, zoneID: KeyDevice.notes)
                _ = try await database.modifyRecords(saving: [], deleting: [recordID]).deleteResults[recordID]?.get()
                #expect(await cloud.paths.count { $0 == "changes/zone" } == before + (name == "share" ? 1 : 0))
            }
        }
    }

    /// Has the manifest of the share name Bob.
    private func addBob(_ exchange: KeyExchange, at place: Place) async throws {
        let (keys, own) = try #require(try await exchange.currentScope(of: place, .share("share")))
        let log = try #require(try await exchange.logs(of: "_bob").last)
        let wish = ShareWish(
            participant: "2", user: "_bob", permission: ScopeManifest.Permission.readWrite.rawValue,
            role: ScopeManifest.Role.privateUser.rawValue)
        let participants = own.participants(after: keys.manifest.parts, wishes: [wish], list: nil, logs: ["_bob": log])
        let request = try own.nextManifest(
            after: keys, participants: participants, logs: ["_bob": log], mustRenew: true, stamp: 2_000, using: KeyRandom(source: nil))
        try await exchange.send(try #require(request), at: place)
        #expect(try await exchange.currentScope(of: place, .share("share"))?.keys.manifest.parts.participants.count == 2)
    }

    @Test func `the end of a share of records takes its keys from all who took part, and so does another share of its name`() async throws {
        try await addBobsKeys()
        await cloud.change { $0.scopes = [:] }
        let (exchange, place) = try await makeScope()
        let ends: [() async throws -> Void] = [
            {
                let recordID = CKRecord.ID(recordName: "share", zoneID: KeyDevice.notes)
                let results = try await CKContainer(line: device.line).privateCloudDatabase.modifyRecords(saving: [], deleting: [recordID])
                _ = try results.deleteResults[recordID]?.get()
            }, { try await exchange.makeScope(ofShare: ("share", "list"), at: place, beginning: true) },
        ]
        for end in ends {
            try await addBob(exchange, at: place)
            let version = try #require(try await exchange.keys(ofShare: "share", at: place)).newest.id.version
            try await end()
            let keys = try #require(try await exchange.currentScope(of: place, .share("share"))).keys
            #expect(keys.manifest.parts.participants.map(\.role) == [.owner] && keys.newest.id.version == version + 1)
        }
    }

    @Test func `a share of a name with another root than before is refused`() async throws {
        let (exchange, place) = try await makeScope()
        try await exchange.makeScope(ofShare: ("share", "list"), at: place, beginning: true)
        let error = await #expect(throws: CKError.self) {
            try await exchange.makeScope(ofShare: ("share", "diary"), at: place, beginning: true)
        }
        #expect(error?.code == .invalidArguments)
    }

    @Test func `a folder of keys that cannot be read stops no share of records, and makes no keys`() async throws {
        let folder = try TemporaryFolder()
        let account = try #require(KeyDevice.account)
        let device = try KeyDevice(cloud, in: folder)
        try await device.line.keyStore.update(account) { kept throws(CKError) in kept.wishes = [:] }
        let path = device.line.keyStore.path(of: account.fileName)
        try Data("no keys".utf8).write(to: URL(fileURLWithPath: path))
        await #expect(throws: CKError.self) { try await device.kept() }
        let patience = Patience(requestTimeout: 60, resourceTimeout: nil, retriesNetworkErrors: false)
        let conversation = Conversation(line: device.line, scope: .private, patience: patience)
        let (exchange, place) = try #require(try await conversation.keyExchange(for: KeyDevice.notes))
        try await exchange.makeScope(ofShare: ("share", "list"), at: place, beginning: false)
        #expect(await cloud.keys.scopes.isEmpty)
    }
}
