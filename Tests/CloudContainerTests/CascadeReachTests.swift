import CloudTestSupport
import CloudWire
import Testing

@testable import CloudContainer

/// How far a cascade is looked at before it is decided, where its levels are wide and room is short.
@Suite struct CascadeReachTests {
    /// What the rules make of the deletion of one record, found within these limits.
    private func deletion(
        of root: String, room: Int, perCall: Int, _ test: TestCloud, _ user: TestCloudUser, zone: String = "Z"
    ) async throws -> ModifyBatch {
        let database = try await user.database
        return try await test.store.read { transaction in
            let row = try #require(try transaction.zones(in: database, named: [zone]).first)
            let roots = try transaction.records(in: row.address, named: [root]).map { try StoredRecord($0, in: row.address) }
            var batch = ModifyBatch(deleting: roots)
            batch.settle(within: try CascadeWalk.reach(of: batch, in: row.address, room: room, perCall: perCall, transaction))
            return batch
        }
    }

    private func holders(_ prefix: String, _ count: Int, of owner: String) -> [RecordOperation] {
        (0..<count).map { .holder("\(prefix)\($0)", of: [owner]) }
    }

    @Test(arguments: Engine.allCases) func `a root that a stranger holds stays, though many of its holders must wait`(engine: Engine) async throws {
        let test = try await TestCloud(engine)
        let ann = test.user("_ann")
        try await ann.makeZone("Z")
        var world = [RecordOperation.create("r"), .holder("keeper", parent: "r")] + holders("a", 6, of: "r")
        // Asked for three names each, these have as many: they are asked again, or wait.
        for place in 0..<4 { world += holders("a\(place).", 3, of: "a\(place)") }
        for place in 4..<6 { world += holders("b\(place).", 2, of: "a\(place)") }
        for place in 4..<6 {
            for second in 0..<2 { world += holders("c\(place).\(second).", 3, of: "b\(place).\(second)") }
        }
        try await ann.save(world, zone: "Z")
        for room in 0...40 {
            for perCall in [0, 6, 12, 18, 24, 60, 1000] {
                let batch = try await deletion(of: "r", room: room, perCall: perCall, test, ann)
                #expect(batch.items[0].verdict == .refuse(.deleteViolatesReference("r")), "room \(room), \(perCall) names a call")
            }
        }
        try await ann.modify([.delete("keeper")], zone: "Z")
        let whole = try await deletion(of: "r", room: 34, perCall: 6, test, ann)
        #expect(whole.going.count == 35 && whole.unfinished.isEmpty)
        let part = try await deletion(of: "r", room: 10, perCall: 18, test, ann)
        #expect(part.going == ["r", "a4", "a5", "b4.0", "b4.1", "b5.0", "b5.1"])
        #expect(part.unfinished == ["b4.0", "b4.1", "b5.0", "b5.1", "r"])
    }

    // MARK: Random worlds

    private struct World {
        var operations: [RecordOperation] = []
        var owners: [String: Set<String>] = [:]
        var held: [String: Set<String>] = [:]

        init(_ random: inout TestCloudRandom) {
            for place in 0..<Int.random(in: 5...60, using: &random) {
                let name = "r\(place)"
                // Few owners for many: wide levels. Later ones too: circles.
                let owners = Set((0..<Int.random(in: 0...2, using: &random)).map { _ in "r\(Int.random(in: 0...place, using: &random) / 3)" })
                let validates = Int.random(in: 0..<24, using: &random) == 0 ? ["r\(Int.random(in: 0...place, using: &random))"] : []
                let parent = Int.random(in: 0..<24, using: &random) == 0 ? "r\(Int.random(in: 0...place, using: &random))" : nil
                operations.append(.holder(name, of: owners.sorted(), validates: validates, parent: parent))
                self.owners[name] = owners
                held[name] = Set(validates).union(parent.map { [$0] } ?? [])
            }
        }

