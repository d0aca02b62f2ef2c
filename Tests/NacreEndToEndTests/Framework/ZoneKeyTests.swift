import Foundation
import NacreCloudTestSupport
import NacreEncryption
import NacreEncryptionForms
import Testing

@testable import CloudKit

/// A process of one of Ada's devices, which keeps its keys in a folder of the device.
struct KeyProcess: Sendable {
    let line: ServerLine

    /// - Parameter folder: the device's folder of keys.
    init(_ cloud: NewCloud, token: String, keysIn folder: String) throws {
        let server = CloudKitServer(
            url: try WebServicesClient.url(cloud.server.url), environment: .development, apiToken: cloud.apiToken, accountToken: token)
        // A device that waits for another one asks again at once.
        var timekeeper = Timekeeper.system
        timekeeper.pause = { _ in await Task.yield() }
        line = ServerLine(
            identifier: cloud.container, source: .explicit(server), timekeeper: timekeeper, keyStore: KeyStore(folder: folder))
    }

    private var conversation: Conversation {
        Conversation(line: line, scope: .private, patience: Patience(requestTimeout: 60, resourceTimeout: nil, retriesNetworkErrors: false))
    }

    func toOpen(_ zone: CKRecordZone.ID = Device.zoneID) async throws -> ZoneKeys? { try await conversation.zoneKeys(of: zone) }
    func toSave(_ zone: CKRecordZone.ID = Device.zoneID) async throws -> ZoneKeys { try await conversation.zoneKeysForSaving(in: zone) }
    func keys() async throws -> UserKeys { try await CKContainer(line: line).userKeys() }

    /// Runs a server on which Ada has a zone, and as many devices as the body names.
    static func withDevices(
        _ body: (_ process: (_ device: String) throws -> KeyProcess, _ folder: TemporaryFolder) async throws -> Void
    ) async throws {
        let folder = try TemporaryFolder()
        try await RunningServer.with { server in
            let cloud = try await NewCloud(server)
            try await cloud.addUser(Device.ada)
            let token = try await cloud.device(of: Device.ada)
            try await Device(cloud, token: token).database.save(CKRecordZone(zoneID: Device.zoneID))
            try await body({ try KeyProcess(cloud, token: token, keysIn: "\(folder.path)/\($0)") }, folder)
        }
    }
}

/// Tests of the keys of encrypted values that devices make, keep and open, over a server in its own process.
struct ZoneKeyTests {
    @Test func `the first use makes the keys of account and zone, and another process of the device opens them`() async throws {
        try await KeyProcess.withDevices { process, folder in
            let phone = try process("phone")
            #expect(try await phone.toOpen() == nil)
            let keys = try await phone.toSave()
            #expect(keys.newest.id.version == 1)
            #expect(try await process("phone").toOpen()?.newest.proof == keys.newest.proof)
            #expect(try await process("phone").toSave().newest.proof == keys.newest.proof)
            let names = try FileManager.default.contentsOfDirectory(atPath: folder.path + "/phone").filter { !$0.hasSuffix(".lock") }
            let name = try #require(names.first)
            let mode = try FileManager.default.attributesOfItem(atPath: "\(folder.path)/phone/\(name)")[.posixPermissions] as? Int
            #expect(names.count == 1 && mode == 0o600)
        }
    }

    @Test func `another device without keys is told how to come by them`() async throws {
        try await KeyProcess.withDevices { process, _ in
            _ = try await process("phone").toSave()
            let tablet = try process("tablet")
            for _ in 0..<2 {
                let error = try #require(await #expect(throws: CKError.self) { try await tablet.toSave() })
                #expect(error.code == .accountTemporarilyUnavailable)
                #expect((error.userInfo["CKErrorRemedy"] as? String)?.contains("nacre keys enrol") == true)
            }
            await #expect(throws: CKError.self) { try await tablet.toOpen() }
        }
    }

    @Test func `processes of a device that begin at once have the same keys`() async throws {
        try await KeyProcess.withDevices { process, _ in
            let processes = try (0..<4).map { _ in try process("phone") }
            let proofs = try await withThrowingTaskGroup(of: String.self) { group in
                for process in processes { group.addTask { "\(try await process.toSave().newest.proof)" } }
                return try await group.reduce(into: Set()) { $0.insert($1) }
            }
            #expect(proofs.count == 1)
        }
    }

    @Test func `the default zone has keys before anything was saved in it, and a zone that is missing has none`() async throws {
        try await KeyProcess.withDevices { process, _ in
            let phone = try process("phone")
            let keys = try await phone.toSave(CKRecordZone.default().zoneID)
            #expect(try await process("phone").toOpen(CKRecordZone.default().zoneID)?.newest.proof == keys.newest.proof)
            let error = try #require(await #expect(throws: CKError.self) { try await phone.toSave(CKRecordZone.ID(zoneName: "Missing")) })
            #expect(error.code == .zoneNotFound)
        }
    }

    @Test func `a zone that was deleted and made again has another key`() async throws {
        try await KeyProcess.withDevices { process, _ in
            let phone = try process("phone")
            let first = try await phone.toSave()
            let database = CKContainer(line: phone.line).privateCloudDatabase
            try await database.deleteRecordZone(withID: Device.zoneID)
            try await database.save(CKRecordZone(zoneID: Device.zoneID))
            let second = try await process("phone").toSave()
            #expect(second.newest.id.scope != first.newest.id.scope && second.older.isEmpty)
        }
    }
}
