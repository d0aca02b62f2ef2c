import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudContainer
@testable import NacreCloudStorage
@testable import NacreCloudTasks

/// Tests that tombstones are removed after their time, and that clients which may have needed them are told.
@Suite struct PurgeTests {
    private static let day: Double = 24 * 3600

    /// Moves the clock by days, and runs due tasks.
    private func pass(days: Double, _ test: TestCloud) async throws {
        test.clock.move(bySeconds: days * Self.day)
        while true {
            let (taken, failed) = try await test.cloud.runDueTasks().counts
            #expect(failed == 0)
            if taken == 0 { return }
        }
    }

    private func tombstones(_ zone: String, _ test: TestCloud, _ user: TestCloudUser) async throws -> [String] {
        let database = try await user.database
        return try await test.store.read { transaction in
            guard let row = try transaction.zones(in: database, named: [zone]).first else { return [] }
            return try transaction.tombstones(in: row.address, limit: 10_000).map(\.name)
        }
    }

    @Test(arguments: Engine.ofRules) func `a tombstone stays for its time and goes after it, from records and feed`(engine: Engine) async throws {
        let test = try await TestCloud(engine)
        let ann = test.user("_ann")
        try await ann.makeZone("Z")
        try await ann.save([.create("a"), .create("b"), .create("c")], zone: "Z")
        try await ann.modify([.delete("a")], zone: "Z")
        try await pass(days: 5, test)
        try await ann.modify([.delete("b")], zone: "Z")
        try await pass(days: 84, test)
        #expect(try await tombstones("Z", test, ann) == ["a", "b"])
        try await pass(days: 2.5, test)
        #expect(try await tombstones("Z", test, ann) == ["b"])
        try await pass(days: 5, test)
        #expect(try await tombstones("Z", test, ann).isEmpty)
        let database = try await ann.database
        let rows = try await test.store.read { transaction in
            let zone = try #require(try transaction.zones(in: database, named: ["Z"]).first)
            return try transaction.feed(of: zone.address, view: .owner, after: .start, through: nil, baseline: .zero, limit: 10)
        }
        #expect(rows.map(\.record.name) == ["c"])
        let saved = try await ann.modify([.create("a")], zone: "Z")
        #expect(saved.map(\.error) == [nil], "the name is free")
    }

    @Test(arguments: Engine.ofRules) func `a token that may have missed a deletion expires, and no other does`(engine: Engine) async throws {
        let test = try await TestCloud(engine)
        let ann = test.user("_ann")
        try await ann.makeZone("Z")
        for name in ["a", "b", "c", "d", "e"] { try await ann.save([.create(name)], zone: "Z") }
        let before = try await ann.changes("Z").syncToken
        let halfBefore = try await ann.changes("Z", limit: 2).syncToken
        try await ann.modify([.delete("a")], zone: "Z")
        let after = try await ann.changes("Z", after: before).syncToken
        let begun = try await ann.changes("Z", limit: 1)
        #expect(begun.records.map(\.recordName) == ["b"] && begun.moreComing)
        try await pass(days: 89, test)
        #expect(try await ann.changes("Z", after: before).records.map(\.recordName) == ["a"])
        try await pass(days: 3, test)
        await #expect(throws: ServerError.tokenExpired) { try await ann.changes("Z", after: before) }
        await #expect(throws: ServerError.tokenExpired) { try await ann.changes("Z", after: halfBefore) }
        #expect(try await ann.changes("Z", after: after).records.isEmpty)
        #expect(try await ann.changes("Z", after: begun.syncToken).records.map(\.recordName) == ["c", "d", "e"])
        #expect(try await ann.changes("Z").records.count == 4)
        try await ann.modify([.delete("b")], zone: "Z")
        #expect(try await ann.changes("Z", after: after).records.map(\.recordName) == ["b"])
        #expect(try await ann.changes("Z", after: begun.syncToken).records.map(\.recordName) == ["c", "d", "e", "b"])
    }

