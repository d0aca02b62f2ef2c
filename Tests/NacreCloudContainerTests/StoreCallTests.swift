import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudContainer

/// Tests of an operation's cost in calls of the store: on an engine across a network each one is a round trip.
@Suite struct StoreCallTests {
    /// "Verbs take sets": the limit for a modify with any batch.
    static let mostCallsOfModify = 5

    enum Batch: CaseIterable { case creates, updates, deletes, setParents, keptParents, setOwners, validates, mixed }

    private func operations(_ batch: Batch, _ count: Int) -> [RecordOperation] {
        (0..<count).map { index in
            let name = "r\(index)"
            let parent = RecordChange.ParentChange.set(Reference(recordName: "p\(index % 7)", action: .none))
            switch batch {
            case .creates: return .create("new\(index)")
            case .updates: return .update(name)
            case .deletes: return .delete(name)
            case .setParents: return .make(.forceUpdate, name, parent: parent)
            case .keptParents: return .update("c\(index)")
            case .setOwners: return .make(.forceUpdate, name, .holding(["p\(index % 7)", "p\((index + 1) % 7)"]))
            case .validates: return .make(.forceUpdate, name, .holding([], validates: ["p\(index % 7)"]))
            case .mixed:
                let all: [RecordOperation] = [
                    .create("new\(index)"), .update("c\(index)"), .delete(name), .make(.forceUpdate, "m\(index)", parent: parent),
                    .delete("c\(index)"), .holder("h\(index)", of: ["p\(index % 7)"], parent: "p0"),
                ]
                return all[index % all.count]
            }
        }
    }

    @Test(arguments: Batch.allCases, [1, 200, 400]) func `a modify asks the store five times at most`(batch: Batch, count: Int) async throws {
        let store = CountingStore(try await Engine.memory.makeStore())
        let ann = TestCloud(store).user("_ann")
        try await ann.define(["owner": .reference, "owners": .referenceList, "validates": .referenceList])
        for zone in ["Z", ZoneID.defaultZoneName] {
            try await ann.makeZone(zone)
            try await ann.modify((0..<7).map { .create("p\($0)") }, zone: zone)
            try await ann.modify((0..<count).map { .create("r\($0)") }, zone: zone)
            try await ann.modify((0..<count).map { .create("c\($0)", parent: "p\($0 % 7)") }, zone: zone)
            // Their fields are in the schema before the calls are counted.
            try await ann.modify([.holder("w", of: ["p0"], validates: ["p0"]), .holder("x", of: ["p0", "p1"])], zone: zone)
            store.reset()
            let results = try await ann.modify(operations(batch, count), zone: zone, id: zone, token: [1])
            #expect(results.allSatisfy { $0.error == nil })
            let first = try #require(store.transactions.first)
            #expect(store.transactions.count == 1 && first.kind == .write)
            #expect(first.verbs.count <= Self.mostCallsOfModify, "\(first.verbs)")
            store.reset()
            try await ann.modify(operations(batch, count), zone: zone, id: zone)
            #expect(store.transactions.map(\.verbs.count) == [2], "a retry finds its answer in two")
        }
    }

    @Test(arguments: [1, 3, 20]) func `each level of a cascade costs two calls more`(levels: Int) async throws {
        let store = CountingStore(try await Engine.memory.makeStore())
        let ann = TestCloud(store, cascadePerTransaction: 10_000).user("_ann")
        try await ann.makeZone("Z")
        for root in 0..<10 {
            try await ann.modify([.create("r\(root).0")], zone: "Z")
            for level in 1...levels {
                try await ann.modify(
                    (0..<20).map {
                        .holder("r\(root).\(level)" + ($0 == 0 ? "" : ".\($0)"), of: ["r\(root).\(level - 1)"], parent: "r\(root).\(level - 1)")
                    },
                    zone: "Z")
            }
        }
        store.reset()
        let results = try await ann.modify((0..<10).map { .delete("r\($0).0") }, zone: "Z")
        #expect(results.allSatisfy { $0.error == nil })
        #expect(try await ann.changes("Z").records.isEmpty)
        #expect(store.transactions.first?.verbs.count == 4 + 2 * levels)
    }

    @Test func `reads ask a few times`() async throws {
        let store = CountingStore(try await Engine.memory.makeStore())
        let ann = TestCloud(store).user("_ann")
        try await ann.makeZone("Z")
        try await ann.modify((0..<400).map { .create("r\($0)") }, zone: "Z")
        func calls(_ body: () async throws -> Void) async throws -> [Int] {
            store.reset()
            try await body()
            return store.transactions.map(\.verbs.count)
        }
        let names = (0..<400).map { "r\($0)" }
        #expect(try await calls { _ = try await ann.lookup(names, zone: "Z") } == [2])
        let token = try await ann.changes("Z").syncToken
        #expect(try await calls { _ = try await ann.changes("Z") } == [3], "a full page asks for the rest of its commit")
        #expect(try await calls { _ = try await ann.changes("Z", after: token) } == [2])
        #expect(try await calls { _ = try await ann.databaseChanges() } == [2])
        #expect(try await calls { _ = try await ann.cloud.listZones(in: ann.target, by: ann.caller) } == [1])
        #expect(try await calls { try await ann.makeZone("A", "B", "C") } == [4])
        #expect(try await calls { try await ann.deleteZone("A", "B", "C") } == [3])
        #expect(try await calls { try await ann.deleteZone("A") } == [2])
    }
}
