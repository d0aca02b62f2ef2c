import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudContainer
@testable import NacreCloudStorage

/// Tests of damaged shares and roots of shares: the answers to participants while the participants are unknown, and
/// after the repair.
@Suite struct DamagedShareTests {
    private static let zone = ShareScene.zone
    private static let trip = ZoneID(zoneName: ShareScene.zone, ownerRecordName: ShareScene.ada)

    private func database(_ scene: ShareScene) async throws -> DatabaseID {
        try await scene.world.cloud.databaseID(
            DatabaseKey(container: TestCloud.container, environment: .development, scope: .private, owner: ShareScene.ada))
    }

    private func damage(_ name: String, in scene: ShareScene) async throws {
        let database = try await database(scene)
        try await scene.world.store.write { transaction -> Ending<Void> in
            let zone = try #require(try transaction.zones(in: database, named: [Self.zone]).first)
            let before = try #require(try transaction.records(in: zone.address, named: [name]).first)
            var row = before
            row.body[row.body.count / 2] ^= 1
            var plan = WritePlan()
            plan.records = [.damaged(row, in: zone.address, over: before)]
            try transaction.apply(plan)
            return .commit(())
        }
    }

    /// Returns the entries that lead to shares and memberships, and are deleted with them.
    private func entries(_ scene: ShareScene) async throws -> [String] {
        let database = try await database(scene)
        return try await scene.world.store.read { transaction in
            try [EntryKind.recordShare, .shareMembership].flatMap { try transaction.entries(in: database, $0, after: nil, limit: 100).map(\.key.key) }
        }
    }

    /// Checks that the zone is not reported as gone, which would make a device forget it: each request fails as the
    /// share cannot be read.
    private func expectDamaged(_ guest: TestCloudUser, _ scene: ShareScene, after token: String) async throws {
        await #expect(throws: ServerError.recordDamaged) { try await guest.lookup(["note"], zone: Self.zone) }
        await #expect(throws: ServerError.recordDamaged) { try await guest.changes(Self.zone) }
        await #expect(throws: ServerError.recordDamaged) { try await guest.modify([.update("note")], zone: Self.zone) }
        await #expect(throws: ServerError.recordDamaged) { try await guest.query("Note", zone: Self.zone) }
        try await scene.world.runAllTasks()
        #expect(try await guest.databaseChanges(after: token).zones.allSatisfy { $0.deletion == nil })
    }

    /// Checks that the zone is gone for a participant, who is told.
    private func expectGone(_ guest: TestCloudUser, _ scene: ShareScene, after token: String) async throws {
        await #expect(throws: ServerError.zoneNotFound(Self.trip)) { try await guest.lookup(["note"], zone: Self.zone) }
        try await scene.world.runAllTasks()
        #expect(try await guest.databaseChanges(after: token).zones.map(\.deletion) == [.deleted])
        #expect(try await guest.databaseChanges().zones.filter { $0.deletion == nil }.isEmpty)
    }

    // MARK: Of a zone

    @Test(arguments: Engine.ofRules) func `the share of a zone that is damaged and deleted goes from its participants, and is made anew`(
        engine: Engine
    )
        async throws
    {
        let scene = try await ShareScene(engine)
        try await scene.join(["_ben": .readWrite, "_cleo": .readOnly])
        let (ben, cleo) = (scene.guest("_ben"), scene.guest("_cleo"))
        let (bens, cleos) = (try await ben.databaseChanges().syncToken, try await cleo.databaseChanges().syncToken)
        try await damage(ShareNames.ofZone, in: scene)
        try await expectDamaged(ben, scene, after: bens)
        #expect(try await scene.ada.lookup(["note"], zone: Self.zone).first?.record != nil)
        #expect(try await scene.ada.modify([.delete(ShareNames.ofZone)], zone: Self.zone).first?.error == nil)
        try await expectGone(ben, scene, after: bens)
        try await expectGone(cleo, scene, after: cleos)
        #expect(try await entries(scene) == [])
        try await scene.join(["_ben": .readOnly])
        #expect(try await ben.lookup(["note"], zone: Self.zone).first?.record != nil)
        #expect(try await scene.world.check() == [])
    }

    @Test(arguments: Engine.ofRules) func `a share that is saved over a damaged one has the participants that it names, and the others are told`(
        engine: Engine
    ) async throws {
        let scene = try await ShareScene(engine)
        try await scene.join(["_ben": .readWrite, "_cleo": .readOnly])
        let (guid, token) = (try await scene.guid(), try await scene.guest("_cleo").databaseChanges().syncToken)
        try await damage(ShareNames.ofZone, in: scene)
        let saved = try await scene.ada.modify(
            [.share(.forceReplace, ShareChange(publicPermission: SharePermission.none, participants: [.invite("_ben", .readWrite)]))], zone: Self.zone
        ).first?.record
        #expect(saved?.sharing?.value.shortGUID == guid, "the URL is what it was")
        try await expectGone(scene.guest("_cleo"), scene, after: token)
        #expect(try await scene.accept(guid, by: "_cleo").error == .notInvited)
        #expect(try await scene.accept(guid, by: "_ben").share != nil, "who took part is invited, and accepts anew")
        #expect(try await scene.guest("_ben").modify([.update("note")], zone: Self.zone).first?.error == nil)
        #expect(try await entries(scene).count == 1)
    }

