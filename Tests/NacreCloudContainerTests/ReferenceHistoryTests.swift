import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudContainer
@testable import NacreCloudStorage

/// Tests with random batches over a small set of records with references: the invariants hold after each batch.
@Suite struct ReferenceHistoryTests {
    private static let names = (0..<14).map { "r\($0)" }
    private static let batches = 400

    /// A record as a test sees it.
    private struct Seen {
        var owners: Set<String> = []
        var validates: Set<String> = []
        var parent: String?
        var tag: String

        init(_ record: Record) {
            for field in record.fields.entries {
                let references: [Reference]
                switch field.value {
                case .reference(let reference): references = [reference]
                case .referenceList(let list): references = list
                default: references = []
                }
                for reference in references {
                    if reference.action == .deleteSelf { owners.insert(reference.recordName) }
                    if reference.action == .validate { validates.insert(reference.recordName) }
                }
            }
            parent = record.parent?.recordName
            tag = record.recordChangeTag
        }

        var held: Set<String> { validates.union(parent.map { [$0] } ?? []) }
    }

    private typealias World = [String: Seen]

    private func world(_ user: TestCloudUser) async throws -> World {
        let found = try await user.lookup(Self.names, zone: "Z").compactMap(\.record)
        return Dictionary(uniqueKeysWithValues: found.map { ($0.recordName, Seen($0)) })
    }

    /// Returns a batch.
    /// - Parameter mayFail: Whether some of it is sure to be refused; an atomic batch then does nothing.
    private func batch(_ random: inout SeededRandom, mayFail: Bool) -> [RecordOperation] {
        let names = Set((0..<Int.random(in: 1...(mayFail ? 7 : 2), using: &random)).map { _ in Self.names.randomElement(using: &random) ?? "r0" })
        return names.sorted().shuffled(using: &random).map { name in
            func some(_ most: Int) -> [String] {
                (0..<Int.random(in: 0...most, using: &random)).map { _ in Self.names.randomElement(using: &random) ?? "r0" }
            }
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<3: return .delete(name)
            case 3 where mayFail: return .make(.update, name, tag: "stale")
            case 4: return .update(name)
            default:
                let parent = Int.random(in: 0..<4, using: &random) == 0 ? some(1).first : nil
                return .holder(name, of: some(2), validates: Int.random(in: 0..<4, using: &random) == 0 ? some(1) : [], parent: parent)
            }
        }
    }

    @Test(arguments: Engine.ofHistories, [true, false])
    func `no holder outlives its target, nothing that is held goes, and nothing goes without a cause`(
        engine: Engine, atomic: Bool
    ) async throws {
        let seed = HistorySeed.value
        var random = SeededRandom(seed: seed)
        let test = try await TestCloud(engine)
        let ann = test.user("_ann")
        try await ann.makeZone("Z")
        var before = World()
        var (cascaded, refused) = (0, 0)
        for turn in 0..<Self.batches {
            let operations = batch(&random, mayFail: !atomic)
            let answers = try await ann.modify(operations, zone: "Z", atomic: atomic)
            let after = try await world(ann)
            let context: Comment = "NACRE_SEED=\(seed), \(engine), batch \(turn): \(operations.map { "\($0.type) \($0.change.recordName ?? "")" })"
            try checkWorld(after, context)
            cascaded += try checkChange(from: before, to: after, operations, answers, context)
            refused += try checkRefusals(from: before, operations, answers, atomic: atomic, context)
            try await checkLinks(after, test, ann, context)
            before = after
        }
        #expect(cascaded > Self.batches / 40 && refused > 10, "NACRE_SEED=\(seed): \(cascaded) went with others, \(refused) were refused")
    }

    /// Checks the invariants of the records.
    private func checkWorld(_ world: World, _ context: Comment) throws {
        for (name, seen) in world {
            for target in seen.owners.union(seen.held) {
                try #require(world[target] != nil, "\(name) refers to \(target), which is not there; \(context)")
            }
        }
    }

    /// Checks that missing records were deleted or depended on a missing one, and accepted ones are as requested.
    /// Returns how many were deleted with others.
    private func checkChange(
        from before: World, to after: World, _ operations: [RecordOperation], _ answers: [RecordResult], _ context: Comment
    ) throws -> Int {
        var deleted: Set<String> = []
        for (operation, answer) in zip(operations, answers) {
            let name = operation.change.recordName ?? ""
            switch answer {
            case .deleted:
                deleted.insert(name)
                try #require(after[name] == nil, "\(name) was deleted and is there; \(context)")
            case .record(let record):
                try #require(after[name]?.tag == record.recordChangeTag, "\(name) was saved and is not so; \(context)")
            case .failure:
                try #require(after[name] == nil || after[name]?.tag == before[name]?.tag || isTouched(name, after), "\(name) was refused; \(context)")
            }
        }
        var cascaded = 0
        for (name, seen) in before where after[name] == nil && !deleted.contains(name) {
            cascaded += 1
            try #require(!seen.owners.allSatisfy { after[$0] != nil }, "\(name) is gone without a cause; \(context)")
        }
        return cascaded
    }

    /// Returns whether a save of a child gave its parent a new tag.
    private func isTouched(_ name: String, _ world: World) -> Bool {
        world.values.contains { $0.parent == name && $0.tag == world[name]?.tag }
    }

    /// Checks that a deletion alone in its batch is refused exactly when a remaining record holds a deleted one.
    private func checkRefusals(
        from before: World, _ operations: [RecordOperation], _ answers: [RecordResult], atomic: Bool, _ context: Comment
    ) throws -> Int {
        guard operations.allSatisfy({ $0.type == .forceDelete }), operations.count == 1, let root = operations[0].change.recordName else {
            return answers.count { $0.error?.code == .validatingReferenceError }
        }
        var going: Set<String> = before[root] == nil ? [] : [root]
        var grows = true
        while grows {
            let more = before.filter { !going.contains($0.key) && !$0.value.owners.isDisjoint(with: going) }.keys
            grows = !more.isEmpty
            going.formUnion(more)
        }
        let isHeld = before.contains { !going.contains($0.key) && !$0.value.held.isDisjoint(with: going) }
        try #require((answers[0].error != nil) == isHeld, "the deletion of \(root) takes \(going.sorted()); \(context)")
        return isHeld ? 1 : 0
    }

    /// Checks that the stored links are those of the records.
    private func checkLinks(_ world: World, _ test: TestCloud, _ user: TestCloudUser, _ context: Comment) async throws {
        let database = try await user.database
        let found = try await test.store.read { transaction -> [Dependents] in
            guard let zone = try transaction.zones(in: database, named: ["Z"]).first else { return [] }
            return try transaction.dependents(in: zone.address, of: Self.names, outside: [], limit: 100)
        }
        let byTarget = Dictionary(uniqueKeysWithValues: found.map { ($0.target, $0) })
        for name in Self.names {
            let owned = world.filter { $0.value.owners.contains(name) }.keys.sorted()
            try #require(byTarget[name]?.owned.sorted() ?? [] == owned, "\(context)")
            try #require((byTarget[name]?.isValidated ?? false) == world.values.contains { $0.validates.contains(name) }, "\(context)")
            try #require((byTarget[name]?.isParent ?? false) == world.values.contains { $0.parent == name }, "\(context)")
        }
    }
}
