import Foundation
import NacreCloudTestSupport
import NacreLocks
import Testing

/// Tests that `kill -9` at any moment of an upload, a save or a collection loses no acknowledged file, and leaves
/// none without a record.
struct AssetKillTests {
    /// `NACRE_ASSET_KILL_ROUNDS` sets another number of rounds.
    private static let rounds = ProcessInfo.processInfo.environment["NACRE_ASSET_KILL_ROUNDS"].flatMap { Int($0) } ?? 4
    private static let writers = 3
    /// Saves between two kills, at most.
    private static let savesPerRound = 6

    @Test(.timeLimit(.minutes(30)))
    func `every file that was acknowledged reads back equal after kill -9, and no chunk is left or missing`() async throws {
        var seed = SeededRandom()
        print(seed)
        try await RunningServer.with { server in
            let cloud = try await NewCloud(server)
            try await cloud.addUser("ada@example.com")
            let client = cloud.client(try await cloud.device(of: "ada@example.com"), keepsConnections: false)
            let kept = RawFiles(client: client, zone: "Kept")
            try await kept.zone("create")
            let saved = Locked<[String: Int]>([:])
            let goesOn = Locked(true)
            async let writing: Void = write(server, client, saved) { goesOn.withLock { $0 } }
            for _ in 0..<Self.rounds {
                let wanted = saved.withLock { $0.count } + Int.random(in: 1...Self.savesPerRound, using: &seed)
                while saved.withLock({ $0.count }) < wanted { await Task.yield() }
                // At a random point of the writers' further work.
                for _ in 0..<Int.random(in: 0..<2000, using: &seed) { await Task.yield() }
                await server.kill()
                try await server.start()
            }
            goesOn.withLock { $0 = false }
            try await writing
            let files = saved.withLock { $0 }
            #expect(files.count >= Self.rounds)
            for (record, number) in files { #expect(try await kept.bytes(of: record) == RawFiles.bytes(number), "\(seed): \(record)") }
            // Without any work under way, existing chunks are needed, and needed ones exist.
            #expect(try await server.stop() == 0)
            let collected = try await Nacre.run(["assets", "collect", "--data", server.data], in: server.scratch)
            #expect(collected.status == 0, "\(seed): \(collected.messages)")
            let verified = try await Nacre.run(["assets", "verify", "--data", server.data], in: server.scratch)
            #expect(verified.status == 0 && verified.output.contains(" 0 wrong"), "\(seed): \(verified.output) \(verified.messages)")
            try await server.start()
        }
    }

    /// Runs writers that save files in records which stay. Another one makes a zone of such files and deletes it:
    /// they are collected at once, and share chunks with those that stay.
    private func write(
        _ server: RunningServer, _ client: WebServicesClient, _ saved: Locked<[String: Int]>,
        while goesOn: @escaping @Sendable () -> Bool
    ) async throws {
        await withTaskGroup(of: Void.self) { group in
            for writer in 0..<Self.writers {
                group.addTask {
                    let files = RawFiles(client: client, zone: "Kept")
                    var number = writer
                    while goesOn() {
                        await server.whenUp()
                        // An unacknowledged save may have been done: its name is not used again.
                        if (try? await files.save(RawFiles.bytes(number), in: "r\(number)")) != nil {
                            saved.withLock { [number] in $0["r\(number)"] = number }
                        }
                        number += Self.writers
                    }
                }
            }
            group.addTask {
                let scrap = RawFiles(client: client, zone: "Scrap")
                var number = 0
                while goesOn() {
                    await server.whenUp()
                    try? await scrap.zone("create")
                    for _ in 0..<2 {
                        try? await scrap.save(RawFiles.bytes(number), in: "s\(number)")
                        number += 1
                    }
                    try? await scrap.zone("delete")
                }
            }
        }
    }
}