    @Test(arguments: Engine.ofRules) func `a token inside a commit of deletions expires with it`(engine: Engine) async throws {
        let test = try await TestCloud(engine)
        let ann = test.user("_ann")
        try await ann.makeZone("Z")
        let names = (0..<1500).map { "r\(10_000 + $0)" }
        try await ann.save([.create("t")] + names.map { .create($0) }, zone: "Z")
        try await ann.save((0..<2).map { .holder("h\($0)", of: ["t"]) }, zone: "Z")
        for part in 0..<2 {
            try await ann.save((0..<740).map { .holder(names[part * 740 + $0], of: ["h\(part)"]) }, zone: "Z")
        }
        let token = try await ann.changes("Z", after: nil).syncToken
        let start = try await last(ann, from: token)
        try await ann.modify([.delete("t")], zone: "Z")
        let middle = try await ann.changes("Z", after: start, limit: 1)
        #expect(middle.isMidCommit)
        let end = try await last(ann, from: middle.syncToken)
        try await pass(days: 92, test)
        await #expect(throws: ServerError.tokenExpired) { try await ann.changes("Z", after: middle.syncToken) }
        #expect(try await ann.changes("Z", after: end).records.isEmpty)
        #expect(try await tombstones("Z", test, ann).isEmpty, "1483 tombstones go in chunks")
    }

    private func last(_ user: TestCloudUser, from token: String) async throws -> String {
        var page = try await user.changes("Z", after: token)
        while page.moreComing { page = try await user.changes("Z", after: page.syncToken) }
        return page.syncToken
    }

    @Test(arguments: Engine.ofRules) func `zones without a feed are purged too, and cascades leave tombstones like any other`(
        engine: Engine
    ) async throws {
        let test = try await TestCloud(engine)
        for user in [test.user("_ann"), test.user("_ann", in: .public)] {
            try await user.save([.create("t"), .holder("h", of: ["t"]), .create("stays")])
            try await user.modify([.delete("t")])
            #expect(try await tombstones(ZoneID.defaultZoneName, test, user).sorted() == ["h", "t"])
            try await pass(days: 92, test)
            #expect(try await tombstones(ZoneID.defaultZoneName, test, user).isEmpty)
            #expect(try await user.living(["stays"]) == ["stays"])
        }
    }

    @Test(arguments: Engine.ofRules) func `a record made again keeps its place, and one deleted again its new time`(engine: Engine) async throws {
        let test = try await TestCloud(engine)
        let ann = test.user("_ann")
        try await ann.makeZone("Z")
        try await ann.save([.create("a"), .create("b")], zone: "Z")
        try await ann.modify([.delete("a"), .delete("b")], zone: "Z")
        try await pass(days: 60, test)
        try await ann.save([.create("a"), .create("b")], zone: "Z")
        try await ann.modify([.delete("b")], zone: "Z")
        try await pass(days: 60, test)
        #expect(try await tombstones("Z", test, ann) == ["b"])
        #expect(try await ann.living(["a", "b"], zone: "Z") == ["a"])
        try await pass(days: 32, test)
        #expect(try await tombstones("Z", test, ann).isEmpty)
    }

    @Test(arguments: Engine.ofRules) func `a clock that jumped delays a purge and loses nothing`(engine: Engine) async throws {
        let test = try await TestCloud(engine)
        let ann = test.user("_ann")
        try await ann.makeZone("Z")
        test.clock.move(bySeconds: 20 * Self.day)
        try await ann.save([.create("ahead"), .create("b")], zone: "Z")
        test.clock.move(bySeconds: -20 * Self.day)
        try await ann.modify([.delete("ahead"), .delete("b")], zone: "Z")
        try await ann.save([.create("c")], zone: "Z")
        try await ann.modify([.delete("c")], zone: "Z")
        try await pass(days: 92, test)
        #expect(try await tombstones("Z", test, ann) == ["ahead", "b", "c"], "its modification time is that of the clock that was ahead")
        try await pass(days: 20, test)
        #expect(try await tombstones("Z", test, ann).isEmpty)
    }

    // MARK: Zones

