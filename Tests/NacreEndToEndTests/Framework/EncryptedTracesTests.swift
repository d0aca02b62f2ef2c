import Foundation
import NacreCloudTestSupport
import NacreCrypto
import NacreEncryptionForms
import NacreLocks
import Testing

@testable import CloudKit
@testable import NacreEncryption

/// Tests of what a run with encrypted values leaves behind, on the server and on the user's machine.
struct EncryptedTracesTests {
    private static let text = "measles-7f31"
    private static let date = Date(timeIntervalSinceReferenceDate: 700_000_000.123_456_7)

    /// The machine of a user: its folders, and the processes of its apps.
    private struct Machine {
        let folder: TemporaryFolder
        let cloud: NewCloud
        let token: String

        var keys: String { folder.path + "/data/nacre/keys" }
        /// The folder for what an app keeps and prints by itself.
        var app: String { folder.path + "/app" }

        init(_ server: RunningServer) async throws {
            folder = try TemporaryFolder()
            cloud = try await NewCloud(server)
            try await cloud.addUser(Device.ada)
            token = try await cloud.device(of: Device.ada)
            try FileManager.default.createDirectory(atPath: app, withIntermediateDirectories: true)
        }

        func process() throws -> KeyProcess { try KeyProcess(cloud, token: token, keysIn: keys) }
        func database() throws -> CKDatabase { CKContainer(line: try process().line).privateCloudDatabase }

        func keep(_ data: Data, as name: String) throws { try data.write(to: URL(filePath: "\(app)/\(name)")) }
    }

    /// An app whose notes have an encrypted value.
    private final class SealingApp: CKSyncEngineDelegate {
        let state = Locked(Data())

        func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
            guard case .stateUpdate(let update) = event, let data = try? JSONEncoder().encode(update.stateSerialization) else { return }
            state.withLock { $0 = data }
        }

