import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudAccounts
@testable import NacreCloudContainer
@testable import NacreCloudStorage
@testable import NacreCloudTasks

/// Tests of `nacre schema reset`: development becomes what production is.
@Suite struct ResetSchemaTests {
    private static let container = TestCloud.container

    @Test(arguments: Engine.ofRules) func `records, zones and what production lacks go, and nothing of production`(engine: Engine) async throws {
        let test = try await TestCloud(engine)
        let cloud = test.cloud
        _ = try await cloud.schemas.createContainer(Self.container, justInTime: .all)
        for environment in DatabaseKey.Environment.allCases { try await cloud.admit("_ann", to: Self.container, environment) }
        let ann = test.user("_ann")
        try await ann.makeZone("Notes")
        try await ann.modify([.create("a", ["n": .int64(1)])], zone: "Notes")
        try await ann.modify([.create("a", ["n": .int64(1)])])
        _ = try await cloud.schemas.deploySchema(of: Self.container, isDryRun: false)
        let production = test.user("_ann", environment: .production)
        try await production.modify([.create("a", ["n": .int64(1)])])
        let kept = try await production.lookup(["a", "_ann"])
        try await ann.modify([.make(.create, "b", type: "Task", ["m": .int64(1)]), .create("c", ["late": .string("x")])], zone: "Notes")
        let token = try await ann.databaseChanges().syncToken
        let old = try #require(try await ann.lookup(["a"]).first?.record)
        let oldUser = try #require(try await ann.lookup(["_ann"]).first?.record)

        let wanted = SchemaReset(types: ["Task"], fields: ["Note.late", "Task.m"], databases: 2)
        #expect(try await cloud.resetSchema(of: Self.container, isDryRun: true) == wanted)
        #expect(try await ann.lookup(["a"]).first?.record == old, "a dry run changes nothing")
        #expect(try await cloud.resetSchema(of: Self.container, isDryRun: false) == wanted)

        let schema = try await cloud.schemas.schema(of: Self.container, .development)
        let live = try await cloud.schemas.schema(of: Self.container, .production)
        #expect(SchemaText(schema).text == SchemaText(live).text && schema.justInTime == .all)
        #expect(schema.building.isEmpty, "there is no record whose rows could lack")
        #expect(try await ann.lookup(["a"]).first?.error?.code == .notFound)
        #expect(try await production.lookup(["a", "_ann"]) == kept)
        // Followers are told that the zone was deleted, and nothing of the default zone.
        let changes = try await ann.databaseChanges(after: token)
        #expect(changes.zones.count == 1)
        // The user has a new record at once, and no tag returns.
        let user = try #require(try await ann.lookup(["_ann"]).first?.record)
        #expect(user.recordChangeTag != oldUser.recordChangeTag)
        let made = try #require(try await ann.modify([.create("a", ["n": .int64(1)])]).first?.record)
        #expect(made.recordChangeTag != old.recordChangeTag)
        #expect(try await ann.modify([.make(.update, "a", tag: old.recordChangeTag, ["n": .int64(2)])]).first?.error?.code == .conflict)

        while try await cloud.runDueTasks().taken > 0 {}
        let tags = try await ann.lookup(["a", "_ann"]).map(\.record?.recordChangeTag)
        #expect(tags == [made.recordChangeTag, user.recordChangeTag], "what clears the old zones leaves the new ones")
        // Another process notices it by the version.
        let other = TestCloud(test.store, seed: 3)
        #expect(try await other.cloud.schemas.schema(of: Self.container, .development).types["Task"] == nil)
    }

    @Test(arguments: Engine.ofRules) func `a field that was a mistake comes again as another type`(engine: Engine) async throws {
        let test = try await TestCloud(engine)
        _ = try await test.cloud.registry.createContainer(Self.container)
        let ann = test.user("_ann")
        try await ann.modify([.create("a", ["at": .double(1)])])
        let moment = FieldValue.timestamp(Timestamp(secondsSince2001: 1))
        #expect(try await ann.modify([.create("b", ["at": moment])]).first?.error != nil)
        _ = try await test.cloud.resetSchema(of: Self.container, isDryRun: false)
        #expect(try await ann.modify([.create("b", ["at": moment])]).first?.record?.fields["at"] == moment)
        let again = try await test.cloud.resetSchema(of: Self.container, isDryRun: false)
        #expect(again.types == ["Note"])
        let empty = try await test.cloud.resetSchema(of: Self.container, isDryRun: true)
        #expect(empty.types.isEmpty && empty.fields.isEmpty)
        await #expect(throws: ServerError.self) { try await test.cloud.resetSchema(of: "iCloud.com.example.none", isDryRun: false) }
    }

    @Test func `more zones than one transaction takes go too`() async throws {
        let test = try await TestCloud(.memory)
        _ = try await test.cloud.registry.createContainer(Self.container)
        let ann = test.user("_ann")
        let names = (0..<450).map { "zone\($0)" }
        for start in stride(from: 0, to: 450, by: 150) {
            let operations = names[start..<start + 150].map { ZoneOperation(.create, ZoneID(zoneName: $0)) }
            _ = try await test.cloud.modifyZones(ZonesModifyRequest(operations: operations), in: ann.target, by: ann.caller)
        }
        #expect(try await test.cloud.resetSchema(of: Self.container, isDryRun: false).databases == 1)
        let left = try await test.store.read { transaction in
            try transaction.databases(of: Self.container, .development, after: nil, limit: 9).flatMap {
                try transaction.zones(in: $0.id, after: nil, limit: 9)
            }
        }
        #expect(Set(left.map(\.name)) == ["_defaultZone"], "those of the user's own records")
    }
}
