import CloudTestSupport
import CloudWire
import Testing

@testable import CloudContainer

/// What an operation costs in calls of the store: on an engine across a network each one is a round trip.
@Suite struct StoreCallTests {
    /// "Verbs take sets": whatever the batch, no modify asks more often.
    static let mostCallsOfModify = 5

    enum Batch: CaseIterable { case creates, updates, deletes, setParents, keptParents, mixed }

    private func operations(_ batch: Batch, _ count: Int) -> [RecordOperation] {
        (0..<count).map { place in
            let name = "r\(place)"
            let parent = RecordChange.ParentChange.set(Reference(recordName: "p\(place % 7)", action: .none))
            switch batch {
            case .creates: return .create("new\(place)")
            case .updates: return .update(name)
            case .deletes: return .delete(name)
            case .setParents: return .make(.forceUpdate, name, parent: parent)
            case .keptParents: return .update("c\(place)")
            case .mixed:
                let all: [RecordOperation] = [
                    .create("new\(place)"), .update("c\(place)"), .delete(name), .make(.forceUpdate, "m\(place)", parent: parent),
                    .delete("c\(place)"),
                ]
                return all[place % all.count]
            }
        }
    }

    @Test(arguments: Batch.allCases, [1, 200, 400]) func `a modify asks the store five times at most`(batch: Batch, count: Int) async throws {
        let store = CountingStore(try await Engine.memory.makeStore())
        let ann = TestCloud(store).user("_ann")
        for zone in ["Z", ZoneID.defaultZoneName] {
            try await ann.makeZone(zone)
            try await ann.modify((0..<7).map { .create("p\($0)") }, zone: zone)
            try await ann.modify((0..<count).map { .create("r\($0)") }, zone: zone)
            try await ann.modify((0..<count).map { .create("c\($0)", parent: "p\($0 % 7)") }, zone: zone)
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

    @Test func `reads ask once or twice`() async throws {
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
        #expect(try await calls { try await ann.makeZone("A", "B", "C") } == [3])
        #expect(try await calls { try await ann.deleteZone("A", "B", "C") } == [3])
        #expect(try await calls { try await ann.deleteZone("A") } == [2])
    }
}