        func nextRecordZoneChangeBatch(
            _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
        ) async -> CKSyncEngine.RecordZoneChangeBatch? {
            await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: syncEngine.state.pendingRecordZoneChanges) { recordID in
                EncryptedTracesTests.note(recordID.recordName)
            }
        }
    }

    private static func note(_ name: String) -> CKRecord {
        let record = Device.note(name, "plain bread")
        record.encryptedValues["diagnosis"] = text
        record.encryptedValues["date"] = date
        record.encryptedValues["list"] = [text, ""]
        record.encryptedValues["bytes"] = Data(text.utf8)
        return record
    }

    // MARK: The run

    /// Saves, reads, meets a conflict, archives, and prints what an app may print.
    private func useRecords(of machine: Machine) async throws {
        let (a, b) = (try machine.database(), try machine.database())
        try await a.save(CKRecordZone(zoneID: Device.zoneID))
        let mine = try await a.save(Self.note("one"))
        let yours = try await b.record(for: Device.recordID("one"))
        mine.encryptedValues["list"] = [Self.text, "tea"]
        try await a.save(mine)
        yours.encryptedValues["list"] = [Self.text, "rest"]
        let error = try #require(await #expect(throws: CKError.self) { try await b.save(yours) })
        #expect(error.serverRecord?.encryptedValues["list"] as? [String] == [Self.text, "tea"])
        let query = CKQuery(recordType: "Note", predicate: NSPredicate(format: "text == %@", "plain bread"))
        let found = try await b.records(matching: query, inZoneWith: Device.zoneID)
        let changes = try await b.recordZoneChanges(inZoneWith: Device.zoneID, since: nil)
        #expect(found.matchResults.count == 1 && changes.modificationResultsByID.count == 1)
        yours.encryptedValues["late"] = Self.text
        let store = KeyStore(folder: machine.keys)
        let archive = try ArchivedSecrets.$keys.withValue(store) {
            try NSKeyedArchiver.archivedData(withRootObject: yours, requiringSecureCoding: true)
        }
        try machine.keep(archive, as: "archive")
        var printed = "\(mine) \(mine.debugDescription) \(error) \(error.localizedDescription) \(error.userInfo.keys) \(found) \(changes)"
        dump(try await machine.process().toOpen(), to: &printed)
        try machine.keep(Data(printed.utf8), as: "printed")
    }

    /// Has a `CKSyncEngine` send a note and fetch all.
    private func sync(on machine: Machine) async throws {
        let app = SealingApp()
        var configuration = CKSyncEngine.Configuration(database: try machine.database(), stateSerialization: nil, delegate: app)
        configuration.automaticallySync = false
        let engine = CKSyncEngine(configuration)
        engine.state.add(pendingRecordZoneChanges: [.saveRecord(Device.recordID("two"))])
        try machine.keep(JSONEncoder().encode(app.state.withLock { $0 }), as: "state before")
        try await engine.sendChanges()
        try await engine.fetchChanges()
        let state = app.state.withLock { $0 }
        #expect(!state.isEmpty)
        try machine.keep(state, as: "state")
    }

    /// Returns the keys of the run, with their names.
    private func secrets(of machine: Machine) async throws -> [(name: String, bytes: [UInt8])] {
        var secrets: [(name: String, bytes: [UInt8])] = []
        for file in try FileManager.default.contentsOfDirectory(atPath: machine.keys).sorted() where !file.hasSuffix(".lock") {
            let data = try Data(contentsOf: URL(filePath: "\(machine.keys)/\(file)"))
            if file == "archives" {
                secrets.append(("the key of archives", [UInt8](data)))
                continue
            }
            let kept = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
            for name in ["signing", "agreement", "recovery"] {
                if let text = kept[name] as? String { secrets.append((name, try Hex.decode(text))) }
            }
        }
        let own = try await machine.process().keys().own()
        for key in own.accountKeys { secrets.append(("account key \(key.generation)", key.key.bytes.exposed)) }
        let zone = try #require(try await machine.process().toOpen())
        for key in [zone.newest] + zone.older { secrets.append(("version \(key.id.version) of the zone's key", key.secret.exposed)) }
        return secrets
    }

    // MARK: The search

    /// Returns the forms in which bytes can lie in a file: as they are, in hexadecimal, and in Base64 at any place.
    private static func forms(of bytes: [UInt8]) -> [Data] {
        var texts = [Hex.encode(bytes), Hex.encode(bytes).uppercased()]
        for shift in 0..<3 {
            let whole = Data([UInt8](repeating: 0, count: shift) + bytes)
            // The letters that are of these bytes alone, whatever stands before and behind.
            let text = String(whole.base64EncodedString().prefix(whole.count * 8 / 6).dropFirst((shift * 8 + 5) / 6))
            texts += [text, text.replacing("+", with: "-").replacing("/", with: "_")]
        }
        return [Data(bytes)] + texts.map { Data($0.utf8) }
    }

    /// Returns the files below folders that have one of the forms.
    static func files(with bytes: [UInt8], in folders: [String]) throws -> [String] {
        let forms = forms(of: bytes)
        return try folders.flatMap { folder in
            try FileManager.default.subpathsOfDirectory(atPath: folder).map { "\(folder)/\($0)" }.filter { path in
                guard let data = FileManager.default.contents(atPath: path) else { return false }
                return forms.contains { data.range(of: $0) != nil }
            }
        }
    }

    @Test func `A24: nothing that a whole run leaves behind has a plaintext or a key, but for the files of keys`() async throws {
        try await RunningServer.with(["--log-level", "debug"]) { server in
            let machine = try await Machine(server)
            try await useRecords(of: machine)
            try await sync(on: machine)
            let words = try await machine.process().keys().replaceRecovery().words
            let record = try await machine.database().record(for: Device.recordID("two"))
            record.encryptedValues["late"] = Self.text
            try await machine.database().save(record)

            for command in [
                ["logs", "--format", "json"], ["logs", "--server-lines"], ["telemetry", "--last", "hour", "--json"],
                ["backup", "create", "run.backup"],
            ] {
                let run = try await Nacre.run(command + ["--data", server.data], in: server.scratch)
                #expect(run.status == 0, "\(command): \(run.messages)")
            }
            var secrets = try await secrets(of: machine)
            #expect(secrets.count >= 7, "two keys of the device, that of archives, two generations and two versions")
            #expect(secrets.allSatisfy { $0.name.hasPrefix("account") || $0.bytes.count == 32 && Set($0.bytes).count > 8 })
            let seconds = Self.date.timeIntervalSinceReferenceDate.bitPattern
            secrets.append(("the text", Array(Self.text.utf8)))
            secrets.append(("the date", withUnsafeBytes(of: seconds.bigEndian) { Array($0) }))
            secrets.append(("the date on this machine", withUnsafeBytes(of: seconds.littleEndian) { Array($0) }))
            secrets.append(("recovery words", Array(words.prefix(3).joined(separator: " ").utf8)))
            // A server that stops writes down its telemetry.
            #expect(try await server.stop() == 0)
            let machineFolders = [machine.app] + ["cache", "config", "state"].map { "\(machine.folder.path)/\($0)" }
            let folders = [server.data, server.scratch] + machineFolders.filter { FileManager.default.fileExists(atPath: $0) }
            for (name, bytes) in secrets {
                #expect(try Self.files(with: bytes, in: folders) == [], "\(name)")
            }
            // The search finds what is there.
            let plain = try Self.files(with: Array("plain bread".utf8), in: folders)
            #expect(plain.contains { $0.hasPrefix(server.data) } && plain.contains { $0.hasPrefix(machine.app) }, "\(plain)")
            #expect(try Self.files(with: secrets[1].bytes, in: [machine.keys]).count == 1)
        }
    }
}
