import Foundation
import Glibc
import NacreCloudTestSupport
import NacreLocks
import Testing

/// Tests of backups under full load, with `kill -9` of the server or of the command at any moment.
struct BackupKillTests {
    /// `NACRE_BACKUP_ROUNDS` sets another number of rounds.
    private static let rounds = ProcessInfo.processInfo.environment["NACRE_BACKUP_ROUNDS"].flatMap { Int($0) } ?? 5
    private static let writers = 4
    private static let padding = String(repeating: "so that a backup takes its time; ", count: 300)

    @Test(.timeLimit(.minutes(30)))
    func `every finished backup is a state that was, and an unfinished one is recognized`() async throws {
        var seed = SeededRandom()
        print(seed)
        try await RunningServer.with { server in
            let cloud = try await FaultedCloud(server)
            let counters = (0..<Self.writers).map { _ in Locked(0) }
            let goesOn = Locked(true)
            async let writing: Void = write(cloud, counters, while: { goesOn.withLock { $0 } })
            var finished: [Finished] = []
            for round in 0..<Self.rounds {
                finished += try await attempt(round, server, counters, &seed)
                if try !server.process.isRunning { try await server.start() }
            }
            // One backup without a kill, so that at least one finishes.
            finished += try await attempt(Self.rounds, server, counters, &seed, disturbs: false)
            goesOn.withLock { $0 = false }
            try await writing
            #expect(finished.count >= 1)
            #expect(try await server.stop() == 0)
            for backup in finished { try await check(backup, server, cloud) }
        }
    }

    private struct Finished {
        var path: String
        /// Records of each writer that were acknowledged before the backup began; `sent`: sent before it ended.
        var acknowledged: [Int]
        var sent: [Int]
    }

    /// Each writer makes records one after the other, each once: its n-th exists only if all before it do.
    private func write(_ cloud: FaultedCloud, _ counters: [Locked<Int>], while goesOn: @escaping @Sendable () -> Bool) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (writer, counter) in counters.enumerated() {
                group.addTask {
                    while goesOn() {
                        await cloud.server.whenUp()
                        let next = counter.withLock { $0 }
                        // Sent again until it is answered: under its operation ID it is made once.
                        if await cloud.isCreated("w\(writer).\(next)", Self.padding) { counter.withLock { $0 = next + 1 } }
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    private func attempt(
        _ round: Int, _ server: RunningServer, _ counters: [Locked<Int>], _ seed: inout SeededRandom, disturbs: Bool = true
    ) async throws -> [Finished] {
        let path = "\(server.scratch)/round\(round).backup"
        let acknowledged = counters.map { $0.withLock { $0 } }
        let appearance = try FileAppearance(of: "round\(round).backup.part", in: server.scratch)
        let start: () throws -> Launched = { try Launched(["backup", "create", path, "--data", server.data], in: server.scratch) }
        var process = try start()
        if disturbs {
            _ = await appearance.wait(while: process, seconds: RunningServer.patienceSeconds)
            // After a random number of answers, anywhere from the first byte to beyond the last.
            let count = Int.random(in: 0..<60, using: &seed)
            let before = counters.reduce(0) { $0 + $1.withLock { $0 } }
            while counters.reduce(0, { $0 + $1.withLock { $0 } }) < before + count, process.isRunning { await Task.yield() }
            if seed.chance(3) { process.signal(SIGKILL) } else { await server.kill() }
        }
        var status = await process.ended()
        // The server may still be finishing the backup of a command that was killed, and makes one at a time.
        while !disturbs, status != 0, process.errorText.contains("a backup is under way") {
            process = try start()
            status = await process.ended()
        }
        if !disturbs { try #require(status == 0, "\(process.errorText)") }
        let sent = counters.map { $0.withLock { $0 } + 1 }
        // After a kill of the command the server finishes the backup, and names it last.
        if FileManager.default.fileExists(atPath: path) { return [Finished(path: path, acknowledged: acknowledged, sent: sent)] }
        let unnamed = path + ".part"
        guard FileManager.default.fileExists(atPath: unnamed), try !server.process.isRunning else { return [] }
        let verified = try await Nacre.run(["backup", "verify", unnamed], in: server.scratch).status
        #expect(verified == 0 || verified == 2, "\(seed)")
        // Killed between its last byte and its name it is a complete backup of one moment, like any other.
        return verified == 0 ? [Finished(path: unnamed, acknowledged: acknowledged, sent: sent)] : []
    }

    /// Restores the backup, serves it, and checks that its records are those of one moment.
    private func check(_ backup: Finished, _ server: RunningServer, _ cloud: FaultedCloud) async throws {
        #expect(try await Nacre.run(["backup", "verify", backup.path], in: server.scratch).status == 0)
        let restored = try await Nacre.run(["backup", "restore", backup.path, "--data", server.data, "--replace"], in: server.scratch)
        try #require(restored.status == 0, "\(restored.messages)")
        try await server.start()
        for (writer, (acknowledged, sent)) in zip(backup.acknowledged, backup.sent).enumerated() {
            let names = (0..<sent + 1).map { "w\(writer).\($0)" }
            let found = Set(try await cloud.texts(of: names).keys)
            #expect(found == Set(names.prefix(found.count)), "\(backup.path): a gap")
            #expect(found.count >= acknowledged && found.count <= sent, "\(backup.path): \(acknowledged)…\(sent), \(found.count)")
        }
        #expect(try await server.stop() == 0)
    }
}
