import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudAccounts
@testable import NacreCloudContainer
@testable import NacreCloudStorage
@testable import NacreCloudTasks

/// Tests of an administrator's view of why a device was notified, or not.
@Suite(.timeLimit(.minutes(5))) struct PushLogTests {
    private struct Scene {
        let scene: SubscriptionScene
        let author: SubscriptionScene.Device
        let device: SubscriptionScene.Device

        init(_ engine: Engine) async throws {
            scene = try await SubscriptionScene(try await engine.makeStore())
            (author, device) = (try await scene.signIn("ada"), try await scene.signIn("ada"))
        }

        func why(
            _ record: String, _ subscription: String = "q", zone: String = "_defaultZone", in scope: DatabaseKey.Scope = .private,
            of person: String = "ada"
        ) async throws -> NotificationExplanation {
            try await scene.cloud.explainNotification(
                NotificationQuestion(
                    subscriptionID: subscription, recordName: record, zoneName: zone, user: #require(scene.names[person])),
                in: scene.target(scope))
        }

        func save(_ operations: RecordOperation..., in scope: DatabaseKey.Scope = .private) async throws {
            try await scene.user(author, in: scope).modify(operations)
            try await scene.test.runAllTasks()
        }
    }

    /// Returns the names and texts of the failed steps.
    private func obstacle(_ found: NotificationExplanation) -> String {
        found.steps.filter { !$0.isPassed }.map { "\($0.name): \($0.text)" }.joined(separator: "; ")
    }

    @Test(arguments: Engine.ofRules) func `every step has its verdict, with both values where a part of the predicate failed`(_ engine: Engine)
        async throws
    {
        let scene = try await Scene(engine)
        try await scene.scene.user(scene.author).makeZone("Work")
        try await scene.scene.subscribe(
            scene.device,
            .query("q", [.equals("text", .string("red")), QueryFilter(.greaterThan, fieldName: "count", value: .int64(5))], on: .create),
            .query("gone", on: .delete), .zone("z", "Work"))
        try await scene.save(
            .create("good", ["text": .string("red"), "count": .int64(6)]), .create("blue", ["text": .string("blue"), "count": .int64(6)]),
            .create("bare", ["text": .string("red")]), .make(.create, "list", type: "List"))
        let good = try await scene.why("good")
        #expect(good.fires && good.steps.map(\.name) == ["subscription", "saved", "type", "event", "filter", "filter"], "\(good)")
        let saved = good.steps.first { $0.name == "saved" }?.text ?? ""
        #expect(saved.wholeMatch(of: /created at \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ, of the type Note/) != nil, "\(saved)")
        let blue = obstacle(try await scene.why("blue"))
        #expect(blue.contains("filter: text EQUALS") && blue.contains("red") && blue.contains("text is") && blue.contains("blue"), "\(blue)")
        #expect(obstacle(try await scene.why("bare")).contains("count is not set"))
        #expect(obstacle(try await scene.why("list")) == "type: Note is asked for, the record is a List")
        #expect(obstacle(try await scene.why("nothing")).hasPrefix("saved: no record"))
        #expect(obstacle(try await scene.why("good", zone: "Nowhere")).hasPrefix("saved: there is no zone"))
        #expect(obstacle(try await scene.why("good", "other")).hasPrefix("subscription: the user has none"))
        #expect(obstacle(try await scene.why("good", "gone")) == "event: fires on delete, the record was last created")
        #expect(obstacle(try await scene.why("good", "z")).contains("zone: the subscription is to Work"))
        #expect(obstacle(try await scene.why("good", in: .public)).hasPrefix("subscription: the user has none"))
        try await scene.save(.update("good", ["count": .int64(7)]))
        #expect(obstacle(try await scene.why("good")) == "event: fires on create, the record was last updated")
        try await scene.save(.delete("good"))
        #expect(try await scene.why("good", "gone").fires)
    }

    @Test(arguments: Engine.ofRules) func `each device says whether it made the change and what became of its notification`(_ engine: Engine)
        async throws
    {
        let scene = try await Scene(engine)
        _ = try await scene.scene.cloud.registerDevice(
            nil, in: SubscriptionScene.container, SubscriptionScene.environment, by: scene.author.caller)
        var info = NotificationInfo.alert("New")
        info.collapseIDKey = "text"
        try await scene.scene.subscribe(scene.device, .query("q", info: info))
        try await scene.save(.create("a", ["text": .string("x")]))
        try await scene.save(.create("b", ["text": .string("x")]))
        let found = try await scene.why("a")
        let mine = try #require(found.devices.first { $0.isAuthor })
        let other = try #require(found.devices.first { !$0.isAuthor })
        #expect(mine.lines.isEmpty && other.lines.map(\.event) == [.queued, .coalesced] && other.logBegins == nil)
        #expect(try await scene.why("b").devices.flatMap(\.lines).map(\.event) == [.queued])
        // Kept for a week.
        scene.scene.test.clock.move(bySeconds: Limits.pushLogSeconds + 1)
        #expect(try await scene.why("a").devices.flatMap(\.lines).isEmpty)
    }

    @Test func `an encrypted value is not told`() async throws {
        let scene = try await Scene(.memory)
        try await scene.scene.subscribe(scene.device, .query("q"))
        try await scene.save(.create("a", ["text": .string("hush-hush")]))
        let found = try await scene.why("a")
        #expect(found.fires && !"\(found)".contains("hush-hush"), "no part of the predicate asks for it")
    }

    @Test(arguments: Engine.ofRules) func `the log of a device has its bounds, and goes with it`(_ engine: Engine) async throws {
        let scene = try await Scene(engine)
        try await scene.scene.subscribe(scene.device, .query("q", info: .alert("New")))
        var went: [Timestamp] = []
        for index in 0..<Limits.pushLogRowsPerDevice + 20 {
            try await scene.save(.create("n\(index)"))
            scene.scene.test.clock.move(bySeconds: 1)
            #expect(try await scene.scene.told(scene.device).count == 1)
            went.append(scene.scene.test.clock.now)
        }
        func rows() async throws -> [EntryRow] {
            try await scene.scene.test.store.read { try $0.rows(of: .entries, after: nil, limit: 5000) }.compactMap { row in
                if case .entry(let entry) = row.value, entry.key.kind == .pushLog { entry } else { nil }
            }
        }
        let kept = try await rows()
        #expect(kept.count == Limits.pushLogRowsPerDevice && kept.allSatisfy { $0.value.count <= Limits.pushLogBytes + 700 })
        #expect(try await scene.why("n1").devices.flatMap(\.lines).contains { $0.recordName == "n1" && $0.event == .queued } == false)
        let last = "n\(Limits.pushLogRowsPerDevice + 19)"
        let found = try await scene.why(last).devices
        #expect(found.flatMap(\.lines).contains { $0.recordName == last })
        let begins = try #require(found.compactMap(\.logBegins).first)
        let oldest = try #require(try kept.flatMap { try PushLog.lines(of: $0) }.map(\.number).min())
        #expect(oldest == 21 && begins == went[20], "notifications that went before it are gone")
        guard case .device(let id, let account)? = scene.device.caller.credential else { return }
        try await scene.scene.cloud.registry.revokeAccountToken(id, of: account)
        let second = try await scene.scene.signIn("ada")
        try await scene.save(.create("later"))
        #expect(try await rows().isEmpty, "what waits is its own log")
        #expect(try await scene.scene.told(second).count == 1)
        #expect(try await rows().count == 1, "of the other device")
    }

    @Test(arguments: Engine.ofRules) func `a notification that its device has is told with when it was queued, and so are many at once`(
        _ engine: Engine
    ) async throws {
        let scene = try await Scene(engine)
        try await scene.scene.subscribe(scene.device, .query("q", info: .alert("New")))
        let names = (0..<90).map { "\($0) " + String(repeating: "n", count: 150) }
        for name in names { try await scene.save(.create(name)) }
        let before = try await scene.why(names[7]).devices.flatMap(\.lines)
        #expect(before.map(\.event) == [.queued])
        scene.scene.test.clock.move(bySeconds: 60)
        let address = try #require(scene.device.address)
        _ = try await scene.scene.cloud.acknowledge(through: 90, for: address)
        for name in names where name.hasPrefix("7") || name.hasPrefix("8") {
            #expect(try await scene.why(name).devices.flatMap(\.lines).map(\.recordName) == [name])
        }
        #expect(try await scene.why(names[7]).devices.flatMap(\.lines) == before)
    }

    @Test(arguments: Engine.ofRules) func `who may not read the record is not told, and that is said`(_ engine: Engine) async throws {
        let scene = try await Scene(engine)
        let bob = try await scene.scene.signIn("bob")
        try await scene.scene.subscribe(bob, .query("q"), in: .public)
        _ = try await scene.scene.cloud.schemas.importSchema(
            """
            DEFINE SCHEMA
            RECORD TYPE Users (roles LIST<INT64>);
            RECORD TYPE Note ("___createdBy" REFERENCE QUERYABLE, "___recordID" REFERENCE QUERYABLE, text STRING QUERYABLE SORTABLE SEARCHABLE,
                count INT64 QUERYABLE SORTABLE, open STRING QUERYABLE SORTABLE SEARCHABLE, tags LIST<STRING> QUERYABLE SEARCHABLE, owner REFERENCE QUERYABLE,
                GRANT READ, WRITE TO "_creator", GRANT CREATE TO "_icloud");
            """, to: SubscriptionScene.container, isDryRun: false)
        try await scene.save(.create("a"), in: .public)
        #expect(obstacle(try await scene.why("a", in: .public, of: "bob")).hasPrefix("permission: the user may not"))
    }
}
