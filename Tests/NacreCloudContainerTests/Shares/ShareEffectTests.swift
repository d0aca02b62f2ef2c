import NacreCloudStore
import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudAccounts
@testable import NacreCloudContainer
@testable import NacreCloudStorage
@testable import NacreCloudTasks

/// Tests of effects of a share elsewhere: files, notifications, deleted accounts.
@Suite struct ShareEffectTests {
    private static let zone = ShareScene.zone

    @Test func `a participant sends and fetches files of the zone, and the URL ends with the share`() async throws {
        let scene = try await ShareScene(TestCloud(MemoryStore(), assets: MemoryAssets()))
        try await scene.join(["_ben": .readWrite, "_cleo": .readOnly])
        var (ben, cleo, ada) = (scene.guest("_ben"), scene.guest("_cleo"), scene.ada)
        ben.caller.credential = .device(id: "b", account: "b")
        cleo.caller.credential = .device(id: "c", account: "c")
        ada.caller.credential = .device(id: "a", account: "a")
        let sent = try await scene.file([1, 2, 3], by: ben)
        #expect(try await ben.modify([.update("note", ["f": .asset(sent)])], zone: Self.zone).first?.error == nil)
        let shown = try await cleo.lookup(["note"], zone: Self.zone).first?.record?.fields["f"]?.assets.first
        #expect(try await scene.bytes(of: shown, by: cleo) == [1, 2, 3])
        let owners = try await ada.lookup(["note"], zone: Self.zone).first?.record?.fields["f"]?.assets.first
        #expect(try await scene.bytes(of: owners, by: ada) == [1, 2, 3])
        await #expect(throws: ServerError.writeNotPermitted) { try await scene.file([4], by: cleo) }
        // The URL of a file does not give access to an unshared zone.
        try await ada.makeZone("Other")
        await #expect(throws: ServerError.unknownDownload) { try await scene.bytes(of: owners, by: scene.guest("_eve")) }
        try await ada.modify([.delete(ShareNames.ofZone)], zone: Self.zone)
        await #expect(throws: ServerError.unknownDownload) { try await scene.bytes(of: shown, by: cleo) }
        await #expect(throws: ServerError.self) { try await scene.file([4], by: ben) }
        #expect(try await scene.bytes(of: owners, by: ada) == [1, 2, 3])
    }

    @Test func `the URL of a file ends when its record leaves what is shared`() async throws {
        let scene = try await ShareScene(TestCloud(MemoryStore(), assets: MemoryAssets()))
        var (ben, ada) = (scene.guest("_ben"), scene.ada)
        ben.caller.credential = .device(id: "b", account: "b")
        ada.caller.credential = .device(id: "a", account: "a")
        let sent = try await scene.file([1, 2, 3], by: ada)
        let share = RecordOperation.share(.create, ShareChange(participants: [.invite("_ben", .readWrite)], forRecord: "root"), name: "S")
        let saved = try await ada.modify(
            [.create("root"), share, .make(.forceUpdate, "note", ["f": .asset(sent)], parent: .set(Reference(recordName: "root", action: .none)))],
            zone: Self.zone)
        _ = try await scene.accept(saved[1].record?.sharing?.value.shortGUID ?? "", by: "_ben")
        let shown = try await ben.lookup(["note"], zone: Self.zone).first?.record?.fields["f"]?.assets.first
        #expect(try await scene.bytes(of: shown, by: ben) == [1, 2, 3])
        let copied = AssetsRereferenceRequest(
            assets: [.init(recordName: "note", fieldName: "f")], zoneID: ZoneID(zoneName: Self.zone, ownerRecordName: ShareScene.ada))
        _ = try await scene.world.cloud.rereferenceAssets(copied, in: ben.target, by: ben.caller)
        try await ada.modify([.make(.forceUpdate, "note", parent: .clear)], zone: Self.zone)
        await #expect(throws: ServerError.unknownDownload, "as of a record that is deleted") { try await scene.bytes(of: shown, by: ben) }
        await #expect(throws: ServerError.recordNotFound) { try await scene.world.cloud.rereferenceAssets(copied, in: ben.target, by: ben.caller) }
    }

