import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudContainer

/// What a transaction leaves to be done after it: deleted zones give their rows back.
@Suite struct TaskTests {
    private func rows(of zone: ZoneAddress, in store: any Store, names: [String]) async throws -> Int {
        try await store.read { try $0.records(in: zone, named: names).count }
    }

    /// Makes a zone of 1,200 records and deletes it.
    private func deletedZone(_ test: TestCloud, _ user: TestCloudUser) async throws -> (address: ZoneAddress, names: [String]) {
        try await user.makeZone("Z", "Y")
        let names = (0..<1200).map { "r\($0)" }
        for part in 0..<3 {
            try await user.modify(names[part * 400..<part * 400 + 400].map { .create($0) }, zone: "Z")
        }
        try await user.modify([.create("r0"), .create("r1")], zone: "Y")
        let id = try await test.cloud.databaseID(databaseVerdict(user.target, for: .write, by: user.caller).get())
        let address = try #require(try await test.store.read { try $0.zones(in: id, named: ["Z"]).first?.address })
        try await user.deleteZone("Z")
        return (address, names)
    }

    @Test(arguments: Engine.allCases) func `a deleted zone is reclaimed in chunks, and its neighbours and its successor are not`(
        engine: Engine
    ) async throws {
        let counting = CountingStore(try await engine.makeStore())
        let test = TestCloud(counting)
        let ann = test.user("_ann")
        let zone = try await deletedZone(test, ann)
        try await ann.makeZone("Z")
        try await ann.modify([.create("r0")], zone: "Z")
        #expect(try await rows(of: zone.address, in: test.store, names: zone.names) == 1200, "deleting waits for nothing")
        counting.reset()
        #expect(try await test.cloud.runDueTasks() == (1, 0))
        let chunks = counting.transactions.filter { $0.verbs.contains(.reclaim) }
        #expect(chunks.count == 4, "500, 500, 200, none: each in a transaction of its own")
        #expect(try await rows(of: zone.address, in: test.store, names: zone.names) == 0)
        let feed = try await test.store.read {
            try $0.feed(of: zone.address, view: .owner, after: .start, through: nil, baseline: .zero, limit: 10)
        }
        #expect(feed.isEmpty)
        #expect(try await ann.changes("Z").records.count == 1)
        #expect(try await ann.changes("Y").records.count == 2)
        #expect(try await test.cloud.runDueTasks() == (0, 0))
    }

    @Test(arguments: Engine.allCases, 1...12) func `a worker that fails in the middle is followed by another when its lease ends`(
        engine: Engine, call: Int
    ) async throws {
        let failing = FailingStore(try await engine.makeStore(), failingAtCall: nil)
        let test = TestCloud(failing)
        let ann = test.user("_ann")
        let zone = try await deletedZone(test, ann)
        failing.fail(atCall: call)
        let first = try? await test.cloud.runDueTasks()
        let didFail = failing.callsMade >= call
        failing.fail(atCall: nil)
        #expect(didFail == (first?.failed != 0))
        if didFail, first != nil {
            #expect(try await test.cloud.runDueTasks().taken == 0, "leased: nobody else takes it")
            test.clock.move(bySeconds: Limits.taskLeaseSeconds)
        }
        if didFail { #expect(try await test.cloud.runDueTasks() == (1, 0)) }
        #expect(try await rows(of: zone.address, in: test.store, names: zone.names) == 0)
        #expect(try await ann.changes("Y").records.count == 2)
        test.clock.move(bySeconds: Limits.taskLeaseSeconds)
        #expect(try await test.cloud.runDueTasks() == (0, 0))
    }

    @Test(arguments: Engine.allCases) func `tasks of many databases are all taken, a few at a time`(engine: Engine) async throws {
        let test = try await TestCloud(engine)
        for place in 0..<10 {
            let user = test.user("_u\(place)")
            try await user.makeZone("Z")
            try await user.deleteZone("Z")
        }
        var taken: [Int] = []
        while let count = try? await test.cloud.runDueTasks(limit: 4).taken, count > 0 { taken.append(count) }
        #expect(taken == [4, 4, 2])
    }

    @Test(arguments: Engine.allCases) func `a worker that is to stop begins no further chunk, has not failed, and leaves the rest due`(
        engine: Engine
    ) async throws {
        let store = StoppingStore(try await engine.makeStore(), at: 2, of: .reclaim)
        let test = TestCloud(store)
        let ann = test.user("_ann")
        let zone = try await deletedZone(test, ann)
        try await ann.deleteZone("Y")
        #expect(try await store.runDueTasks(of: test.cloud) == (2, 0), "cancelled is not failed")
        #expect(store.calls == 2, "neither of this task nor of the next")
        #expect(try await rows(of: zone.address, in: test.store, names: zone.names) == 200)
        #expect(try await test.cloud.runDueTasks().taken >= 1, "what was begun is due at once")
        test.clock.move(bySeconds: Limits.taskLeaseSeconds)
        while try await test.cloud.runDueTasks().taken > 0 {}
        #expect(try await rows(of: zone.address, in: test.store, names: zone.names) == 0)
        test.clock.move(bySeconds: Limits.taskLeaseSeconds)
        #expect(try await test.cloud.runDueTasks() == (0, 0))
    }

    @Test(arguments: Engine.allCases) func `a purge that is to stop begins no further chunk`(engine: Engine) async throws {
        let store = StoppingStore(try await engine.makeStore(), at: 1, of: .tombstones)
        let test = TestCloud(store)
        let ann = test.user("_ann")
        try await ann.makeZone("Z")
        let names = (0..<1200).map { "r\($0)" }
        for part in 0..<3 {
            try await ann.modify(names[part * 400..<part * 400 + 400].map { .create($0) }, zone: "Z")
            try await ann.modify(names[part * 400..<part * 400 + 400].map { .delete($0) }, zone: "Z")
        }
        test.clock.move(bySeconds: Limits.tombstoneSeconds + 2 * 24 * 3600)
        #expect(try await store.runDueTasks(of: test.cloud) == (1, 0))
        #expect(store.calls == 1)
        while try await test.cloud.runDueTasks().taken > 0 {}
        let id = try await test.cloud.databaseID(databaseVerdict(ann.target, for: .write, by: ann.caller).get())
        let left = try await test.store.read { transaction in
            let zone = try #require(try transaction.zones(in: id, named: ["Z"]).first)
            return try transaction.tombstones(in: zone.address, limit: 10).count
        }
        #expect(left == 0)
    }

    @Test(arguments: Engine.allCases) func `a long task does its turn and lets others have theirs`(engine: Engine) async throws {
        let counting = CountingStore(try await engine.makeStore())
        let test = TestCloud(counting)
        let ann = test.user("_ann")
        try await ann.makeZone("Z")
        let count = (Limits.taskTurn + 2) * Limits.reclaimChunk
        for part in 0..<count / 400 + 1 {
            try await ann.modify((part * 400..<part * 400 + 400).map { .create("r\($0)") }, zone: "Z")
        }
        try await ann.deleteZone("Z")
        counting.reset()
        #expect(try await test.cloud.runDueTasks() == (1, 0))
        #expect(counting.transactions.count { $0.verbs.contains(.reclaim) } == Limits.taskTurn)
        #expect(try await test.cloud.runDueTasks() == (1, 0), "it is due again at once")
        #expect(try await test.cloud.runDueTasks() == (0, 0))
    }
}
