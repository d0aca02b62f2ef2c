import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudContainer
@testable import NacreCloudStorage
@testable import NacreCloudTasks

/// Tests of cascades too large for one transaction: a part is done with the deletion, the rest by tasks.
@Suite struct CascadeTaskTests {
    /// Returns a tree of three levels below `r`, by references that delete holders too, and by parents if asked.
    private func tree(_ width: Int, byParents: Bool) -> [RecordOperation] {
        var operations: [RecordOperation] = [.create("r")]
        for first in 0..<width {
            operations.append(.holder("a\(first)", of: ["r"], parent: byParents ? "r" : nil))
            for second in 0..<width {
                let name = "a\(first).\(second)"
                operations.append(.holder(name, of: ["a\(first)"], parent: byParents ? "a\(first)" : nil))
                operations.append(.holder("\(name).x", of: [name], parent: byParents ? name : nil))
            }
        }
        return operations
    }

    private func runTasks(_ test: TestCloud) async throws {
        while true {
            let (taken, failed) = try await test.cloud.runDueTasks().counts
            #expect(failed == 0)
            if taken == 0 { return }
        }
    }

    private func names(_ operations: [RecordOperation]) -> [String] {
        operations.compactMap(\.change.recordName)
    }

    @Test(arguments: Engine.ofRules, [true, false]) func `what has no room goes by tasks, and ends as if it had gone at once`(
        engine: Engine, byParents: Bool
    ) async throws {
        for room in [0, 11, 12, 155, 156, 299, 300] {
            let test = try await TestCloud(engine, cascadePerTransaction: room)
            let ann = test.user("_ann")
            try await ann.makeZone("Z")
            let operations = tree(12, byParents: byParents)
            try await ann.save(operations + [.create("other"), .holder("o", of: ["other"])], zone: "Z")
            let token = try await ann.changes("Z").syncToken
            #expect(try await ann.modify([.delete("r")], zone: "Z").map(\.error) == [nil], "room \(room)")
            let left = try await ann.living(names(operations), zone: "Z").count
            #expect(left == (room < 12 ? 300 : room < 156 ? 288 : room < 300 ? 144 : 0), "room \(room): only whole levels go")
            #expect(try await ann.lookup(["r"], zone: "Z").first?.error == .recordNotFound)
            try await runTasks(test)
            #expect(try await ann.living(names(operations) + ["other", "o"], zone: "Z") == ["other", "o"], "room \(room)")
            var (gone, next) = (Set<String>(), token as String?)
            while let after = next {
                let page = try await ann.changes("Z", after: after)
                for name in page.records.map({ $0.tombstone?.recordName ?? "-" }) { #expect(gone.insert(name).inserted) }
                next = page.moreComing ? page.syncToken : nil
            }
            #expect(gone == Set(names(operations)), "room \(room): all of it is in the feed")
        }
    }

    @Test(arguments: Engine.ofRules) func `a chain longer than a transaction follows is followed to its end`(engine: Engine) async throws {
        let test = try await TestCloud(engine, cascadePerTransaction: 100)
        let ann = test.user("_ann")
        let chain = [RecordOperation.create("r0")] + (1...250).map { .holder("r\($0)", of: ["r\($0 - 1)"]) }
        try await ann.save(chain)
        try await ann.modify([.delete("r0")])
        #expect(try await ann.living(names(chain)).count == 150)
        try await runTasks(test)
        #expect(try await ann.living(names(chain)).isEmpty)
    }

    @Test(arguments: Engine.ofRules) func `whom somebody holds by then is spared, and so is who turned away or whose target lives again`(
        engine: Engine
    ) async throws {
        let test = try await TestCloud(engine, cascadePerTransaction: 0)
        let ann = test.user("_ann")
        try await ann.save([
            .create("r"), .create("s"), .holder("held", of: ["r"]), .holder("turned", of: ["r"]), .holder("goes", of: ["r"]), .holder("h", of: ["s"]),
        ])
        try await ann.save([.holder("x", of: ["goes"]), .holder("y", of: ["held"])])
        try await ann.modify([.delete("r"), .delete("s")])
        #expect(try await ann.living(["r", "s", "held", "turned", "goes", "h", "x", "y"]) == ["held", "turned", "goes", "h", "x", "y"])
        try await ann.save([.holder("keeper", parent: "held"), .holder("turned"), .create("s")])
        try await runTasks(test)
        #expect(try await ann.living(["held", "turned", "goes", "h", "x", "y", "keeper"]) == ["held", "turned", "h", "y", "keeper"])
    }

    @Test(arguments: Engine.ofRules) func `a deletion that a stranger holds is refused, however large the cascade`(engine: Engine) async throws {
        let test = try await TestCloud(engine, cascadePerTransaction: 20)
        let ann = test.user("_ann")
        try await ann.save(tree(12, byParents: true))
        try await ann.save([.holder("keeper", parent: "a3")])
        #expect(try await ann.modify([.delete("r")]).map(\.error) == [.deleteViolatesReference("a3")])
        #expect(try await ann.living(names(tree(12, byParents: true))).count == 301)
    }

    @Test(arguments: Engine.ofRules) func `a zone that is deleted or made anew ends its cascades`(engine: Engine) async throws {
        let test = try await TestCloud(engine, cascadePerTransaction: 0)
        let ann = test.user("_ann")
        try await ann.makeZone("Z")
        try await ann.save([.create("r"), .holder("h", of: ["r"])], zone: "Z")
        try await ann.modify([.delete("r")], zone: "Z")
        try await ann.deleteZone("Z")
        try await ann.makeZone("Z")
        try await ann.save([.create("r"), .holder("h", of: ["r"])], zone: "Z")
        try await runTasks(test)
        #expect(try await ann.living(["r", "h"], zone: "Z") == ["r", "h"])
    }

    @Test(arguments: Engine.ofRules, 1...16) func `a worker that fails in the middle is followed by another`(engine: Engine, call: Int) async throws {
        let failing = FailingStore(try await engine.makeStore(), failingAtCall: nil)
        let test = TestCloud(failing, cascadePerTransaction: 0)
        let ann = test.user("_ann")
        let operations = tree(5, byParents: true)
        try await ann.save(operations)
        try await ann.modify([.delete("r")])
        failing.fail(atCall: call)
        _ = try? await test.cloud.runDueTasks()
        failing.fail(atCall: nil)
        test.clock.move(bySeconds: Limits.taskLeaseSeconds)
        try await runTasks(test)
        #expect(try await ann.living(names(operations)).isEmpty)
    }

    @Test(arguments: Engine.ofRules) func `no chunk of a large cascade is much larger than it may be`(engine: Engine) async throws {
        let test = try await TestCloud(engine, cascadePerTransaction: 50)
        let ann = test.user("_ann")
        try await ann.makeZone("Z")
        let operations =
            [RecordOperation.create("r")] + (0..<3).map { .holder("a\($0)", of: ["r"]) }
            + (0..<3).flatMap { first in (0..<700).map { RecordOperation.holder("a\(first).\($0)", of: ["a\(first)"]) } }
        try await ann.save(operations, zone: "Z")
        let token = try await ann.changes("Z").syncToken
        try await ann.modify([.delete("r")], zone: "Z")
        try await runTasks(test)
        let (database, start) = (try await ann.database, try Self.number(of: token))
        let seqs = try await test.store.read { transaction -> [Int64] in
            let zone = try #require(try transaction.zones(in: database, named: ["Z"]).first)
            let feed = try transaction.feed(
                of: zone.address, view: .owner, after: FeedPosition(start), through: nil, baseline: .zero, limit: 10_000)
            return feed.map(\.feed.position.number.seq)
        }
        let commits = Dictionary(grouping: seqs, by: { $0 }).mapValues(\.count)
        #expect(seqs.count == 2104 && commits.values.allSatisfy { $0 <= Limits.owningReferences + Limits.cascadeChunk })
        #expect(commits.count >= 3)
    }

    private static func number(of token: String) throws -> ChangeNumber {
        guard case .zone(let token)? = PlainTokens().open(token).flatMap({ ChangeToken($0) }) else { throw ServerError.unknownToken }
        return token.position.number
    }
}
