import NacreCloudContainer
import NacreCloudStorage
import NacreCloudTestSupport
import NacreCloudWire
import Testing

/// Tests of zones that are removed by others than their app, over every engine; and of the check of the rest.
@Suite struct ZoneRemovalTests {
    @Test(arguments: Engine.ofRules, [(ZoneRow.State.purged, ZoneDeletionReason.purged), (.encryptedDataReset, .encryptedDataReset)])
    func `a zone that its user removes is told of with the reason, and its records go`(
        engine: Engine, reason: (state: ZoneRow.State, told: ZoneDeletionReason)
    ) async throws {
        let test = try await TestCloud(engine)
        let ann = test.user("_ann")
        try await ann.makeZone("Y", "Z")
        try await ann.modify([.create("a", ["n": .int64(1)])], zone: "Z")
        let before = try await ann.databaseChanges().syncToken
        #expect(try await remove("Z", test, reason.state))
        _ = test.takeMoved()
        let told = try await ann.databaseChanges(after: before).zones
        #expect(told.map(\.zoneID.zoneName) == ["Z"] && told.first?.deletion == reason.told)
        try await test.runAllTasks()
        #expect(try await test.check().isEmpty)
        #expect(try await ann.modify([.create("a")], zone: "Y").first?.record != nil)
        // Made again it is another zone, without its old contents.
        try await ann.makeZone("Z")
        #expect(try await ann.changes("Z").records.isEmpty)
    }

    @Test(arguments: Engine.ofRules) func `each request about a purged or reset zone says so, until the zone is saved anew`(engine: Engine)
        async throws
    {
        let test = try await TestCloud(engine)
        let (ann, bob) = (test.user("_ann"), test.user("_bob"))
        try await ann.define(["text": .string])
        let zoneID = ZoneID(zoneName: "Z")
        let purged = ServerError.zoneNotFound(zoneID, end: .purged)
        let reset = ServerError.zoneNotFound(ZoneID(zoneName: "Y"), end: .encryptedDataReset)
        #expect(reset.reason == ServerError.encryptedDataResetReason && reset.nativeCode == NativeErrorCode.zoneNotFound.rawValue)
        #expect(purged.code == .zoneNotFound && purged.nativeCode == NativeErrorCode.userDeletedZone.rawValue)
        try await ann.makeZone("Y", "Z")
        let token = try await ann.changes("Z").syncToken
        try await ann.modify([.create("a")], zone: "Z")
        #expect(try await remove("Z", test, .purged))
        #expect(try await remove("Y", test, .encryptedDataReset))
        func refused() async throws {
            await #expect(throws: purged) { try await ann.modify([.create("a")], zone: "Z") }
            await #expect(throws: purged) { try await ann.lookup(["a"], zone: "Z") }
            await #expect(throws: purged) { try await ann.query("Note", zone: "Z") }
            await #expect(throws: purged) { try await ann.changes("Z", after: token) }
            let lookup = ZonesLookupRequest(zones: [zoneID, ZoneID(zoneName: "Y"), .defaultZone])
            #expect(
                try await ann.cloud.lookupZones(lookup, in: ann.target, by: ann.caller).zones.map(\.error) == [purged, reset, nil])
            #expect(try await ann.deleteZone("Z").map(\.error) == [purged])
            let subscription = Subscription(subscriptionID: "s", kind: .zone(zoneID, recordType: nil))
            let saved = try await ann.cloud.modifySubscriptions(
                SubscriptionsModifyRequest(operations: [.create(subscription)]), in: ann.target, by: ann.caller)
            #expect(saved.subscriptions == [.failure("s", purged)])
            await #expect(throws: reset) { try await ann.modify([.create("a")], zone: "Y") }
            await #expect(throws: reset) { try await ann.changes("Y") }
        }
        try await refused()
        await #expect(throws: ServerError.zoneNotFound(zoneID)) { try await bob.lookup(["a"], zone: "Z") }
        // The rows of the zone are forgotten, and its end is not.
        try await test.runAllTasks()
        test.clock.move(bySeconds: Limits.tombstoneSeconds + 1)
        try await test.runAllTasks()
        try await refused()
        try await ann.makeZone("Y", "Z")
        for zone in ["Y", "Z"] { #expect(try await ann.modify([.create("a")], zone: zone).first?.record != nil) }
        try await ann.deleteZone("Z")
        await #expect(throws: ServerError.zoneNotFound(zoneID)) { try await ann.lookup(["a"], zone: "Z") }
        #expect(try await test.check().isEmpty)
    }

    @Test(arguments: Engine.ofRules) func `a zone that is not there, and the default zone, are not removed`(engine: Engine) async throws {
        let test = try await TestCloud(engine)
        try await test.user("_ann").modify([.create("a")])
        #expect(try await remove("Z", test, .purged) == false)
        #expect(try await remove(ZoneID.defaultZoneName, test, .purged) == false)
        #expect(try await test.user("_ann").lookup(["a"]).first?.record != nil)
    }

    @Test(arguments: Engine.ofRules) func `everything is each user's live records, and nothing that was deleted`(engine: Engine) async throws {
        let test = try await TestCloud(engine)
        let (ann, bob) = (test.user("_ann"), test.user("_bob"))
        try await ann.makeZone("Z")
        try await ann.modify([.create("a", ["n": .int64(1)]), .create("b"), .create("c", parent: "a")], zone: "Z")
        try await ann.modify([.delete("b")], zone: "Z")
        try await bob.modify([.create("d")])
        let all = try await test.cloud.everything(of: TestCloud.container, .development)
        let records = all.filter { $0.key.scope == .private }.flatMap { database in
            database.zones.flatMap { zone in zone.records.filter { $0.type == "Note" }.map { "\(database.key.owner) \(zone.name) \($0.name)" } }
        }
        #expect(records.sorted() == ["_ann Z a", "_ann Z c", "_bob _defaultZone d"])
        let kept = all.flatMap { $0.zones.flatMap(\.records) }
        #expect(kept.first { $0.name == "a" }?.fields == ["n": .int64(1)] && kept.first { $0.name == "c" }?.parent == "a")
        #expect(try await test.cloud.everything(of: TestCloud.container, .production).isEmpty)
    }

    private func remove(_ zone: String, _ test: TestCloud, _ reason: ZoneRow.State) async throws -> Bool {
        try await test.cloud.removeZone(zone, of: "_ann", in: TestCloud.container, .development, because: reason)
    }
}
