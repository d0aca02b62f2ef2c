import NacreCloudStorage
import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudContainer

/// Tests of zones that an administrator has fetched anew, over every engine.
@Suite struct ResyncTests {
    private func resync(_ zone: String, _ cloud: Cloud, of owner: String = "_ann") async throws -> Bool {
        try await cloud.resyncZone(zone, of: owner, in: TestCloud.container, .development)
    }

    @Test(arguments: Engine.ofRules) func `tokens from before a resync of their zone expire, and no others`(engine: Engine) async throws {
        let test = try await TestCloud(engine)
        let ann = test.user("_ann")
        try await ann.makeZone("Y", "Z")
        for name in ["a", "b", "c"] { try await ann.save([.create(name)], zone: "Z") }
        try await ann.modify([.delete("a")], zone: "Z")
        let (upToDate, inTheMiddle) = (try await ann.changes("Z").syncToken, try await ann.changes("Z", limit: 1).syncToken)
        let other = try await ann.changes("Y").syncToken
        let followed = try await ann.databaseChanges().syncToken
        #expect(try await resync("Z", test.cloud))
        for token in [upToDate, inTheMiddle] {
            await #expect(throws: ServerError.tokenExpired) { try await ann.changes("Z", after: token) }
        }
        #expect(try await ann.changes("Y", after: other).records.isEmpty)
        let told = try await ann.databaseChanges(after: followed)
        #expect(told.zones.map(\.zoneID.zoneName) == ["Z"] && told.zones.first?.deletion == nil)
        #expect(try await test.check().isEmpty)
    }

    @Test(arguments: Engine.ofRules) func `a device that began after a resync has all records, and goes on from any page`(engine: Engine) async throws
    {
        let test = try await TestCloud(engine)
        let ann = test.user("_ann")
        try await ann.makeZone("Z")
        for name in ["a", "b", "c"] { try await ann.save([.create(name)], zone: "Z") }
        #expect(try await resync("Z", test.cloud))
        var (names, token, more) = ([String?](), String?.none, true)
        while more {
            let page = try await ann.changes("Z", after: token, limit: 1)
            names += page.records.map(\.recordName)
            (token, more) = (page.syncToken, page.moreComing)
        }
        #expect(names == ["a", "b", "c"])
        try await ann.modify([.delete("b")], zone: "Z")
        #expect(try await ann.changes("Z", after: token).records.map(\.tombstone?.recordName) == ["b"])
        #expect(try await ann.living(["a", "b", "c"], zone: "Z") == ["a", "c"])
        #expect(try await resync("Z", test.cloud), "again")
        await #expect(throws: ServerError.tokenExpired) { try await ann.changes("Z", after: token) }
    }

    @Test(arguments: Engine.ofRules) func `a resync of a user expires the tokens of each zone and of the database, and of no other user`(
        engine: Engine
    ) async throws {
        let test = try await TestCloud(engine)
        let (ann, bob) = (test.user("_ann"), test.user("_bob"))
        for user in [ann, bob] {
            try await user.makeZone("Y", "Z")
            try await user.save([.create("a")], zone: "Z")
        }
        let tokens = (try await ann.changes("Y").syncToken, try await ann.changes("Z").syncToken, try await ann.databaseChanges().syncToken)
        let begun = try await ann.databaseChanges(limit: 1)
        let bobs = (try await bob.changes("Z").syncToken, try await bob.databaseChanges().syncToken)
        #expect(try await test.cloud.resyncZones(of: "_ann", in: TestCloud.container, .development) == 2)
        await #expect(throws: ServerError.tokenExpired) { try await ann.changes("Y", after: tokens.0) }
        await #expect(throws: ServerError.tokenExpired) { try await ann.changes("Z", after: tokens.1) }
        for token in [tokens.2, begun.syncToken] {
            await #expect(throws: ServerError.tokenExpired) { try await ann.databaseChanges(after: token) }
        }
        let anew = try await ann.databaseChanges(limit: 1)
        #expect(anew.zones.map(\.zoneID.zoneName) == ["Y"] && anew.moreComing)
        #expect(try await ann.databaseChanges(after: anew.syncToken).zones.map(\.zoneID.zoneName) == ["Z"])
        #expect(try await bob.changes("Z", after: bobs.0).records.isEmpty)
        #expect(try await bob.databaseChanges(after: bobs.1).zones.isEmpty)
        #expect(try await test.check().isEmpty)
    }

    @Test(arguments: Engine.ofRules) func `a zone that is not there, the default zone and a user without zones change nothing`(engine: Engine)
        async throws
    {
        let test = try await TestCloud(engine)
        let ann = test.user("_ann")
        try await ann.modify([.create("a")])
        #expect(try await resync("Z", test.cloud) == false)
        await #expect(throws: ServerError.noFeedInDefaultZone) { try await resync(ZoneID.defaultZoneName, test.cloud) }
        for user in ["_ann", "_bob"] { #expect(try await test.cloud.resyncZones(of: user, in: TestCloud.container, .development) == 0) }
        let token = try await ann.databaseChanges().syncToken
        #expect(try await ann.databaseChanges(after: token).zones.isEmpty)
    }

    @Test(arguments: Engine.ofRules) func `participants in a shared zone, and in a shared record, hear of a resync and begin anew`(engine: Engine)
        async throws
    {
        let scene = try await ShareScene(engine)
        try await scene.join(["_ben": .readOnly])
        let tree = try await TreeScene(engine)
        try await tree.join("trip", as: "S", ["_ben": .readOnly])
        for (world, zone) in [(scene.world, ShareScene.zone), (tree.scene.world, TreeScene.zone)] {
            try await world.runAllTasks()
            let ben = world.user("_ben").at(ShareScene.ada)
            let first = try await ben.changes(zone)
            let followed = try await ben.databaseChanges().syncToken
            #expect(try await resync(zone, world.cloud, of: ShareScene.ada))
            try await world.runAllTasks()
            #expect(try await ben.databaseChanges(after: followed).zones.map(\.zoneID.zoneName) == [zone])
            await #expect(throws: ServerError.tokenExpired) { try await ben.changes(zone, after: first.syncToken) }
            let anew = try await ben.changes(zone)
            #expect(Set(anew.records.map(\.recordName)) == Set(first.records.map(\.recordName)) && !first.records.isEmpty)
            #expect(try await ben.changes(zone, after: anew.syncToken).records.isEmpty)
        }
    }

    // Beside other servers a push waits for a device that may listen there.
    @Test(arguments: Engine.ofRules.filter(\.hasOneWriter))
    func `a resync notifies each device that follows the zone or the database, and no query`(engine: Engine) async throws {
        let scene = try await SubscriptionScene(try await engine.makeStore())
        let (device, other) = (try await scene.signIn("ada"), try await scene.signIn("ada"))
        try await scene.user(device).makeZone("Work", "Home")
        try await scene.subscribe(device, .zone("w", "Work"), .zone("h", "Home"), .database("d"), .query("q"))
        _ = try await scene.identifiers(device)
        let owner = try #require(scene.names["ada"])
        #expect(try await resync("Work", scene.cloud, of: owner))
        for device in [device, other] { #expect(try await scene.identifiers(device).sorted() == ["d", "w"]) }
        #expect(try await scene.cloud.resyncZones(of: owner, in: SubscriptionScene.container, SubscriptionScene.environment) == 2)
        #expect(try await scene.identifiers(device) == ["d"])
    }
}
