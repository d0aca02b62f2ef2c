import FoundationEssentials
import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudContainer
@testable import NacreCloudStorage
@testable import NacreCloudTasks

/// Tests with long random histories: many requests at once, whose answers must be those of a serial order.
@Suite(.serialized) struct HistoryTests {
    /// Operations on records in one history; `NACRE_OPERATIONS` sets another number.
    static let operations = LongSearch.rounds("NACRE_OPERATIONS", part: 10_000, whole: 12_000)
    /// Requests under way at once.
    static let writers = 8
    static let followers = 3

    @Test(arguments: Engine.embedded.filter(\.hasOneWriter))
    func `requests at once are answered as if they came one by one, and nobody misses a change`(
        engine: Engine
    ) async throws {
        let seed = HistorySeed.value
        let cloud = HistoryCloud(try await engine.makeStore())
        try await cloud.user.define(HistoryWriter.fields)
        let book = HistoryBook()
        try await ask(
            .zones(ZonesModifyRequest(operations: HistoryWriter.zones.map { ZoneOperation(.create, ZoneID(zoneName: $0)) })), cloud, book, seed)
        // From here on the cloud knows the database's key and the schema, and each request is one transaction.
        #expect(try await cloud.place() == 1)
        let followers = try await run([cloud], book, seed: seed)
        let entries = await book.entries
        try await replay(entries, of: cloud.store, context: "NACRE_SEED=\(seed), \(engine)")
        try await check(followers, cloud, context: "NACRE_SEED=\(seed), \(engine)")
        checkVariety(entries)
    }

    /// The serial order of this engine is unknown: only the final state of all clients is checked.
    /// - Parameter failsOneOf: One in so many reads and writes fails; the request is sent again.
    @Test(arguments: [nil, 10] as [UInt64?])
    func `where writes run side by side, and the store fails now and then, nobody misses a change`(failsOneOf: UInt64?) async throws {
        let seed = HistorySeed.value
        let store = SideBySideStore(seed: seed)
        let cloud = HistoryCloud(store)
        try await cloud.user.define(HistoryWriter.fields)
        store.fail(oneOf: failsOneOf)
        let book = HistoryBook()
        try await ask(
            .zones(ZonesModifyRequest(operations: HistoryWriter.zones.map { ZoneOperation(.create, ZoneID(zoneName: $0)) })), cloud, book, seed)
        let followers = try await run([cloud], book, seed: seed)
        try await check(followers, cloud, context: "NACRE_SEED=\(seed), side by side, \(failsOneOf.map { "one of \($0) fails" } ?? "none fails")")
    }

    @Test func `two servers over one store answer so that nobody misses a change`() async throws {
        let seed = HistorySeed.value
        let servers = SideBySideStore.servers(2).map { HistoryCloud($0) }
        try await servers[0].user.define(HistoryWriter.fields)
        let book = HistoryBook()
        let creations = HistoryWriter.zones.map { ZoneOperation(.create, ZoneID(zoneName: $0)) }
        try await ask(.zones(ZonesModifyRequest(operations: creations)), servers[1], book, seed)
        let followers = try await run(servers, book, seed: seed)
        for server in servers { try await check(followers, server, context: "NACRE_SEED=\(seed), two servers") }
    }

    private func ask(_ request: HistoryRequest, _ cloud: HistoryCloud, _ book: HistoryBook, _ seed: UInt64) async throws {
        var writer = HistoryWriter(cloud: cloud, book: book, random: SeededRandom(seed: seed), operations: 0)
        try await writer.ask(request)
    }

    /// Runs writers and followers, all at once, each at one of the servers.
    private func run(_ servers: [HistoryCloud], _ book: HistoryBook, seed: UInt64) async throws -> [HistoryFollower] {
        try await withThrowingTaskGroup(of: HistoryFollower?.self) { group in
            for index in 0..<Self.writers {
                var writer = HistoryWriter(
                    cloud: servers[index % servers.count], book: book, random: SeededRandom(seed: seed &+ UInt64(index)),
                    operations: Self.operations / Self.writers)
                group.addTask {
                    try await writer.run()
                    return nil
                }
            }
            for index in 0..<Self.followers {
                let reader = HistoryWriter(
                    cloud: servers[index % servers.count], book: book, random: SeededRandom(seed: seed &- UInt64(index)), operations: 0)
                var follower = HistoryFollower(reader, limit: [3, 10, 200][index % 3])
                group.addTask {
                    for _ in 0..<100 { try await follower.catchUp() }
                    return follower
                }
            }
            return try await group.reduce(into: []) { if let follower = $1 { $0.append(follower) } }
        }
    }

    // MARK: One by one

