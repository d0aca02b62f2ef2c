import NacreCloudContainer
import NacreCloudStore
import NacreCloudTasks
import NacreCloudTestSupport
import NacreCloudWire
import Testing

/// Tests that a clock which jumps by a day between any two requests, either way, decides nothing.
@Suite struct ClockSteps {
    private static let day = 86_400.0
    private static let names = (0..<6).map { "r\($0)" }

    @Test(arguments: Engine.embedded)
    func `whatever the clock does, no change is lost, no tag comes twice, and modification times rise`(engine: Engine) async throws {
        let seed = HistorySeed.value
        var random = SeededRandom(seed: seed)
        let test = TestCloud(try await engine.makeStore(on: .memory))
        let ann = test.user("_ann")
        try await ann.makeZone("Notes")
        var device = Follower(user: ann)
        var tags: Set<String> = []
        var modified: [String: Timestamp] = [:]
        var live: [String: Record] = [:]
        for step in 0..<250 {
            test.clock.move(bySeconds: [Self.day, -Self.day, 0, 0.001, -0.001, 30].randomElement(using: &random) ?? 0)
            let name = Self.names.randomElement(using: &random) ?? "r0"
            let context: Comment = "NACRE_SEED=\(seed) step \(step)"
            if live[name] != nil, Int.random(in: 0..<5, using: &random) == 0 {
                try await ann.modify([.delete(name)], zone: "Notes", id: "\(step)")
                live[name] = nil
            } else {
                let operations: [RecordOperation] = [.update(name, ["step": .int64(Int64(step))])]
                let saved = try #require(try await ann.modify(operations, zone: "Notes", id: "\(step)").first?.record, context)
                #expect(tags.insert(saved.recordChangeTag).inserted, context)
                if let last = modified[name] {
                    #expect(saved.modified.timestamp.millisecondsSince1970 > last.millisecondsSince1970, context)
                }
                modified[name] = saved.modified.timestamp
                live[name] = saved
                // The answer was lost, and the clock has jumped by a day when the client asks again.
                test.clock.move(bySeconds: step % 2 == 0 ? Self.day : -Self.day)
                let again = try await ann.modify(operations, zone: "Notes", id: "\(step)").first?.record
                #expect(again == saved, context)
            }
            if step % 3 == 0 { try await device.follow() }
            if step % 10 == 0 { _ = try await test.cloud.removeExpired() }
        }
        try await device.follow()
        #expect(device.tags == live.mapValues(\.recordChangeTag), "NACRE_SEED=\(seed)")
    }

    @Test(arguments: Engine.embedded) func `a task waits at most as long as the clock was set back, and nobody sees that it waits`(
        engine: Engine
    ) async throws {
        for jump in [Self.day, -Self.day] {
            let test = TestCloud(try await engine.makeStore(on: .memory))
            let ann = test.user("_ann")
            try await ann.makeZone("Notes")
            try await ann.modify([.create("a")], zone: "Notes")
            try await ann.deleteZone("Notes")
            test.clock.move(bySeconds: jump)
            let early = try await test.cloud.runDueTasks().taken
            #expect(try await ann.makeZone("Notes").first?.error == nil)
            #expect(try await ann.changes("Notes").records.isEmpty)
            test.clock.move(bySeconds: Self.day)
            #expect(try await test.cloud.runDueTasks().taken + early == 1)
        }
    }

    /// A device that keeps up by its token.
    private struct Follower {
        let user: TestCloudUser
        var token: String?
        var tags: [String: String] = [:]

        mutating func follow() async throws {
            var page: ChangesZoneResponse.Page
            repeat {
                page = try await user.changes("Notes", after: token, limit: 3)
                for result in page.records {
                    if let name = result.recordName { tags[name] = result.record?.recordChangeTag }
                }
                token = page.syncToken
            } while page.moreComing
        }
    }
}
