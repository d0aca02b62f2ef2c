import NacreCloudTestSupport
import NacreCloudWire
import NacreLocks
import Testing

@testable import NacreCloudContainer
@testable import NacreCloudStorage
@testable import NacreCloudTasks

/// Tests of tasks that a transaction leaves: rows of deleted zones are removed.
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

    @Test(arguments: Engine.ofRules) func `a deleted zone is reclaimed in chunks, and its neighbours and its successor are not`(
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
        #expect(try await test.cloud.runDueTasks().counts == (1, 0))
        let chunks = counting.transactions.filter { $0.verbs.contains(.reclaim) }
        #expect(chunks.count == 6, "1,200 records and as many places in the feed, 500 in a transaction, and one that finds none")
        #expect(try await rows(of: zone.address, in: test.store, names: zone.names) == 0)
        let feed = try await test.store.read {
            try $0.feed(of: zone.address, view: .owner, after: .start, through: nil, baseline: .zero, limit: 10)
        }
        #expect(feed.isEmpty)
        #expect(try await ann.changes("Z").records.count == 1)
        #expect(try await ann.changes("Y").records.count == 2)
        #expect(try await test.cloud.runDueTasks().counts == (0, 0))
    }

    @Test(arguments: Engine.ofRules, 1...12) func `a worker that fails in the middle is followed by another after a pause`(
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
            #expect(try await test.cloud.runDueTasks().taken == 0, "it waits")
            test.clock.move(bySeconds: 1)
        }
        if didFail { #expect(try await test.cloud.runDueTasks().counts == (1, 0)) }
        #expect(try await rows(of: zone.address, in: test.store, names: zone.names) == 0)
        #expect(try await ann.changes("Y").records.count == 2)
        test.clock.move(bySeconds: Limits.taskLeaseSeconds)
        #expect(try await test.cloud.runDueTasks().counts == (0, 0))
    }

    @Test(arguments: Engine.ofRules) func `tasks of many databases are all taken, a few at a time`(engine: Engine) async throws {
        let test = try await TestCloud(engine)
        for index in 0..<10 {
            let user = test.user("_u\(index)")
            try await user.makeZone("Z")
            try await user.deleteZone("Z")
        }
        var taken: [Int] = []
        while let count = try? await test.cloud.runDueTasks(limit: 4).taken, count > 0 { taken.append(count) }
        #expect(taken == [4, 4, 2])
    }

    @Test(arguments: Engine.ofRules) func `a worker that is to stop begins no further chunk, has not failed, and leaves the rest due`(
        engine: Engine
    ) async throws {
        let store = StoppingStore(try await engine.makeStore(), at: 2, of: .reclaim)
        let test = TestCloud(store)
        let ann = test.user("_ann")
        let zone = try await deletedZone(test, ann)
        try await ann.deleteZone("Y")
        #expect(try await store.runDueTasks(of: test.cloud).counts == (2, 0), "cancelled is not failed")
        #expect(store.calls == 2, "neither of this task nor of the next")
        #expect(try await rows(of: zone.address, in: test.store, names: zone.names) == 700)
        #expect(try await test.cloud.runDueTasks().taken >= 1, "what was begun is due at once")
        test.clock.move(bySeconds: Limits.taskLeaseSeconds)
        while try await test.cloud.runDueTasks().taken > 0 {}
        #expect(try await rows(of: zone.address, in: test.store, names: zone.names) == 0)
        test.clock.move(bySeconds: Limits.taskLeaseSeconds)
        #expect(try await test.cloud.runDueTasks().counts == (0, 0))
    }

    @Test(arguments: Engine.ofRules) func `a purge that is to stop begins no further chunk`(engine: Engine) async throws {
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
        #expect(try await store.runDueTasks(of: test.cloud).counts == (1, 0))
        #expect(store.calls == 1)
        while try await test.cloud.runDueTasks().taken > 0 {}
        let id = try await test.cloud.databaseID(databaseVerdict(ann.target, for: .write, by: ann.caller).get())
        let left = try await test.store.read { transaction in
            let zone = try #require(try transaction.zones(in: id, named: ["Z"]).first)
            return try transaction.tombstones(in: zone.address, limit: 10).count
        }
        #expect(left == 0)
    }

    @Test(arguments: Engine.ofRules) func `a long task does one chunk a turn while others wait, and all when none does`(engine: Engine) async throws {
        let counting = CountingStore(try await engine.makeStore())
        let test = TestCloud(counting)
        let ann = test.user("_ann")
        func chunks() -> Int { counting.transactions.count { $0.verbs.contains(.reclaim) } }
        _ = try await deletedZone(test, ann)
        try await ann.deleteZone("Y")
        counting.reset()
        #expect(try await test.cloud.runDueTasks().counts == (2, 0))
        #expect(chunks() == 2, "each waits for the other")
        var turns = 2
        while case let taken = try await test.cloud.runDueTasks().taken, taken > 0 { turns += taken }
        // That engine runs some bodies twice.
        #expect(engine == .sideBySide ? chunks() >= 6 + 2 : chunks() == 6 + 2)
        #expect(turns < 6, "the last one goes on without giving its place up")
    }

    @Test(arguments: Engine.ofRules) func `what a user waits for does not wait for a zone that is reclaimed`(engine: Engine) async throws {
        let counting = CountingStore(try await engine.makeStore())
        let test = TestCloud(counting, cascadePerTransaction: 0)
        let ann = test.user("_ann")
        _ = try await deletedZone(test, ann)
        test.clock.move(bySeconds: 1)
        try await ann.modify([.create("r"), .holder("h", of: ["r"])])
        try await ann.modify([.delete("r")])
        counting.reset()
        #expect(try await test.cloud.nextTask(in: .upkeep, dueThrough: test.clock.now) == test.clock.now + -1)
        #expect(try await test.cloud.nextTask(in: .prompt, dueThrough: test.clock.now) == test.clock.now)
        // The cascade, and the index for the holder's field.
        while try await test.cloud.runDueTasks(in: [.prompt]).taken > 0 {}
        #expect(try await ann.living(["h"]).isEmpty)
        #expect(!counting.transactions.contains { $0.verbs.contains(.reclaim) })
        #expect(try await test.cloud.nextTask(in: .prompt, dueThrough: test.clock.now + 60) == nil)
        #expect(try await test.cloud.runDueTasks(in: [.upkeep]).counts == (1, 0))
    }

    @Test func `users wait for cascades, index builds and subtrees that come and go, and for nothing else`() {
        #expect(TaskLane.prompt.kinds == [.cascade, .buildIndexes, .settleSubtree])
        #expect(
            TaskLane.upkeep.kinds == [
                .reclaimZone, .trimOperations, .purgeTombstones, .forgetZone, .sweepZone, .settleAccount, .collectAssets, .dropIndexes, .clearIndexes,
            ])
        #expect(TaskLane.mail.kinds == [.sendLetter])
    }

    @Test(arguments: Engine.ofRules) func `a worker that takes long renews its lease, and nobody takes its task meanwhile`(engine: Engine)
        async throws
    {
        let inner = try await engine.makeStore()
        let store = InterruptedStore(inner)
        let test = TestCloud(store)
        let zone = try await deletedZone(test, test.user("_ann"))
        let other = TestCloud(inner, seed: 2)
        // Half of the lease is over after three chunks, and all of it after the fourth and the renewal.
        let seconds: Double = 14
        let takenByOther = Locked(0)
        store.interrupt { write in
            // The first write is the lease.
            guard write > 1 else { return }
            for clock in [test.clock, other.clock] { clock.move(bySeconds: seconds) }
            let taken = try await other.cloud.runDueTasks().taken
            takenByOther.withLock { $0 += taken }
        }
        #expect(try await test.cloud.runDueTasks().counts == (1, 0))
        store.interrupt(nil)
        #expect(test.clock.now > TestCloudClock().now + Limits.taskLeaseSeconds, "longer than a lease")
        #expect(takenByOther.withLock { $0 } == 0)
        #expect(try await rows(of: zone.address, in: test.store, names: zone.names) == 0)
    }

    @Test(arguments: Engine.ofRules, 2...5) func `a worker that was away too long leaves its cascade to the one that has it now`(
        engine: Engine, write: Int
    ) async throws {
        let inner = try await engine.makeStore()
        let store = InterruptedStore(inner)
        let test = TestCloud(store, cascadePerTransaction: 0)
        let ann = test.user("_ann")
        let names = (0..<300).map { "h\($0)" }
        try await ann.modify([.create("r")] + names.map { .holder($0, of: ["r"]) })
        try await ann.modify(names.map { .holder("\($0).x", of: [$0]) })
        try await ann.modify([.delete("r")])
        let other = TestCloud(inner, seed: 2)
        store.interrupt { number in
            guard number == write else { return }
            for clock in [test.clock, other.clock] { clock.move(bySeconds: Limits.taskLeaseSeconds) }
            let taken = try await other.cloud.runDueTasks().taken
            #expect(taken == 1)
        }
        #expect(try await test.cloud.runDueTasks().counts == (1, 0), "that is no failure")
        store.interrupt(nil)
        try await test.runAllTasks()
        #expect(try await ann.living(names + names.map { "\($0).x" }).isEmpty)
    }

    @Test(arguments: Engine.ofRules) func `who commits hints at what is left to be done, and when`(engine: Engine) async throws {
        let test = try await TestCloud(engine)
        let ann = test.user("_ann")
        try await ann.makeZone("Z")
        try await ann.modify([.create("a")], zone: "Z", id: "no chance")
        _ = test.takeTasksLeft()
        try await ann.modify([.delete("a")], zone: "Z")
        let later = try #require(test.takeTasksLeft().first)
        #expect(later >= test.clock.now + Limits.tombstoneSeconds)
        try await ann.deleteZone("Z")
        #expect(test.takeTasksLeft() == [test.clock.now])
        try await ann.deleteZone("Z")
        #expect(test.takeTasksLeft().isEmpty)
    }
}