    /// Sends everything again to a fresh cloud in memory, in the order of the commits, and compares every answer.
    private func replay(_ entries: [HistoryEntry], of store: HistoryStore, context: String) async throws {
        let byID = Dictionary(uniqueKeysWithValues: entries.map { ($0.id, $0) })
        let reads = Dictionary(grouping: store.reads.keys.sorted(), by: { store.reads[$0] ?? 0 })
        let fresh = HistoryCloud(try await Engine.memory.makeStore())
        try await fresh.user.define(HistoryWriter.fields)
        var place: Int64 = 0
        var asked = 0
        for id in store.writes {
            asked += try await again(byID[id], fresh, context)
            let now = try await fresh.place()
            guard now != place else { continue }
            try #require(now == place + 1, "\(context): a commit raises the database's place by one")
            place = now
            for id in reads[place] ?? [] { asked += try await again(byID[id], fresh, context) }
        }
        #expect(asked == entries.count, "\(context): every request was asked again")
    }

    private func again(_ entry: HistoryEntry?, _ fresh: HistoryCloud, _ context: String) async throws -> Int {
        let entry = try #require(entry)
        let answer = try await HistoryContext.$current.withValue(HistoryContext(id: entry.id, now: entry.now)) { try await fresh.ask(entry.request) }
        try #require(answer == entry.answer, "\(context), request \(entry.id): \(entry.request)")
        if case (.query(let request), .query(let found)) = (entry.request, answer) {
            let expected = try await fresh.looking(for: request)
            let names = found.records.map(\.recordName)
            try #require(names == Array(expected.prefix(names.count)), "\(context), request \(entry.id): \(request)")
            try #require(found.continuationMarker != nil || names.count == expected.count, "\(context), request \(entry.id): \(request)")
        }
        return 1
    }

    // MARK: Followers

    private func check(_ followers: [HistoryFollower], _ cloud: HistoryCloud, context: String) async throws {
        #expect(followers.count == Self.followers)
        for var follower in followers {
            try await follower.catchUp()
            let list = try await repeating { try await cloud.user.cloud.listZones(in: cloud.user.target, by: cloud.user.caller) }
            let zones = list.zones.compactMap(\.zone?.zoneID.zoneName)
            #expect(Set(follower.copies.keys) == Set(zones).subtracting([ZoneID.defaultZoneName]), "\(context)")
            for (zone, copy) in follower.copies {
                let whole = try await repeating { try await cloud.user.changes(zone) }.records.compactMap(\.record)
                #expect(copy.records == Dictionary(uniqueKeysWithValues: whole.map { ($0.recordName, $0) }), "\(context), \(zone)")
                let names = (0..<30).map { "r\($0)" }
                let found = try await repeating { try await cloud.user.lookup(names, zone: zone) }
                #expect(Set(found.compactMap(\.record?.recordChangeTag)).isSubset(of: copy.records.values.map(\.recordChangeTag)), "\(context)")
            }
            #expect(follower.pages > 0)
        }
        try await checkCounts(cloud, context: context)
    }

    /// Checks that the counts of zones and databases are the bytes of their records.
    private func checkCounts(_ cloud: HistoryCloud, context: String) async throws {
        var place: CheckCursor? = .start
        while let here = place, [.databases, .zones].contains(here.table) {
            let slice = try await repeating { try await cloud.user.cloud.check(from: here, .look) }
            #expect(slice.findings.isEmpty, "\(context): \(slice.findings)")
            place = slice.next
        }
    }

    /// Shorter histories, such as those under a sanitizer, need not meet rare cases.
    private static let operationsForEverything = 10_000

    /// Checks that some of everything happened: an empty history would pass.
    private func checkVariety(_ entries: [HistoryEntry]) {
        var codes: [String: Int] = [:]
        for entry in entries {
            switch entry.answer {
            case .records(let response):
                for result in response.records { codes[result.error.map(text) ?? (result.record == nil ? "deleted" : "record"), default: 0] += 1 }
            case .failure(let error), .changes(.failure(_, let error)): codes[text(of: error), default: 0] += 1
            case .query(let response): codes[response.records.isEmpty ? "nothing found" : "found", default: 0] += 1
            case .zones, .changes, .database: break
            }
        }
        let wanted: [ServerError] = [
            .recordNotFound, .deleteViolatesReference(""), .parentNotFound(""), .targetNotFound(""), .atomicFailure, .tokenExpired,
            .zoneNotFound(.defaultZone), .lostSinceSaved,
        ]
        for reason in wanted.map(text) + [
            "deleted", "record", "found", "nothing found", "client oplock error updating record", "record to insert already exists",
        ] {
            #expect(codes[reason, default: 0] > 0 || Self.operations < Self.operationsForEverything, "never heard: \(reason)")
        }
        #expect(codes["record", default: 0] > Self.operations / 10)
        #expect(codes["Internal server error"] == nil)
    }

    /// Returns the error's text without the name in brackets.
    private func text(of error: ServerError) -> String {
        guard let name = error.reason.firstIndex(of: "[") else { return error.reason }
        return String(error.reason[..<name])
    }
}
