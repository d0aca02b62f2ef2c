import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudContainer
@testable import NacreCloudStorage

/// Tests of an administrator's view of the users who see and write a record, with the reasons.
@Suite struct ExplainShareTests {
    private func explain(_ name: String, _ world: TestCloud, zone: String = ShareScene.zone) async throws -> ShareExplanation {
        try await world.cloud.explainShare(ofRecord: name, zone: zone, of: ShareScene.ada, in: TestCloud.container, .development)
    }

    private func list(_ world: TestCloud) async throws -> [SharedLine] {
        try await world.cloud.listShares(of: ShareScene.ada, in: TestCloud.container, .development)
    }

    @Test(arguments: Engine.ofRules) func `of a record is said by which share, through which records, who sees it and who writes it`(engine: Engine)
        async throws
    {
        let tree = try await TreeScene(engine)
        let world = tree.scene.world
        try await tree.join("trip", as: "S", ["_ben": .readWrite, "_cleo": .readOnly])
        try await tree.share(
            "trip", as: "S", nil,
            [.invite("_ben", .readWrite), .invite("_cleo"), .mail("dan@example.com", .readWrite), .invite("_eve", SharePermission.none)])
        let stop = try await explain("stop", world)
        #expect(stop.share == "S" && stop.root == "trip" && stop.path == ["stop", "day", "trip"])
        #expect(stop.people.map(\.userRecordName) == ["_ada", "_ben", "_cleo", nil, "_eve"])
        #expect(stop.people.map(\.mayRead) == [true, true, true, false, false])
        #expect(stop.people.map(\.mayWrite) == [true, true, false, false, false])
        #expect(stop.people[1].because == "it hangs on trip, and they may read and write")
        #expect(stop.people[3].invited == "dan@example.com" && stop.people[3].because == "they are invited and have not accepted")
        #expect(try await explain("trip", world).path == ["trip"])
        #expect(try await explain("S", world).people.count == 5)
        let note = try await explain("note", world)
        #expect(note.share == nil && note.people.map(\.userRecordName) == ["_ada"])
        // The explanation matches the requests.
        for (name, sees) in [("stop", true), ("note", false)] {
            #expect(try await tree.found([name], by: tree.guest("_cleo")).isEmpty != sees)
        }
        #expect(
            try await list(world) == [
                SharedLine(zoneName: "Trip", share: "S", root: "trip", publicPermission: .none, participants: 5)
            ])
        await #expect(throws: ServerError.recordNotFound) { try await explain("nosuch", world) }
        await #expect(throws: ServerError.self) { try await explain("stop", world, zone: "Nowhere") }
    }

    @Test func `of a zone that is shared as a whole every record is`() async throws {
        let scene = try await ShareScene(.memory)
        try await scene.join(["_ben": .readOnly])
        let note = try await explain("note", scene.world)
        #expect(note.share == ShareNames.ofZone && note.root == nil && note.path == [] && note.people.map(\.mayWrite) == [true, false])
        #expect(try await list(scene.world).map(\.share) == [ShareNames.ofZone])
    }
}
