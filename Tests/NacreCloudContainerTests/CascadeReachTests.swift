import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudContainer
@testable import NacreCloudStorage
@testable import NacreCloudTasks

/// Tests of how far a cascade is followed before the decision, with wide levels and small limits.
@Suite struct CascadeReachTests {
    /// Returns the batch, settled after its reach was found within these limits.
    private func settled(
        _ operations: [RecordOperation], room: Int, perCall: Int, _ test: TestCloud, _ user: TestCloudUser, zone: String = "Z"
    ) async throws -> ModifyBatch {
        let database = try await user.database
        let wanted = Set(operations.compactMap(\.change.recordName) + operations.flatMap { $0.change.set.bindingReferences.map(\.link.target) })
        return try await test.store.read { transaction in
            let row = try #require(try transaction.zones(in: database, named: [zone]).first)
            let found = try transaction.records(in: row.address, named: Array(wanted)).map { StoredRecord($0, in: row.address) }
            var batch = ModifyBatch(operations, over: found, by: user.caller)
            batch.settle(within: try CascadeWalk.reach(of: batch, in: row.address, room: room, perCall: perCall, transaction))
            return batch
        }
    }

    private func holders(_ prefix: String, _ count: Int, of owner: String) -> [RecordOperation] {
        (0..<count).map { .holder("\(prefix)\($0)", of: [owner]) }
    }

    @Test(arguments: Engine.ofRules) func `a root that a stranger holds stays, though many of its holders must wait`(engine: Engine) async throws {
        let test = try await TestCloud(engine)
        let ann = test.user("_ann")
        try await ann.makeZone("Z")
        var world = [RecordOperation.create("r"), .holder("keeper", parent: "r")] + holders("a", 6, of: "r")
        // At three names per request, these are complete: they are requested again, or wait.
        for index in 0..<4 { world += holders("a\(index).", 3, of: "a\(index)") }
        for index in 4..<6 { world += holders("b\(index).", 2, of: "a\(index)") }
        for index in 4..<6 {
            for second in 0..<2 { world += holders("c\(index).\(second).", 3, of: "b\(index).\(second)") }
        }
        try await ann.save(world, zone: "Z")
        for room in 0...40 {
            for perCall in [0, 6, 12, 18, 24, 60, 1000] {
                let batch = try await settled([.delete("r")], room: room, perCall: perCall, test, ann)
                #expect(batch.verdicts[0] == .refuse(.deleteViolatesReference("r")), "room \(room), \(perCall) names a call")
            }
        }
        try await ann.modify([.delete("keeper")], zone: "Z")
        let whole = try await settled([.delete("r")], room: 34, perCall: 6, test, ann)
        #expect(whole.going.count == 35 && whole.unfinished.isEmpty)
        let part = try await settled([.delete("r")], room: 10, perCall: 18, test, ann)
        #expect(part.going == ["r", "a4", "a5", "b4.0", "b4.1", "b5.0", "b5.1"])
        #expect(part.unfinished == ["b4.0", "b4.1", "b5.0", "b5.1", "r"])
    }

    // MARK: Random worlds

    /// The owners and holders of each record, by reference or as its parent.
    private struct World {
        var owners: [String: Set<String>] = [:]
        var held: [String: Set<String>] = [:]

        mutating func put(_ name: String, _ fields: RecordFields, parent: String?) {
            owners[name] = fields.owners
            held[name] = Set(fields.bindingReferences.filter { $0.link.kind == .validate }.map(\.link.target)).union(parent.map { [$0] } ?? [])
        }

        /// Returns these records and all that depend on them.
        func cascade(of roots: Set<String>) -> Set<String> {
            var going = roots
            var count = -1
            while count < going.count {
                count = going.count
                for (name, owners) in owners where !owners.isDisjoint(with: going) { going.insert(name) }
            }
            return going
        }
    }

    /// Returns few owners for many records, which gives wide levels; later ones too, which gives circles.
    private func world(_ random: inout SeededRandom) -> [RecordOperation] {
        (0..<Int.random(in: 5...60, using: &random)).map { index in
            let owners = Set((0..<Int.random(in: 0...2, using: &random)).map { _ in "r\(Int.random(in: 0...index, using: &random) / 3)" })
            let validates = Int.random(in: 0..<24, using: &random) == 0 ? ["r\(Int.random(in: 0...index, using: &random))"] : []
            let parent = index > 0 && Int.random(in: 0..<24, using: &random) == 0 ? "r\(Int.random(in: 0..<index, using: &random))" : nil
            return .holder("r\(index)", of: owners.sorted(), validates: validates, parent: parent)
        }
    }

