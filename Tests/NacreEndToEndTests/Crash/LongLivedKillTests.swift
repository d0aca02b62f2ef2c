import CloudKit
import Foundation
import NacreCloudTestSupport
import Testing

/// Tests of long-lived operations with kills of the sending app and of the agent: each is done once, and its app gets
/// all results.
struct LongLivedKillTests {
    /// `NACRE_KILL_ROUNDS` sets another number of rounds.
    private static let rounds = ProcessInfo.processInfo.environment["NACRE_KILL_ROUNDS"].flatMap { Int($0) } ?? 6
    private static let zones = ["A", "B", "C"]
    private static let notesPerZone = 5
    private static let photoBytes = 300_000

    /// A user's machine and the server, with a proxy between them that counts bytes.
    private struct Machine {
        let folder: TemporaryFolder
        let proxy: CuttingProxy
        let cloud: NewCloud
        let token: String

        var state: String { folder.path + "/state" }

        var environment: [String: String] {
            [
                "CLOUDKIT_SERVER_URL": proxy.url, "CLOUDKIT_CONTAINER": cloud.container, "CLOUDKIT_API_TOKEN": cloud.apiToken,
                "CLOUDKIT_ACCOUNT_TOKEN": token, "CLOUDKIT_AGENT": Launched.executable, "XDG_STATE_HOME": state,
                "XDG_CACHE_HOME": folder.path + "/cache", "XDG_CONFIG_HOME": folder.path + "/config",
            ]
        }

        func app(_ arguments: String...) throws -> Launched {
            try Launched(arguments, program: "NacreLongLivedApp", in: folder.path, environment: environment)
        }

        /// Returns the running agents of this machine.
        func agents() -> [pid_t] {
            let mine = "XDG_STATE_HOME=\(state)"
            return ((try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []).compactMap { pid_t($0) }.filter { pid in
                func words(_ file: String) -> [String] {
                    let data = FileManager.default.contents(atPath: "/proc/\(pid)/\(file)") ?? Data()
                    return data.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
                }
                return words("cmdline").dropFirst().first == "agent" && words("environ").contains(mine)
            }
        }

        func killAgents() { for pid in agents() { kill(pid, SIGKILL) } }
    }

    private func withMachine(_ body: (Machine) async throws -> Void) async throws {
        let proxy = try CuttingProxy()
        defer { proxy.close() }
        try await RunningServer.with(["--public-url", proxy.url]) { server in
            proxy.lead(to: server.port)
            let cloud = try await NewCloud(server)
            try await cloud.addUser(Device.ada)
            let machine = Machine(folder: try TemporaryFolder(), proxy: proxy, cloud: cloud, token: try await cloud.device(of: Device.ada))
            defer { machine.killAgents() }
            for zone in Self.zones {
                try Data(repeating: UInt8(ascii: "a"), count: Self.photoBytes).write(to: URL(fileURLWithPath: "\(machine.folder.path)/\(zone)"))
            }
            try await body(machine)
        }
    }

    /// The output of a launch that gets all results.
    private var all: [String] {
        Self.zones.flatMap { zone in (0..<Self.notesPerZone).map { "saved \(zone)/note\($0) ok" } } + ["end ok"]
    }

    private func makeZones(_ machine: Machine, fresh: Bool) async throws {
        let device = try Device(machine.cloud, token: machine.token)
        let zones = Self.zones.map { CKRecordZone(zoneName: $0) }
        if fresh { _ = try await device.database.modifyRecordZones(saving: [], deleting: zones.map(\.zoneID)) }
        for result in try await device.database.modifyRecordZones(saving: zones, deleting: []).saveResults.values { _ = try result.get() }
    }

    /// Checks the server's records, and that each was made by one commit.
    private func check(_ machine: Machine) async throws {
        let device = try Device(machine.cloud, token: machine.token)
        for zone in Self.zones {
            let (records, _, _, _) = try await device.changes(in: CKRecordZone.ID(zoneName: zone))
            #expect(records.count == Self.notesPerZone)
            for (recordID, record) in records {
                #expect(record["text"] as? String == "\(zone) \(recordID.recordName.dropFirst(4))")
                #expect(record.creationDate == record.modificationDate)
            }
            let photo = records[CKRecord.ID(recordName: "note0", zoneID: CKRecordZone.ID(zoneName: zone))]?["photo"] as? CKAsset
            let bytes = try photo?.fileURL.map { try Data(contentsOf: $0) }
            #expect(bytes?.count == Self.photoBytes)
        }
    }

    @Test func `an app that is killed anywhere in a long-lived operation has it done once, and hears all of it at its next launch`() async throws {
        var seed = SeededRandom()
        print(seed)
        try await withMachine { machine in
            try await makeZones(machine, fresh: false)
            var told = 0
            for round in 0..<Self.rounds {
                machine.proxy.reset()
                // A photo and the requests of each zone, with the repeated bytes of one attempt that was cut off.
                let end = Int.random(in: 0...(Self.photoBytes + 20_000) * Self.zones.count, using: &seed)
                let app = try machine.app("save", machine.folder.path, "\(Self.notesPerZone)")
                while app.isRunning, machine.proxy.sent < end || !app.outputText.contains("kept") { await Task.yield() }
                app.signal(SIGKILL)
                _ = await app.ended()
                let heard = app.outputText.split(separator: "\n").map(String.init)
                #expect(app.errorText.isEmpty)
                try #require(heard.first == "kept")
                // In some rounds the agent is killed as well, and the app's launch starts none: the app finishes the
                // operation itself.
                let killsAgent = Bool.random(using: &seed)
                if killsAgent { machine.killAgents() }
                let isOver = heard.contains("end ok")
                let next = try machine.app("resume")
                #expect(await next.ended() == 0)
                let lines = next.outputText.split(separator: "\n").map(String.init)
                if isOver, lines == ["left 0"] {
                    #expect(heard == ["kept"] + all)
                } else {
                    told += 1
                    #expect(lines == ["found"] + all + ["left 0"], "\(seed), round \(round), killed after \(end) bytes, agent killed: \(killsAgent)")
                }
                try await check(machine)
                try await makeZones(machine, fresh: true)
            }
            #expect(told > 0)
        }
    }

    @Test func `an app that ends while its threads use OpenSSL ends well`() async throws {
        let folder = try TemporaryFolder()
        for _ in 0..<20 { #expect(await (try Launched(["leave"], program: "NacreLongLivedApp", in: folder.path)).ended() == 0) }
    }

    @Test func `what an app leaves behind is done though no app comes back, and its agent ends`() async throws {
        try await withMachine { machine in
            try await makeZones(machine, fresh: false)
            // While the proxy passes nothing on, the app cannot finish before it is killed, however late that is.
            try await machine.proxy.holding {
                let app = try machine.app("save", machine.folder.path, "\(Self.notesPerZone)")
                while app.isRunning, !app.outputText.contains("kept") { await Task.yield() }
                app.signal(SIGKILL)
                _ = await app.ended()
                #expect(app.outputText == "kept\n")
            }
            while !machine.agents().isEmpty { await Task.yield() }
            try await check(machine)
            let sent = machine.proxy.sent
            let next = try machine.app("resume")
            #expect(await next.ended() == 0)
            #expect(next.outputText.split(separator: "\n").map(String.init) == ["found"] + all + ["left 0"])
            // No request is sent.
            #expect(machine.proxy.sent - sent == 0)
        }
    }
}