        /// These, and all that hangs on them, but what is left out.
        func cascade(of roots: Set<String>, without: Set<String> = []) -> Set<String> {
            var going = roots
            var count = -1
            while count < going.count {
                count = going.count
                for (name, owners) in owners where !without.contains(name) && !owners.isDisjoint(with: going) { going.insert(name) }
            }
            return going
        }

        func holdersOutside(_ going: Set<String>, of targets: Set<String>) -> [String] {
            held.filter { !going.contains($0.key) && !$0.value.isDisjoint(with: targets) }.keys.sorted()
        }
    }

    @Test(arguments: Engine.allCases) func `whatever the limits, nothing goes that a stranger holds, and what does not go at once goes later`(
        engine: Engine
    ) async throws {
        let seed = HistorySeed.value
        var random = TestCloudRandom(seed: seed)
        let test = try await TestCloud(engine)
        let ann = test.user("_ann")
        var (whole, split, refused) = (0, 0, 0)
        for turn in 0..<40 {
            let world = World(&random)
            try await ann.makeZone("\(turn)")
            try await ann.save(world.operations, zone: "\(turn)")
            for _ in 0..<20 {
                let root = "r\(Int.random(in: 0...world.operations.count / 8, using: &random))"
                let (room, perCall) = (Int.random(in: 0...24, using: &random), Int.random(in: 0...60, using: &random))
                let batch = try await deletion(of: root, room: room, perCall: perCall, test, ann, zone: "\(turn)")
                let context: Comment = "NACRE_SEED=\(seed), \(engine), world \(turn): \(root), room \(room), \(perCall) names a call"
                let all = world.cascade(of: [root])
                let isHeld = !world.holdersOutside(all, of: all).isEmpty
                if batch.items[0].verdict == .delete {
                    try #require(batch.going.count <= room + 1 && batch.going.isSubset(of: all), context)
                    try #require(world.holdersOutside(all, of: batch.going).isEmpty, context)
                    let later = world.owners.filter { !batch.going.contains($0.key) && !$0.value.isDisjoint(with: batch.unfinished) }.keys
                    try #require(batch.going.union(world.cascade(of: Set(later))) == all, context)
                    try #require(batch.unfinished.isEmpty == (batch.going == all), context)
                    if batch.unfinished.isEmpty { whole += 1 } else { split += 1 }
                } else {
                    refused += 1
                }
                if batch.reach.pending.isEmpty { try #require((batch.items[0].verdict == .delete) != isHeld, context) }
            }
        }
        #expect(min(whole, split, refused) > 20, "NACRE_SEED=\(seed): \(whole) went whole, \(split) in parts, \(refused) were refused")
    }

    // MARK: The limits as they are

    @Test(arguments: Engine.allCases, [Limits.cascadePerTransaction, 2000, 1000])
    func `a level of many records with many holders each goes at once where there is room, and else by tasks`(engine: Engine, room: Int) async throws
    {
        let test = try await TestCloud(engine, cascadePerTransaction: room)
        let ann = test.user("_ann")
        try await ann.makeZone("Z")
        // Of 750 records, each is asked for 400 holders: three have more.
        let first = [RecordOperation.create("r")] + holders("a", Limits.owningReferences, of: "r")
        let many = (0..<3).flatMap { holders("a\($0).", 500, of: "a\($0)") }
        let few = holders("a3.", 10, of: "a3")
        try await ann.save(first + many + few, zone: "Z")
        #expect(try await ann.modify([.delete("r")], zone: "Z").map(\.error) == [nil])
        let names = (first + many + few).compactMap(\.change.recordName)
        let left = try await ann.living(names, zone: "Z")
        switch room {
        case 1000: #expect(Set(left) == Set(["a0", "a1", "a2"] + many.compactMap(\.change.recordName)), "those three have no room")
        case 2000: #expect(Set(left) == Set((many + few).compactMap(\.change.recordName)), "the level behind has no room")
        default: #expect(left.isEmpty)
        }
        while try await test.cloud.runDueTasks().taken > 0 {}
        #expect(try await ann.living(names, zone: "Z").isEmpty)
        #expect(try await ann.changes("Z").records.isEmpty)
    }
}