    /// Returns mostly deletions, with some operations on the dependents.
    private func batch(over count: Int, _ random: inout SeededRandom) -> [RecordOperation] {
        let roots = Set((0..<Int.random(in: 1...3, using: &random)).map { _ in Int.random(in: 0...count / 8, using: &random) })
        let others = Set((0..<Int.random(in: 0...4, using: &random)).map { _ in Int.random(in: 0..<count, using: &random) })
        return roots.sorted().map { .delete("r\($0)") }
            + others.subtracting(roots).sorted().map { place in
                switch Int.random(in: 0..<3, using: &random) {
                case 0: .make(.update, "r\(place)", tag: "stale")
                case 1: .holder("r\(place)")
                default: .holder("r\(place)", of: ["r\(Int.random(in: 0..<count, using: &random))"])
                }
            }
    }

    @Test(arguments: Engine.ofRules) func `whatever the limits, nothing goes that somebody who stays holds, and who does not go at once goes later`(
        engine: Engine
    ) async throws {
        let seed = HistorySeed.value
        var random = SeededRandom(seed: seed)
        let test = try await TestCloud(engine)
        let ann = test.user("_ann")
        var (whole, split, refused) = (0, 0, 0)
        for turn in 0..<40 {
            let operations = world(&random)
            try await ann.makeZone("\(turn)")
            try await ann.save(operations, zone: "\(turn)")
            var before = World()
            for operation in operations {
                var parent: String?
                if case .set(let reference) = operation.change.parent { parent = reference.recordName }
                before.put(operation.change.recordName ?? "", operation.change.set, parent: parent)
            }
            for _ in 0..<20 {
                let asked = batch(over: operations.count, &random)
                let (room, perCall) = (Int.random(in: 0...24, using: &random), Int.random(in: 0...60, using: &random))
                let batch = try await settled(asked, room: room, perCall: perCall, test, ann, zone: "\(turn)")
                let names = asked.map { "\($0.type) \($0.change.recordName ?? "")" }
                let context: Comment = "NACRE_SEED=\(seed), \(engine), world \(turn): \(names), room \(room), \(perCall) names a call"
                try check(batch, over: before, room: room, context)
                if batch.reach.pending.isEmpty {
                    let free = try await settled(asked, room: 1000, perCall: 1_000_000, test, ann, zone: "\(turn)")
                    try #require(batch.verdicts == free.verdicts && batch.going == free.going, context)
                }
                if batch.going.isEmpty { refused += 1 } else if batch.unfinished.isEmpty { whole += 1 } else { split += 1 }
            }
        }
        #expect(min(whole, split, refused) > 20, "NACRE_SEED=\(seed): \(whole) went whole, \(split) in parts, \(refused) were refused")
    }

    private func check(_ batch: ModifyBatch, over before: World, room: Int, _ context: Comment) throws {
        var after = before
        var saved: Set<String> = []
        for (item, verdict) in zip(batch.items, batch.verdicts) {
            guard case .save(let save) = verdict else { continue }
            after.put(item.name, save.fields, parent: save.parent)
            saved.insert(item.name)
        }
        let going = batch.going
        try #require(going.count <= room + batch.items.count && going.isDisjoint(with: saved), context)
        let left = after.owners.filter { !going.contains($0.key) && !$0.value.isDisjoint(with: going) }
        try #require(left.allSatisfy { !$0.value.isDisjoint(with: batch.unfinished) }, context)
        let end = after.cascade(of: going)
        try #require(!after.held.contains { !end.contains($0.key) && !$0.value.isDisjoint(with: going) }, context)
    }

    // MARK: The real limits

    @Test(arguments: Engine.ofRules, [10_000, Limits.cascadePerTransaction, 1000])
    func `a level of many records with many holders each goes at once where there is room, and else by tasks`(engine: Engine, room: Int) async throws
    {
        let test = try await TestCloud(engine, cascadePerTransaction: room)
        let ann = test.user("_ann")
        try await ann.makeZone("Z")
        // For each of 750 records 400 holders are requested: three have more.
        let first = [RecordOperation.create("r")] + holders("a", Limits.owningReferences, of: "r")
        let many = (0..<3).flatMap { holders("a\($0).", 500, of: "a\($0)") }
        let few = holders("a3.", 10, of: "a3")
        try await ann.save(first + many + few, zone: "Z")
        #expect(try await ann.modify([.delete("r")], zone: "Z").map(\.error) == [nil])
        let names = (first + many + few).compactMap(\.change.recordName)
        let left = try await ann.living(names, zone: "Z")
        switch room {
        case 1000: #expect(Set(left) == Set(["a0", "a1", "a2"] + many.compactMap(\.change.recordName)), "those three have no room")
        case Limits.cascadePerTransaction: #expect(Set(left) == Set((many + few).compactMap(\.change.recordName)), "the level behind has no room")
        default: #expect(left.isEmpty)
        }
        while try await test.cloud.runDueTasks().taken > 0 {}
        #expect(try await ann.living(names, zone: "Z").isEmpty)
        #expect(try await ann.changes("Z").records.isEmpty)
    }
}
