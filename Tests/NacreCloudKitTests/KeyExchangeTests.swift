import Foundation
import NacreCloudTestSupport
import NacreCloudWire
import NacreCrypto
import NacreEncryption
import NacreEncryptionForms
import NacreLocks
import Testing

@testable import CloudKit

/// A process of a device: its transport, and its store of keys.
struct KeyDevice: Sendable {
    static let url = "http://cloud.test/api"
    static var account: KeyAccount? {
        AccountName(container: "iCloud.test", environment: "development", user: "_alice").map { KeyAccount(server: url, name: $0) }
    }

    let line: ServerLine

    /// - Parameter keyBytes: makes the bytes of keys; nil: the system does.
    init(
        _ cloud: PretendCloud, _ store: KeyStore, keyBytes: (@Sendable (Int) -> [UInt8])? = nil, time: PretendTime = PretendTime(),
        staging: AssetStaging = .shared, sealsAnew: Bool = false,
        accountWatch: AccountWatch = AccountWatch(), log: @escaping @Sendable (String) -> Void = { _ in }
    ) throws {
        let server = CloudKitServer(url: try #require(URL(string: Self.url)), environment: .development, apiToken: "app", accountToken: "account")
        var timekeeper = time.timekeeper
        timekeeper.keyBytes = keyBytes
        line = ServerLine(
            identifier: "iCloud.test", source: .explicit(server), transport: cloud, timekeeper: timekeeper, staging: staging,
            keyStore: store, sealsAnew: sealsAnew, accountWatch: accountWatch, log: log)
        let settings = try line.settings()
        line.knownUser.withLock { $0 = ServerLine.KnownUser(settings: settings, recordName: "_alice") }
    }

    init(_ cloud: PretendCloud, in folder: TemporaryFolder, _ name: String = "keys") throws {
        try self.init(cloud, KeyStore(folder: "\(folder.path)/\(name)"))
    }

    private var conversation: Conversation {
        Conversation(line: line, scope: .private, patience: Patience(requestTimeout: 60, resourceTimeout: nil, retriesNetworkErrors: false))
    }

    static let notes = CKRecordZone.ID(zoneName: "Notes")

    func toOpen(_ zone: CKRecordZone.ID = notes) async throws -> ZoneKeys? { try await conversation.zoneKeys(of: zone) }
    func toSave(_ zone: CKRecordZone.ID = notes) async throws -> ZoneKeys { try await conversation.zoneKeysForSaving(in: zone) }
    func forget(_ zone: CKRecordZone.ID = notes) { conversation.forgetZoneKeys(named: zone.zoneName) }

    /// Returns the error of asking for keys to save with.
    func refusal() async throws -> CKError {
        try #require(await #expect(throws: CKError.self) { try await toSave() })
    }

    func kept() async throws -> KeptKeys { try await line.keyStore.keys(of: try #require(Self.account)) }

    /// Returns the account's keys, as the server shows them now.
    func own() async throws -> OwnKeys {
        let exchange = KeyExchange(asking: conversation, of: try #require(Self.account))
        guard case .open(let own) = try await exchange.accountState() else { throw CKError.noKeysHere }
        return own
    }

    func userKeys() throws -> UserKeys {
        UserKeys(exchange: KeyExchange(asking: conversation, of: try #require(Self.account)))
    }

    /// Makes the scope of a share of records of the zone, and returns its keys.
    func makeShare(of root: String) async throws -> ZoneKeys {
        let exchange = try userKeys().exchange
        let place = try #require(Place(owner: exchange.account.name, zone: Self.notes.zoneName))
        try await exchange.makeScope(ofShare: ("share", root), at: place, beginning: true)
        return try #require(try await exchange.keys(ofShare: "share", at: place))
    }

    /// Has a statement kept that makes the next account key.
    func replaceRecovery() async throws {
        let own = try await own()
        var (log, random) = (own.log, SystemRandomBytes())
        let (statement, key) = try log.replaceRecovery(
            with: RecoveryKey(of: log.account, using: &random), by: .device(own.device), using: &random)
        try await append(
            KeysAppendRequest(
                statement: statement.bytes, wraps: try key.wraps(for: log, by: own.device, using: &random).map(\.bytes),
                olderKey: try key.seal(older: own.accountKeys[0], of: log, using: &random).bytes))
    }

    /// Adds the device of another machine to the account, with keys that it gets here.
    func enrol(_ other: KeyDevice) async throws {
        let own = try await own()
        var (log, random) = (own.log, SystemRandomBytes())
        let keys = try DeviceKeys(using: &random)
        let statement = try log.add(keys.publicKeys, agreement: keys.agreement(toJoin: log.head), by: .device(own.device))
        try await append(own.addition(statement, of: keys.id, in: log, using: line.timekeeper.keyRandom))
        try await other.line.keyStore.update(try #require(Self.account)) { kept throws(CKError) in kept.device = keys }
    }

    /// - Parameter next: the keys of the device that begins the next log; nil: this device's.
    func reset(next: PublicKeys? = nil) async throws {
        let own = try await own()
        var log = own.log
        try await append(KeysAppendRequest(statement: try log.reset(by: .device(own.device), next: next ?? own.device.publicKeys).bytes))
    }

    private func append(_ request: KeysAppendRequest) async throws {
        let _: KeysAppendResponse = try await conversation.ask("keys/append", request, .change)
    }
}

/// Tests of how a device comes by keys, over a server that keeps them, or shows others.
struct KeyExchangeTests {
    private let cloud = PretendCloud()
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder(on: .memory) }

    private func remedy(_ error: CKError) -> String { error.userInfo["CKErrorRemedy"] as? String ?? "" }

    // MARK: Making keys

    @Test func `the first save makes the account, the zone's key, and a file of the device`() async throws {
        let device = try KeyDevice(cloud, in: folder)
        let keys = try await device.toSave()
        let shown = await cloud.keys
        #expect(shown.statements.count == 1 && shown.scopes["Notes"]?.manifests.count == 1)
        #expect(keys.newest.id.version == 1 && keys.older.isEmpty && keys.key(keys.newest.id)?.proof == keys.newest.proof)
        #expect(keys.place.zone == "Notes" && keys.place.owner == KeyDevice.account?.name)
        let kept = try await device.kept()
        #expect(kept.device?.id == keys.device.id && kept.recovery?.count == RecoveryWords.secretLength)
        #expect(kept.own?.head.number == 0 && kept.scopes["Notes"]?.head == keys.manifest.head)
    }

    @Test func `a second use costs no request`() async throws {
        let device = try KeyDevice(cloud, in: folder)
        let keys = try await device.toSave()
        let count = await cloud.paths.count
        #expect(try await device.toSave().newest.proof == keys.newest.proof)
        #expect(try await device.toOpen()?.newest.proof == keys.newest.proof)
        #expect(await cloud.paths.count == count)
        device.forget()
        #expect(try await device.toSave().newest.proof == keys.newest.proof)
        #expect(await cloud.paths.dropFirst(count) == ["scopes/list", "keys/log"])
    }

    @Test func `another process of the device opens the zone's keys, and makes none`() async throws {
        let keys = try await KeyDevice(cloud, in: folder).toSave()
        let next = try KeyDevice(cloud, in: folder)
        #expect(try await next.toOpen()?.newest.proof == keys.newest.proof)
        #expect(try await KeyDevice(cloud, in: folder).toSave().newest.proof == keys.newest.proof)
        let shown = await cloud.keys
        #expect(shown.statements.count == 1 && shown.scopes["Notes"]?.manifests.count == 1)
    }

    @Test func `two zones have two keys of one account`() async throws {
        let device = try KeyDevice(cloud, in: folder)
        let (one, two) = (try await device.toSave(), try await device.toSave(CKRecordZone.ID(zoneName: "Lists")))
        #expect(one.newest.id.scope != two.newest.id.scope && one.newest.proof != two.newest.proof)
        #expect(await cloud.keys.statements.count == 1)
    }

    @Test func `reading a zone without keys makes nothing`() async throws {
        let device = try KeyDevice(cloud, in: folder)
        #expect(try await device.toOpen() == nil)
        #expect(await cloud.paths == ["scopes/list"])
        #expect(!FileManager.default.fileExists(atPath: folder.path + "/keys"))
    }

    @Test func `a zone of another user has no keys, and none are made`() async throws {
        let device = try KeyDevice(cloud, in: folder)
        let zone = CKRecordZone.ID(zoneName: "Notes", ownerName: "_bob")
        #expect(try await device.toOpen(zone) == nil)
        await #expect(throws: CKError.self) { try await device.toSave(zone) }
        #expect(await cloud.paths.isEmpty)
    }

    @Test func `a device without keys is told the remedy, and keeps and makes none`() async throws {
        _ = try await KeyDevice(cloud, in: folder).toSave()
        let stranger = try KeyDevice(cloud, in: folder, "other")
        let error = try await stranger.refusal()
        #expect(error.code == .accountTemporarilyUnavailable)
        #expect(remedy(error).contains("nacre keys approve") && remedy(error).contains("nacre keys enrol --recovery"))
        let reading = try #require(await #expect(throws: CKError.self) { try await stranger.toOpen() })
        #expect(reading.code == .accountTemporarilyUnavailable)
        let kept = try await stranger.kept()
        #expect(kept.device == nil && kept.own == nil && kept.recovery == nil && kept.scopes.isEmpty)
        #expect(await cloud.keys.statements.count == 1)
    }

    @Test func `of two first devices at once, one begins the account, and the other has no keys`() async throws {
        let devices = [try KeyDevice(cloud, in: folder, "a"), try KeyDevice(cloud, in: folder, "b")]
        let results = await withTaskGroup(of: CKError.Code?.self) { group in
            for device in devices {
                group.addTask {
                    do {
                        _ = try await device.toSave()
                        return nil
                    } catch {
                        return (error as? CKError)?.code
                    }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(Set(results) == [nil, .accountTemporarilyUnavailable])
        #expect(await cloud.keys.statements.count == 1)
    }

    @Test func `two processes of one device at once have the same keys`() async throws {
        let processes = try (0..<4).map { _ in try KeyDevice(cloud, in: folder) }
        let proofs = try await withThrowingTaskGroup(of: Digest.self) { group in
            for process in processes { group.addTask { try await process.toSave().newest.proof } }
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }
        #expect(proofs.count == 1)
        #expect(await cloud.keys.statements.count == 1)
        #expect(await cloud.keys.scopes["Notes"]?.manifests.count == 1)
    }

    @Test func `a process that dies once the server has its device is followed by one that has the keys`() async throws {
        let refusal = PretendCloud.refusal(ServerError(.badRequest, "the process has ended"))
        // The scope, the log, the statement, and the statement's repetition.
        await cloud.failNext(
            .none, .none, .answerLost, .answer(status: refusal.status, headers: [:], body: refusal.body))
        _ = try await KeyDevice(cloud, in: folder).refusal()
        #expect(await cloud.keys.statements.count == 1)
        let next = try KeyDevice(cloud, in: folder)
        _ = try await next.toSave()
        #expect(await cloud.keys.statements.count == 1)
        let (kept, own) = (try await next.kept(), try await next.own())
        let secret = try #require(kept.recovery)
        #expect(try RecoveryKey(secret, of: own.log.account).publicKeys == own.log.recovery)
    }

    @Test func `bytes that repeat make the same keys again`() async throws {
        var statements: [[[UInt8]]] = []
        for _ in 0..<2 {
            let (cloud, count) = (PretendCloud(), Locked<UInt8>(0))
            let bytes: @Sendable (Int) -> [UInt8] = { length in
                count.withLock { count in
                    count += 1
                    return [UInt8](repeating: count, count: length)
                }
            }
            _ = try await KeyDevice(cloud, KeyStore(folder: nil), keyBytes: bytes).toSave()
            statements.append(await cloud.keys.statements)
        }
        #expect(statements[0].count == 1 && statements[0] == statements[1])
    }

    // MARK: New versions

    @Test func `A19: after a new recovery key the next save makes a new version, and the older one still opens`() async throws {
        let device = try KeyDevice(cloud, in: folder)
        let first = try await device.toSave()
        try await device.replaceRecovery()
        let process = try KeyDevice(cloud, in: folder)
        #expect(try await process.toOpen()?.newest.id.version == 1)
        let second = try await process.toSave()
        #expect(second.newest.id.version == 2 && second.key(first.newest.id)?.proof == first.newest.proof)
        #expect(try await KeyDevice(cloud, in: folder).toOpen()?.older.map(\.proof) == [first.newest.proof])
        // The recovery key that this device made is of no use any more.
        #expect(try await process.kept().recovery == nil)
    }

    @Test func `a process that has saved for a minute asks for the account again, and seals under the key of a change that it finds`() async throws {
        let time = PretendTime()
        let device = try KeyDevice(cloud, KeyStore(folder: folder.path + "/keys"), time: time)
        _ = try await device.toSave()
        try await KeyDevice(cloud, in: folder).replaceRecovery()
        let count = await cloud.paths.count
        time.pass(OpenedKeys.accountSeconds - 1)
        #expect(try await device.toSave().newest.id.version == 1)
        #expect(await cloud.paths.count == count)
        time.pass(1)
        #expect(try await device.toSave().newest.id.version == 2)
        let paths = await cloud.paths
        #expect(paths.dropFirst(count).first == "keys/log")
        time.pass(OpenedKeys.accountSeconds - 1)
        _ = try await device.toSave()
        #expect(await cloud.paths.count == paths.count, "the minute begins anew")
    }

    @Test func `a process with old keys has the new ones after it has forgotten them`() async throws {
        let device = try KeyDevice(cloud, in: folder)
        _ = try await device.toSave()
        let other = try KeyDevice(cloud, in: folder)
        try await other.replaceRecovery()
        other.forget()
        let newest = try await other.toSave()
        device.forget()
        #expect(try await device.toSave().newest.proof == newest.newest.proof)
    }

    @Test func `after a signed reset the next save begins a log that follows it, with a new key of the zone`() async throws {
        let device = try KeyDevice(cloud, in: folder)
        let first = try await device.toSave()
        try await device.reset()
        await cloud.change { $0.scopes = [:] }
        let second = try await KeyDevice(cloud, in: folder).toSave()
        #expect(second.newest.id.scope != first.newest.id.scope && second.key(first.newest.id) == nil)
        #expect(await cloud.keys.statements.count == 3)
        #expect(try await KeyDevice(cloud, in: folder).toOpen()?.newest.proof == second.newest.proof)
    }

    @Test func `A23: a device that a signed reset does not name has no keys, and begins nothing`() async throws {
        let device = try KeyDevice(cloud, in: folder)
        _ = try await device.toSave()
        var random = SystemRandomBytes()
        try await device.reset(next: DeviceKeys(using: &random).publicKeys)
        await cloud.change { $0.scopes = [:] }
        let error = try await KeyDevice(cloud, in: folder).refusal()
        #expect(error.code == .accountTemporarilyUnavailable && remedy(error).contains("nacre keys enrol"))
        let reading = try #require(await #expect(throws: CKError.self) { try await KeyDevice(cloud, in: folder).toOpen() })
        #expect(reading.code == .accountTemporarilyUnavailable)
        #expect(await cloud.keys.statements.count == 2)
    }

    @Test func `an app is told once that its device has keys that it had lacked`() async throws {
        let keys = try await KeyDevice(cloud, in: folder).toSave()
        let told = Locked(0)
        let watch = AccountWatch { told.withLock { $0 += 1 } }
        let late = try KeyDevice(cloud, KeyStore(folder: folder.path + "/late"), accountWatch: watch)
        await #expect(throws: CKError.self) { try await late.toOpen() }
        #expect(told.withLock { $0 } == 0)
        let name = try #require(KeyDevice.account?.fileName)
        // The device keeps the tree of logs without keys.
        try FileManager.default.removeItem(atPath: "\(folder.path)/late/\(name)")
        try FileManager.default.copyItem(atPath: "\(folder.path)/keys/\(name)", toPath: "\(folder.path)/late/\(name)")
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: "\(folder.path)/late/\(name)")
        for _ in 0..<2 {
            #expect(try await late.toOpen()?.newest.proof == keys.newest.proof)
            late.forget()
        }
        #expect(told.withLock { $0 } == 1)
    }

    @Test func `a zone whose newest key a removed device has made in the meantime is taken over by another call`() async throws {
        await cloud.addZone("Notes")
        let (device, other) = (try KeyDevice(cloud, in: folder), try KeyDevice(cloud, in: folder, "other"))
        let first = try await device.toSave()
        try await device.enrol(other)
        let keys = try #require(try await other.toOpen())
        let (its, random) = (try await other.own(), device.line.timekeeper.keyRandom)
        let made = try its.nextManifest(
            after: keys, participants: [its.owner], logs: keys.logs, mustRenew: true, stamp: 1_000, using: random)
        try await other.userKeys().exchange.send(try #require(made), at: keys.place)
        let own = try await device.own()
        let exchange = try device.userKeys().exchange
        #expect(try await exchange.append(try own.removal(of: its.device.id, using: random)))
        let error = await #expect(throws: CKError.self) { try await KeyDevice(cloud, in: folder).toOpen() }
        #expect(error?.code == .internalError)
        #expect(try await KeyDevice(cloud, in: folder).userKeys().remove("\(its.device.id)") == ["Notes"])
        let taken = try #require(try await KeyDevice(cloud, in: folder).toOpen())
        #expect(taken.newest.id.version == 3 && taken.manifest.device == own.device.id && taken.sender == own.device.id)
        #expect(taken.key(first.newest.id)?.proof == first.newest.proof)
        await #expect(throws: KeyLogFault.self) { try await device.userKeys().remove("\(its.device.id)") }
    }

    // MARK: A hostile server

    /// Checks that a new process takes neither keys nor makes any, and says so.
    private func expectRefused(_ words: String, statements: Int) async throws {
        let error = try await KeyDevice(cloud, in: folder).refusal()
        #expect(error.code == .internalError && remedy(error).contains(words), "\(error)")
        #expect(await cloud.keys.statements.count == statements)
    }

    @Test func `A8: a log that the server drops is told, and no key is made in its place`() async throws {
        _ = try await KeyDevice(cloud, in: folder).toSave()
        await cloud.change { $0.show(PretendKeys()) }
        try await expectRefused("shows no log of keys", statements: 0)
    }

    @Test func `A8: an account that the server made up does not end the recovery words of one that was just begun`() async throws {
        let forger = PretendCloud()
        _ = try await KeyDevice(forger, in: folder, "forger").toSave()
        let forged = await forger.keys
        let device = try KeyDevice(cloud, in: folder)
        let (account, random) = (try #require(KeyDevice.account), device.line.timekeeper.keyRandom)
        _ = try await device.line.keyStore.update(account) { kept throws(CKError) in try kept.toBegin(of: account.name, using: random) }
        await cloud.change { $0.show(forged) }
        #expect(try await device.refusal().code == .accountTemporarilyUnavailable)
        #expect(try await device.kept().recovery?.count == RecoveryWords.secretLength)
    }

    @Test func `A8: a log that ends before what was seen is refused`() async throws {
        let device = try KeyDevice(cloud, in: folder)
        _ = try await device.toSave()
        try await device.replaceRecovery()
        _ = try await device.own()
        await cloud.change { $0.statements.removeLast() }
        try await expectRefused("The log ends at statement 0, and had statement 1", statements: 1)
    }

    @Test func `A8: the account of another device in the place of the known one is refused`() async throws {
        _ = try await KeyDevice(cloud, in: folder).toSave()
        let forger = PretendCloud()
        _ = try await KeyDevice(forger, in: folder, "forger").toSave()
        let forged = await forger.keys
        await cloud.change { $0.show(forged) }
        try await expectRefused("signed reset", statements: 1)
    }

    @Test func `A12: a scope that ends before what was seen is refused`() async throws {
        let device = try KeyDevice(cloud, in: folder)
        _ = try await device.toSave()
        let old = await cloud.keys.scopes
        try await device.replaceRecovery()
        _ = try await KeyDevice(cloud, in: folder).toSave()
        await cloud.change { $0.scopes = old }
        try await expectRefused("The scope ends at manifest 0, and had manifest 1", statements: 2)
    }

    @Test func `A12 and A23: keys of a zone that the server drops are missed, unless a signed reset has ended them`() async throws {
        let device = try KeyDevice(cloud, in: folder)
        _ = try await device.toSave()
        await cloud.change { $0.scopes = [:] }
        let error = try #require(await #expect(throws: CKError.self) { try await KeyDevice(cloud, in: folder).toOpen() })
        #expect(error.code == .internalError && remedy(error).contains("this device has seen some"))
        try await device.reset()
        #expect(try await KeyDevice(cloud, in: folder).toOpen() == nil)
        // The next log begins with a save in another zone.
        _ = try await KeyDevice(cloud, in: folder).toSave(CKRecordZone.ID(zoneName: "Lists"))
        #expect(try await KeyDevice(cloud, in: folder).toOpen() == nil)
    }

    @Test func `an answer that is older than what another process has kept meanwhile is asked for again`() async throws {
        _ = try await KeyDevice(cloud, in: folder).toSave()
        let (reader, other, saver) = (try KeyDevice(cloud, in: folder), try KeyDevice(cloud, in: folder), try KeyDevice(cloud, in: folder))
        await cloud.beforeNextAnswer(to: "scopes/list") {
            try? await other.replaceRecovery()
            _ = try? await saver.toSave()
        }
        #expect(try await reader.toOpen()?.newest.id.version == 2)
        #expect(try await saver.toOpen()?.newest.id.version == 2)
    }

    @Test func `A15: the scope of a zone is refused at another`() async throws {
        let device = try KeyDevice(cloud, in: folder)
        _ = try await device.toSave(CKRecordZone.ID(zoneName: "Lists"))
        await cloud.change { $0.scopes["Notes"] = $0.scopes["Lists"] }
        try await expectRefused("another", statements: 1)
    }

    @Test func `A12: keys of a zone that was deleted are refused for the zone that took its name`() async throws {
        _ = try await KeyDevice(cloud, in: folder).toSave()
        let old = await cloud.keys.scopes
        await cloud.change { $0.scopes = [:] }
        _ = try await KeyDevice(cloud, in: folder).toSave()
        await cloud.change { $0.scopes = old }
        try await expectRefused("an earlier zone", statements: 1)
    }

    @Test func `A12: a device with as many zones as it keeps goes on with those, and takes no other in the place of one`() async throws {
        let device = try KeyDevice(cloud, in: folder)
        let (keys, own) = (try await device.toSave(), try await device.own())
        let shown = try #require(try await device.userKeys().exchange.scope(of: keys.place))
        var kept = try await device.kept()
        let notes = try #require(kept.scopes["Notes"])
        for number in 1..<KeptKeys.scopesMax { kept.scopes["zone \(number)"] = notes }
        #expect(try kept.take(shown, at: keys.place, of: own).newest.proof == keys.newest.proof)
        kept.scopes["Notes"] = nil
        kept.scopes["zone 0"] = notes
        let error = #expect(throws: CKError.self) { try kept.take(shown, at: keys.place, of: own) }
        #expect(error?.code == .internalError && error.map(remedy)?.contains("nacre keys trust-tree") == true)
        #expect(kept.scopes.count == KeptKeys.scopesMax && kept.scopes["Notes"] == nil)
    }

    @Test func `an answer about the log that tells of a reset is held back, and asks for no other`() async throws {
        let device = try KeyDevice(cloud, in: folder)
        _ = try await device.toSave()
        let reset = PretendCloud.refusal(ServerError(.zoneNotFound, ServerError.encryptedDataResetReason))
        let faults = [PretendCloud.Fault](repeating: .answer(status: reset.status, headers: [:], body: reset.body), count: 20)
        for fault in faults { await cloud.failNext(fault) }
        let count = await cloud.paths.count
        let error = try #require(await #expect(throws: CKError.self) { try await device.own() })
        #expect(error.code == .internalError && !error.tellsReset, "\(error)")
        #expect(await cloud.paths.dropFirst(count) == ["keys/log"])
    }

    @Test func `a container that reaches its server by no network keeps its keys in memory`() throws {
        let setting = Setting()
        #expect(setting.container.line.keyStore.folder == nil)
    }
}