    @Test(arguments: Engine.ofRules) func `a zone whose share is damaged goes from its participants when it is deleted`(engine: Engine) async throws {
        let scene = try await ShareScene(engine)
        try await scene.join(["_ben": .readWrite])
        let token = try await scene.guest("_ben").databaseChanges().syncToken
        try await damage(ShareNames.ofZone, in: scene)
        try await scene.ada.deleteZone(Self.zone)
        try await expectGone(scene.guest("_ben"), scene, after: token)
        #expect(try await entries(scene) == [])
    }

    @Test(arguments: Engine.ofRules) func `an owner whose data are deleted takes damaged shares along, and participants hear of it`(engine: Engine)
        async throws
    {
        let scene = try await ShareScene(engine)
        try await scene.join(["_ben": .readWrite])
        let token = try await scene.guest("_ben").databaseChanges().syncToken
        try await damage(ShareNames.ofZone, in: scene)
        let database = try await database(scene)
        let row = try #require(try await scene.world.store.read { try $0.databases([database]).first })
        while try await scene.world.cloud.clear(row) {}
        try await expectGone(scene.guest("_ben"), scene, after: token)
        #expect(try await scene.zones(of: "_ben") == [])
    }

    // MARK: Of a record

    @Test(arguments: Engine.ofRules) func `the share of a record that is damaged and deleted goes from its participants, and its root is free`(
        engine: Engine
    ) async throws {
        let tree = try await TreeScene(engine)
        try await tree.join("trip", as: "S", ["_ben": .readWrite])
        try await tree.scene.world.runAllTasks()
        let ben = tree.guest("_ben")
        let token = try await ben.databaseChanges().syncToken
        try await damage("S", in: tree.scene)
        try await expectDamaged(ben, tree.scene, after: token)
        await #expect(throws: ServerError.zoneNotFound(Self.trip)) { try await tree.guest("_eve").lookup(["trip"], zone: Self.zone) }
        #expect(try await tree.ada.modify([.delete("S")], zone: Self.zone).first?.error == nil)
        #expect(try await tree.ada.lookup(["trip"], zone: Self.zone).first?.record?.share == nil)
        try await expectGone(ben, tree.scene, after: token)
        #expect(try await entries(tree.scene) == [])
        try await tree.join("trip", as: "S2", ["_ben": .readOnly])
        #expect(try await tree.found(["trip", "stop"], by: ben) == ["trip", "stop"])
        #expect(try await tree.scene.world.check() == [])
    }

    @Test(arguments: Engine.ofRules) func `the share of a record is saved over a damaged one, for the same root`(engine: Engine) async throws {
        let tree = try await TreeScene(engine)
        try await tree.join("trip", as: "S", ["_ben": .readWrite, "_cleo": .readWrite])
        try await tree.scene.world.runAllTasks()
        let (guid, token) = (try await tree.guid("S"), try await tree.guest("_cleo").databaseChanges().syncToken)
        try await damage("S", in: tree.scene)
        let change = ShareChange(publicPermission: SharePermission.none, participants: [.invite("_ben", .readWrite)], forRecord: "trip")
        let saved = try await tree.ada.modify([.share(.forceReplace, change, name: "S")], zone: Self.zone).first
        #expect(saved?.error == nil && saved?.record?.sharing?.value.shortGUID == guid)
        #expect(try await tree.scene.accept(guid, by: "_ben").share != nil)
        #expect(try await tree.found(TreeScene.names, by: tree.guest("_ben")) == ["S", "trip", "day", "night", "stop"])
        try await expectGone(tree.guest("_cleo"), tree.scene, after: token)
        #expect(try await tree.share("stop", as: "D")?.error == .alreadyShared)
    }

    @Test(arguments: Engine.ofRules) func `a root that is damaged and deleted takes its share along`(engine: Engine) async throws {
        let tree = try await TreeScene(engine)
        try await tree.join("other", as: "O", ["_ben": .readWrite])
        try await tree.scene.world.runAllTasks()
        let ben = tree.guest("_ben")
        let token = try await ben.databaseChanges().syncToken
        try await damage("other", in: tree.scene)
        #expect(try await ben.lookup(["O"], zone: Self.zone).first?.record != nil, "who takes part, the share says")
        #expect(try await ben.lookup(["other"], zone: Self.zone).first?.error == .recordNotFound, "whose it is, nobody knows")
        #expect(try await tree.ada.modify([.delete("other")], zone: Self.zone).first?.error == nil)
        #expect(try await tree.found(["O", "other"], by: tree.ada) == [])
        try await expectGone(ben, tree.scene, after: token)
        #expect(try await tree.scene.accept(try await tree.guid("O"), by: "_ben").error == .notInvited)
        #expect(try await entries(tree.scene) == [])
        try await tree.scene.world.runAllTasks()
        #expect(try await tree.scene.world.check() == [])
    }
}
