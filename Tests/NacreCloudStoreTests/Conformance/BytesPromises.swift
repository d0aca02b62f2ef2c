import NacreCloudContainer
import NacreCloudStorage
import NacreCloudTestSupport
import NacreCloudWire
import Testing

/// Tests that zones and databases count the bytes of their records.
@Suite struct BytesPromises {
    private static let other = ZoneAddress(database: Sample.database, zone: 8)

    private struct Counts: Equatable {
        var zone: Int64
        var other: Int64
        var database: Int64
    }

    private func counts(_ store: any Store) async throws -> Counts {
        try await store.read { transaction in
            let zones = Dictionary(
                uniqueKeysWithValues: try transaction.zones(in: Sample.database, after: nil, limit: 9).map { ($0.address, $0.bytes) })
            return Counts(
                zone: zones[Sample.zone] ?? -1, other: zones[Self.other] ?? -1,
                database: try transaction.databases([Sample.database]).first?.bytes ?? -1)
        }
    }

    private func populated(_ engine: Engine) async throws -> any Store {
        let store = try await engine.makeStore()
        try await store.populate([
            Sample.put("a", 1, body: [1, 2, 3]), Sample.put("gone", 1, isTombstone: true, body: [1]),
            Sample.put("b", 1, body: Array(repeating: 7, count: 5000)),
        ])
        var plan = WritePlan(\.zones, [Sample.zoneRow("Other", Self.other)])
        plan.records = [Sample.put("a", 1, body: [1], in: Self.other)]
        try await store.apply(plan)
        return store
    }

    @Test(arguments: Engine.allCases) func `a plan adds what its live records take to the rows of their zone and database`(engine: Engine)
        async throws
    {
        let store = try await populated(engine)
        #expect(try await counts(store) == Counts(zone: 5003, other: 1, database: 5004))
        var larger = Sample.put("a", 2, before: 1, body: [1, 2, 3, 4, 5])
        larger.replacedBytes = 3
        var gone = Sample.put("b", 2, before: 1, isTombstone: true, body: [9, 9])
        gone.replacedBytes = 5000
        var back = Sample.put("gone", 2, before: 1, body: [1, 2])
        back.replacedBytes = 0
        var plan = WritePlan(\.records, [larger, gone, back])
        plan.zonesChanged = [Sample.zone]
        try await store.apply(plan)
        #expect(try await counts(store) == Counts(zone: 7, other: 1, database: 8))
    }

    @Test(arguments: Engine.allCases) func `counting again looks at the records of one zone, and not at tombstones`(engine: Engine) async throws {
        let store = try await populated(engine)
        let none = ZoneAddress(database: Sample.database, zone: 99)
        #expect(try await store.read { [try $0.bytes(of: Sample.zone), try $0.bytes(of: Self.other), try $0.bytes(of: none)] } == [5003, 1, 0])
    }

    @Test(arguments: Engine.allCases) func `changes of rows add to what is counted, and a rollback adds nothing`(engine: Engine) async throws {
        let store = try await populated(engine)
        var plan = WritePlan()
        plan.zoneChanges = [ZoneChange(Sample.zone, state: .deleted, bytesAdded: -5003)]
        plan.databaseChanges = [DatabaseChange(Sample.database, bytesAdded: -5003), DatabaseChange(Sample.database, bytesAdded: 2)]
        try await store.write { [plan] transaction in
            try transaction.apply(plan)
            return .rollback(())
        }
        #expect(try await counts(store) == Counts(zone: 5003, other: 1, database: 5004))
        try await store.apply(plan)
        #expect(try await counts(store) == Counts(zone: -1, other: 1, database: 3))
        while try await store.write({ .commit(try $0.reclaim(Sample.zone, limit: 2)) }) > 0 {}
        #expect(try await counts(store).database == 3, "what is reclaimed counted no more")
    }
}
