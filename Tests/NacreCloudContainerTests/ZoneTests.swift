import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudContainer
@testable import NacreCloudStorage

/// Tests of `zones/modify`, `zones/lookup` and `zones/list` over every engine.
@Suite struct ZoneTests {
    @Test(arguments: Engine.ofRules) func `zones are made, found, listed by name behind the default zone, and deleted`(engine: Engine) async throws {
        let ann = try await TestCloud(engine).user("_ann")
        let made = try await ann.makeZone("b", "a", "B")
        #expect(made.compactMap(\.zone).map(\.zoneID.zoneName) == ["b", "a", "B"])
        #expect(made.compactMap(\.zone).allSatisfy { $0.atomic && $0.syncToken != nil && $0.zoneID.ownerRecordName == "_ann" })
        try await ann.modify([.create("r")])
        let list = try await ann.cloud.listZones(in: ann.target, by: ann.caller).zones.compactMap(\.zone)
        #expect(list.map(\.zoneID.zoneName) == [ZoneID.defaultZoneName, "B", "a", "b"])
        #expect(list.first?.atomic == false && list.first?.syncToken == nil)
        let deleted = try await ann.deleteZone("a", "nowhere")
        #expect(
            deleted == [
                .deleted(ZoneID(zoneName: "a", ownerRecordName: "_ann")),
                .failure(ZoneID(zoneName: "nowhere", ownerRecordName: "_ann"), .zoneNotFound(ZoneID(zoneName: "nowhere"))),
            ])
        let asked = ["b", "a", ZoneID.defaultZoneName].map { ZoneID(zoneName: $0) }
        let found = try await ann.cloud.lookupZones(ZonesLookupRequest(zones: asked), in: ann.target, by: ann.caller).zones
        #expect(found.map { $0.zone?.zoneID.zoneName } == ["b", nil, ZoneID.defaultZoneName])
        #expect(found[1].error?.code == .zoneNotFound)
    }

    @Test(arguments: Engine.ofRules) func `so many zones are made and listed, and of more neither is done in part`(
        engine: Engine
    ) async throws {
        let ann = try await TestCloud(engine).user("_ann")
        let names = (0..<Limits.zonesPerList).map { "z\($0)" }
        for start in stride(from: 0, to: names.count, by: 400) {
            let operations = names[start..<min(start + 400, names.count)].map { ZoneOperation(.create, ZoneID(zoneName: $0)) }
            _ = try await ann.cloud.modifyZones(ZonesModifyRequest(operations: operations), in: ann.target, by: ann.caller)
        }
        try await ann.modify([.create("r", ["n": .int64(1)])], zone: "z4999")
        func list() async throws -> [ZoneResult] { try await ann.cloud.listZones(in: ann.target, by: ann.caller).zones }
        func query() async throws -> [Record] {
            let filter = QueryFilter(.equals, fieldName: "n", value: .int64(1))
            let request = RecordsQueryRequest(query: Query(recordType: "Note", filters: [filter]), zoneWide: true)
            return try await ann.cloud.queryRecords(request, in: ann.target, by: ann.caller).records
        }
        #expect(try await Set(list().compactMap(\.zone?.zoneID.zoneName)) == Set(names + [ZoneID.defaultZoneName]))
        #expect(try await query().map(\.recordName) == ["r"])
        func modify(_ operations: ZoneOperation...) async throws -> [ServerError?] {
            try await ann.cloud.modifyZones(ZonesModifyRequest(operations: operations), in: ann.target, by: ann.caller).zones.map(\.error)
        }
        // A deletion in a request makes room for later operations.
        let (more, last) = (ZoneID(zoneName: "one more"), ZoneID(zoneName: "and another"))
        #expect(
            try await modify(
                .init(.create, more), .init(.delete, ZoneID(zoneName: "z0")), .init(.create, last), .init(.create, ZoneID(zoneName: "z1")))
                == [.noRoomForZones, nil, nil, nil])
        #expect(try await modify(.init(.create, more)) == [.noRoomForZones])
        try await ann.modify([.create("r", ["n": .int64(1)])])
        #expect(try await list().count == Limits.zonesPerList + 1)
        #expect(try await query().count == 2)
        // A database of an older version may have more.
        let key = DatabaseKey(container: TestCloud.container, environment: .development, scope: .private, owner: "_ann")
        let id = try await ann.cloud.databaseID(key)
        try await ann.cloud.store.write { transaction in
            _ = try transaction.lock(in: id)
            var plan = WritePlan()
            plan.zones = [ZoneRow(address: ZoneAddress(database: id, zone: 77), name: "older", run: 1, lastSeq: 0)]
            try transaction.apply(plan)
            return .commit(())
        }
        await #expect(throws: ServerError.tooManyZones) { try await list() }
        await #expect(throws: ServerError.tooManyZones) { try await query() }
        try await ann.deleteZone("z1")
        #expect(try await list().count == Limits.zonesPerList + 1)
        #expect(try await query().count == 2)
    }

    @Test(arguments: Engine.ofRules) func `the default zone is listed in private and public databases and not in shared ones`(
        engine: Engine
    ) async throws {
        let test = try await TestCloud(engine)
        func zones(_ user: TestCloudUser) async throws -> [String] {
            try await user.cloud.listZones(in: user.target, by: user.caller).zones.compactMap(\.zone?.zoneID.zoneName)
        }
        #expect(try await zones(test.user("_ann")) == [ZoneID.defaultZoneName])
        #expect(try await zones(test.world()) == [ZoneID.defaultZoneName])
        #expect(try await zones(test.user("_ann", in: .shared)).isEmpty)
    }

    @Test(arguments: Engine.ofRules) func `making the default zone answers it as it is, before and after its first record`(engine: Engine)
        async throws
    {
        let test = try await TestCloud(engine)
        let ann = test.user("_ann")
        for _ in 0..<2 {
            let zone = try #require(try await ann.modifyZones(ZoneOperation(.create, .defaultZone)).first?.zone)
            #expect(zone == Zone(zoneID: ZoneID(zoneName: ZoneID.defaultZoneName, ownerRecordName: "_ann"), syncToken: nil, atomic: false))
            try await ann.modify([.create(nil)])
        }
        #expect(try await ann.modifyZones(ZoneOperation(.delete, .defaultZone)).first?.error?.reason == "cannot delete the default zone")
        #expect(try await ann.databaseChanges().zones.isEmpty)
    }

    @Test(arguments: Engine.ofRules) func `making a zone that is there changes nothing`(engine: Engine) async throws {
        let test = try await TestCloud(engine)
        let ann = test.user("_ann")
        try await ann.makeZone("Z")
        try await ann.modify([.create("r")], zone: "Z")
        let token = try await ann.databaseChanges().syncToken
        _ = test.takeMoved()
        let again = try #require(try await ann.makeZone("Z").first?.zone)
        #expect(try await ann.changes("Z", after: again.syncToken).records.isEmpty, "its token is caught up")
        let changes = try await ann.databaseChanges(after: token)
        #expect(changes.zones.isEmpty && changes.syncToken == token)
        #expect(test.takeMoved().isEmpty)
        #expect(try await ann.lookup(["r"], zone: "Z").first?.record != nil)
    }

    @Test(arguments: Engine.ofRules) func `a zone made again is empty and another zone`(engine: Engine) async throws {
        let ann = try await TestCloud(engine).user("_ann")
        try await ann.makeZone("Z")
        try await ann.modify([.create("r")], zone: "Z")
        let old = try await ann.changes("Z").syncToken
        try await ann.deleteZone("Z")
        await #expect(throws: ServerError.zoneNotFound(ZoneID(zoneName: "Z"))) { try await ann.changes("Z", after: old) }
        await #expect(throws: ServerError.zoneNotFound(ZoneID(zoneName: "Z"))) { try await ann.modify([.create("r")], zone: "Z") }
        try await ann.makeZone("Z")
        await #expect(throws: ServerError.tokenOfAnotherZone) { try await ann.changes("Z", after: old) }
        #expect(try await ann.changes("Z").records.isEmpty)
        #expect(try await ann.lookup(["r"], zone: "Z").first?.error == .recordNotFound)
        #expect(try await ann.modify([.create("r")], zone: "Z").first?.record != nil)
    }

    @Test(arguments: Engine.ofRules) func `a request names each zone once and none of another's`(engine: Engine) async throws {
        let ann = try await TestCloud(engine).user("_ann")
        await #expect(throws: ServerError.repeatedItem(field: "operations")) { try await ann.makeZone("Z", "Z") }
        let bobs = ZoneID(zoneName: "Z", ownerRecordName: "_bob")
        let results = try await ann.modifyZones(ZoneOperation(.create, bobs), ZoneOperation(.create, ZoneID(zoneName: "mine")))
        #expect(results.map(\.error) == [.anotherUsersZone(bobs), nil])
        await #expect(throws: ServerError.anotherUsersZone(bobs)) {
            let request = RecordsModifyRequest(operations: [.create("r")], zoneID: bobs)
            _ = try await ann.cloud.modifyRecords(request, in: ann.target, by: ann.caller, digest: [])
        }
    }
}