    @Test(arguments: Engine.ofRules) func `a subscription to the shared database tells a participant's devices of each change`(engine: Engine)
        async throws
    {
        let people = try await SubscriptionScene(try await engine.makeStore())
        let (ada, bob) = (try await people.signIn("ada"), try await people.signIn("bob"))
        try await people.subscribe(bob, .database("shared"), in: .shared)
        let owner = people.user(ada)
        let adasName = try #require(people.names["ada"])
        let bobsName = try #require(people.names["bob"])
        try await owner.makeZone(Self.zone)
        let change = ShareChange(participants: [.invite(bobsName, .readWrite)])
        let guid = try await owner.modify([.share(.create, change)], zone: Self.zone).first?.record?.sharing?.value.shortGUID ?? ""
        let request = SharesRequest(shortGUIDs: [.init(value: guid)])
        _ = try await people.cloud.acceptShares(request, in: people.target(.public), by: bob.caller)
        _ = try await people.told(bob)
        try await owner.modify([.create("note")], zone: Self.zone)
        let told = try await people.told(bob)
        #expect(told.map(\.summary) == ["shared"] && told.first?.member("dbs") == "3")
        let guest = people.user(bob).at(adasName)
        #expect(try await guest.modify([.update("note")], zone: Self.zone).first?.error == nil)
        #expect(try await people.told(bob) == [], "a device is not told of its own change")
        try await owner.modify([.delete(ShareNames.ofZone)], zone: Self.zone)
        #expect(try await people.identifiers(bob) == ["shared"], "nor does the end of the share go untold")
        try await owner.modify([.update("note")], zone: Self.zone)
        #expect(try await people.told(bob) == [], "what is not shared is not told")
    }

    @Test(arguments: Engine.ofRules) func `an account that is deleted leaves what was shared with it, and takes back what it shared`(engine: Engine)
        async throws
    {
        let people = try await SubscriptionScene(try await engine.makeStore())
        let (ada, bob) = (try await people.signIn("ada"), try await people.signIn("bob"))
        let names = [try #require(people.names["ada"]), try #require(people.names["bob"])]
        // Each shares a zone with the other.
        for (device, other, guest) in [(ada, names[1], bob), (bob, names[0], ada)] {
            let owner = people.user(device)
            try await owner.makeZone(Self.zone)
            let change = ShareChange(participants: [.invite(other, .readWrite)])
            let guid = try await owner.modify([.share(.create, change)], zone: Self.zone).first?.record?.sharing?.value.shortGUID ?? ""
            let request = SharesRequest(shortGUIDs: [.init(value: guid)])
            _ = try await people.cloud.acceptShares(request, in: people.target(.public), by: guest.caller)
        }
        try await people.test.runAllTasks()
        let token = try await people.user(ada, in: .shared).databaseChanges().syncToken
        try await people.cloud.registry.deleteAccount(#require(people.accounts["bob"]))
        people.test.clock.move(bySeconds: Limits.accountDeletionSeconds)
        try await people.test.runAllTasks()
        let share = try await people.user(ada).lookup([ShareNames.ofZone], zone: Self.zone).first?.record?.sharing?.value
        #expect(share?.participants.map(\.identity.userRecordName) == [names[0]])
        let heard = try await people.user(ada, in: .shared).databaseChanges(after: token).zones
        #expect(heard.map(\.deletion) == [.deleted])
        #expect(try await people.test.check() == [])
    }

    @Test func `who waits for changes of the shared database is signalled by the owner's save`() async throws {
        let scene = try await ShareScene(.memory)
        try await scene.join(["_ben": .readOnly])
        let shared = try await scene.world.cloud.databaseID(
            DatabaseKey(container: TestCloud.container, environment: .development, scope: .shared, owner: "_ben"))
        _ = scene.world.takeMoved()
        try await scene.ada.modify([.update("note")], zone: Self.zone)
        try await scene.world.runAllTasks()
        #expect(scene.world.takeMoved().contains(shared))
        #expect(scene.world.takeFaults() == [])
    }

    @Test(arguments: [1, 50, 99]) func `a save into a shared zone leaves one task, however many take part`(count: Int) async throws {
        let store = CountingStore(try await Engine.memory.makeStore())
        let scene = try await ShareScene(TestCloud(store))
        try await scene.share(SharePermission.none, (0..<count).map { .invite("_u\($0)") })
        let guid = try await scene.guid()
        for index in 0..<count { _ = try await scene.accept(guid, by: "_u\(index)") }
        try await scene.world.runAllTasks()
        store.reset()
        try await scene.ada.modify([.update("note")], zone: Self.zone)
        #expect(store.transactions.map(\.verbs.count).reduce(0, +) <= StoreCallTests.mostCallsOfModify)
        var tasks = 0
        while case let round = try await scene.world.cloud.runDueTasks(), round.taken > 0 { tasks += round.taken }
        #expect(tasks == 1)
    }
}