    @Test(arguments: Engine.ofRules) func `a deleted zone is told of for its time, and then tokens from before it expire`(engine: Engine)
        async throws
    {
        let test = try await TestCloud(engine)
        let ann = test.user("_ann")
        try await ann.makeZone("A", "B")
        try await ann.save([.create("r")], zone: "B")
        let before = try await ann.databaseChanges().syncToken
        let begun = try await ann.databaseChanges(limit: 1)
        try await ann.deleteZone("B")
        let after = try await ann.databaseChanges(after: before).syncToken
        try await pass(days: 89, test)
        #expect(try await ann.databaseChanges(after: before).zones.map(\.deletion) == [.deleted])
        try await pass(days: 2, test)
        await #expect(throws: ServerError.tokenExpired) { try await ann.databaseChanges(after: before) }
        await #expect(throws: ServerError.tokenExpired) { try await ann.databaseChanges(after: begun.syncToken) }
        #expect(try await ann.databaseChanges(after: after).zones.isEmpty)
        #expect(try await ann.databaseChanges().zones.map(\.zoneID.zoneName) == ["A"])
        let database = try await ann.database
        let rows = try await test.store.read { try $0.zoneFeed(in: database, after: .start, limit: 10) }
        #expect(rows.map(\.name) == ["A"], "its row is gone")
        await #expect(throws: ServerError.zoneNotFound(ZoneID(zoneName: "B"))) { try await ann.changes("B") }
    }

    @Test(arguments: Engine.ofRules) func `who began after a zone went is not sent back`(engine: Engine) async throws {
        let test = try await TestCloud(engine)
        let ann = test.user("_ann")
        try await ann.makeZone("A", "B", "C")
        try await ann.deleteZone("B")
        let begun = try await ann.databaseChanges(limit: 1)
        #expect(begun.zones.map(\.zoneID.zoneName) == ["A"] && begun.moreComing)
        try await pass(days: 91, test)
        #expect(try await ann.databaseChanges(after: begun.syncToken).zones.map(\.zoneID.zoneName) == ["C"])
        try await ann.makeZone("B")
        #expect(try await ann.databaseChanges(after: begun.syncToken).zones.map(\.zoneID.zoneName) == ["C", "B"])
    }

    @Test(arguments: Engine.ofRules) func `a zone made anew is not forgotten with the one before it`(engine: Engine) async throws {
        let test = try await TestCloud(engine)
        let ann = test.user("_ann")
        try await ann.makeZone("A")
        try await ann.save([.create("r")], zone: "A")
        try await ann.modify([.delete("r")], zone: "A")
        try await ann.deleteZone("A")
        try await ann.makeZone("A")
        try await ann.save([.create("s")], zone: "A")
        let token = try await ann.changes("A").syncToken
        try await pass(days: 92, test)
        #expect(try await ann.living(["s"], zone: "A") == ["s"])
        #expect(try await ann.changes("A", after: token).records.isEmpty)
    }

    @Test(arguments: Engine.ofRules, 1...10) func `a worker that fails in the middle of a purge is followed by another`(engine: Engine, call: Int)
        async throws
    {
        let failing = FailingStore(try await engine.makeStore(), failingAtCall: nil)
        let test = TestCloud(failing)
        let ann = test.user("_ann")
        try await ann.makeZone("Z", "Y")
        try await ann.save([.create("a"), .create("b")], zone: "Z")
        try await ann.modify([.delete("a")], zone: "Z")
        try await ann.deleteZone("Y")
        _ = try await test.cloud.runDueTasks()
        test.clock.move(bySeconds: 92 * Self.day)
        failing.fail(atCall: call)
        _ = try? await test.cloud.runDueTasks()
        failing.fail(atCall: nil)
        test.clock.move(bySeconds: Limits.taskLeaseSeconds)
        try await pass(days: 0, test)
        #expect(try await tombstones("Z", test, ann).isEmpty)
        #expect(try await ann.databaseChanges().zones.map(\.zoneID.zoneName) == ["Z"])
        #expect(try await ann.living(["b"], zone: "Z") == ["b"])
    }
}
