import Foundation
import NacreCloudTestSupport
import NacreCloudTorture
import NacreLocks
import Testing

/// Tests that `kill -9` at any moment loses nothing acknowledged, and leaves nothing half done.
struct KillLoopTests {
    private static let zones = ["North", "South", "West"]
    private static let writers = 6
    private static let readers = 3
    /// `NACRE_KILL_ROUNDS` sets another number of rounds.
    private static let rounds = ProcessInfo.processInfo.environment["NACRE_KILL_ROUNDS"].flatMap { Int($0) } ?? 10
    /// Answers between two kills, at most.
    private static let answersPerRound = 60

    @Test func `what was acknowledged survives kill -9, whole and once, and every token leads to it`() async throws {
        var seed = SeededRandom()
        // The seed repeats a failure.
        print(seed)
        let log = OutsideLog(zones: Self.zones)
        try await RunningServer.with { server in
            let cloud = try await NewCloud(server)
            try await cloud.addUser("ada@example.com")
            let token = try await cloud.device(of: "ada@example.com")
            let client = SurvivingClient(client: cloud.client(token, keepsConnections: false), server: server)
            let made: RawZones = try await client.post("zones/modify", RawZonesModify(operations: Self.zones.map { RawZoneOperation("create", $0) }))
            try #require(made.zones.allSatisfy { $0.serverErrorCode == nil })
            try await work(against: server, client, log, &seed)
            for zone in Self.zones {
                let (history, witnesses) = try await Aftermath(client: client).completed(log.history(of: zone))
                report(history.violations(), of: history, seed)
                check(witnesses, against: history, seed)
            }
        }
    }

    /// Runs writers and readers while the server is killed and started again, round after round.
    private func work(against server: RunningServer, _ client: SurvivingClient, _ log: OutsideLog, _ seed: inout SeededRandom) async throws {
        let goesOn = Locked(true)
        let writers = (0..<Self.writers).map { Writer("w\($0)", zones: Self.zones, client: client, log: log, seed: seed.branch()) }
        let readers = (0..<Self.readers).map { _ in Reader(zones: Self.zones, client: client, log: log, seed: seed.branch()) }
        async let written: Void = each(writers, endsWith: log) { writer in try await writer.run { goesOn.withLock { $0 } } }
        async let read: Void = each(readers) { reader in try await reader.run() }
        for _ in 0..<Self.rounds {
            // When one writer is answered, the others are anywhere between their first byte and their commit.
            await log.acknowledged(log.acknowledged + Int.random(in: 1...Self.answersPerRound, using: &seed))
            await server.kill()
            try await server.start()
        }
        await log.acknowledged(log.acknowledged + Self.writers)
        goesOn.withLock { $0 = false }
        _ = try await (written, read)
    }

    /// Runs all at once. Tasks that wait for the log are told when it is complete, also after an error.
    private func each<Worker: Sendable>(
        _ workers: [Worker], endsWith log: OutsideLog? = nil, _ body: @escaping @Sendable (inout Worker) async throws -> Void
    ) async throws {
        defer { log?.close() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for worker in workers {
                group.addTask {
                    var worker = worker
                    try await body(&worker)
                }
            }
            try await group.waitForAll()
        }
    }

    private func report(_ violations: [Violation], of history: ZoneNotes, _ seed: SeededRandom) {
        let acknowledged = history.batches.filter { if case .acknowledged = $0.outcome { true } else { false } }.count
        #expect(acknowledged > 0)
        #expect(!history.replays.isEmpty && !history.looks.isEmpty)
        #expect(violations.isEmpty, "\(seed), zone \(history.zone), \(acknowledged) of \(history.batches.count) batches")
    }

    /// Checks the data alone: each seal fits exactly its batch, and the counter counted each of its writes.
    private func check(_ witnesses: [RawRecord], against history: ZoneNotes, _ seed: SeededRandom) {
        let acknowledged = history.batches.filter { if case .acknowledged = $0.outcome { true } else { false } }
        let batches = Dictionary(uniqueKeysWithValues: acknowledged.map { ($0.id, $0) })
        var sealed: Set<String> = []
        for seal in witnesses where Writer.isSeal(seal.recordName ?? "") && seal.fields != nil {
            guard let id = seal.text("batch"), let members = batches[id]?.writes.dropLast() else {
                Issue.record("\(seed): the seal \(seal.recordName ?? "") belongs to no acknowledged batch")
                continue
            }
            sealed.insert(id)
            #expect(seal.number("size") == Int64(members.count + 1), "\(seed)")
            #expect(seal.texts("members") == members.map(\.record), "\(seed)")
            #expect(seal.text("checksum") == Writer.checksum(of: members.map(\.version)), "\(seed)")
        }
        #expect(sealed == Set(batches.keys), "\(seed)")
        let counts = acknowledged.filter { $0.writes.contains { $0.record == Writer.counter } }.count
        let counter = witnesses.first { $0.recordName == Writer.counter }
        #expect(counter?.number("number") ?? 0 == Int64(counts), "\(seed): each count once")
    }
}
