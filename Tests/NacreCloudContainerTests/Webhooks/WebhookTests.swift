import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudContainer
@testable import NacreCloudStorage
@testable import NacreCloudTasks

/// Tests that a webhook is told of changes in order, each at least once, and of nothing that it was not made for.
@Suite(.timeLimit(.minutes(5))) struct WebhookTests {
    private static func title(_ text: String) -> RecordFields { ["title": .string(text), "secret": .string("hidden")] }

    // MARK: Order, repetition, parking

    @Test(arguments: Engine.ofHistories) func `changes come in the order of their commits, and nothing comes twice that was acknowledged`(
        _ engine: Engine
    ) async throws {
        let scene = try await WebhookScene(try await engine.makeStore())
        try await scene.everybody.modify([.create("before")])
        _ = try await scene.make()
        try await scene.everybody.modify([.create("b"), .create("a")])
        try await scene.everybody.modify([.update("a")])
        let first = try await scene.delivered()
        #expect(first.flatMap(\.told) == ["created b", "created a", "updated a"] && first.map(\.reset) == [true])
        #expect(first.first?.database == "public" && first.first?.zoneID.zoneName == "_defaultZone")
        try await scene.everybody.modify([.delete("a")])
        let second = try await scene.delivered()
        #expect(second.flatMap(\.told) == ["deleted a"] && second.first?.changes.first?.recordType == "Note" && second.map(\.reset) == [nil])
        #expect(second.first?.changes.first?.recordChangeTag == nil && second.first?.changes.first?.fields == nil)
        #expect(try await scene.delivered().isEmpty)
        #expect(try await scene.cloud.listTasks(after: nil).tasks.filter { $0.task.key.kind == .deliverWebhook }.isEmpty)
    }

    @Test(arguments: Engine.ofRules) func `a receiver that does not acknowledge hears the same again after growing pauses, then it is parked visibly`(
        _ engine: Engine
    ) async throws {
        let scene = try await WebhookScene(try await engine.makeStore())
        let webhook = try await scene.make()
        try await scene.everybody.modify([.create("a")])
        scene.receiver.beDeaf(true)
        #expect(try await scene.delivered().flatMap(\.told) == ["created a"])
        var listed = try await scene.listed()
        #expect(listed?.state == .retrying && listed?.said == "503")
        #expect(try await scene.delivered().isEmpty, "the first pause is not over")
        // Further commits neither shorten the pause nor put the attempts back.
        try await scene.everybody.modify([.create("b")])
        #expect(try await scene.delivered().isEmpty)
        try await scene.park()
        let attempts = try scene.receiver.take()
        #expect(attempts.count == Int(Limits.taskAttempts) - 1 && attempts.allSatisfy { $0.told == ["created a", "created b"] && $0.reset == true })
        listed = try await scene.listed()
        #expect(listed?.state == .parked && listed?.said == "503")
        try await scene.everybody.modify([.create("c")])
        #expect(try await scene.delivered().isEmpty, "nothing goes to a parked webhook")
        #expect(try await scene.cloud.resumeWebhook(webhook.id) == 1)
        #expect(try await scene.delivered().flatMap(\.told) == ["created a", "created b", "created c"])
        listed = try await scene.listed()
        #expect(listed?.state == .active && listed?.said == "200")
    }

    @Test func `a receiver is asked again after the pause that it asks for, an hour at most, and one that is gone is parked at once`() async throws {
        let scene = try await WebhookScene(try await Engine.memory.makeStore())
        let webhook = try await scene.make()
        try await scene.everybody.modify([.create("a")])
        for (asked, pause) in [(120, 120), (0, 2), (1e9, Limits.webhookRetrySeconds)] {
            scene.receiver.answerNext(WebhookReport(status: 503, retryAfter: asked))
            #expect(try await scene.delivered().count == 1)
            scene.test.clock.move(bySeconds: pause - 1)
            #expect(try await scene.delivered().isEmpty, "asked for \(asked)")
            scene.test.clock.move(bySeconds: 1)
        }
        scene.receiver.answerNext(WebhookReport(status: 410))
        #expect(try await scene.delivered().count == 1)
        let listed = try await scene.listed()
        #expect(listed?.state == .parked && listed?.said == "410")
        #expect(try await scene.cloud.resumeWebhook(webhook.id) == 1)
        #expect(try await scene.delivered().flatMap(\.told) == ["created a"])
    }

    @Test(arguments: Engine.ofRules) func `a server that dies between the receiver's answer and its own note delivers again`(_ engine: Engine)
        async throws
    {
        let store = try await ReopenableStore(engine, run: 1)
        let dying = InterruptedStore(store)
        let scene = try await WebhookScene(dying)
        _ = try await scene.make()
        try await scene.everybody.modify([.create("a")])
        scene.receiver.whileReceiving { dying.interrupt { _ in throw StoreError(.unavailable, "The process is gone") } }
        _ = try? await scene.test.runAllTasks()
        #expect(try scene.receiver.take().flatMap(\.told) == ["created a"])
        try await store.reopen(run: 2)
        let next = TestCloud(store, webhooks: scene.receiver)
        _ = try await next.cloud.endLeases()
        try await next.runAllTasks()
        #expect(try scene.receiver.take().flatMap(\.told) == ["created a"])
        try await next.user("_ann", in: .public).modify([.create("b")])
        try await next.runAllTasks()
        #expect(try scene.receiver.take().flatMap(\.told) == ["created b"])
    }

    @Test func `two servers over one store deliver one after the other`() async throws {
        let store = try await Engine.sideBySide.makeStore()
        let scene = try await WebhookScene(store)
        let other = TestCloud(store, webhooks: scene.receiver)
        _ = try await scene.make()
        try await scene.everybody.modify([.create("a")])
        scene.receiver.whileReceiving { try await other.runAllTasks() }
        #expect(try await scene.delivered().flatMap(\.told) == ["created a"])
    }

    @Test func `a large commit comes in several deliveries, and a long one says that more comes`() async throws {
        let scene = try await WebhookScene(try await Engine.memory.makeStore())
        _ = try await scene.make()
        let names = (0..<250).map { "r\($0)" }
        try await scene.everybody.modify(names.map { .create($0) })
        let found = try await scene.delivered()
        #expect(found.flatMap(\.told) == names.map { "created \($0)" } && found.map(\.moreComing) == [true, true, false])
        #expect(found.allSatisfy { $0.changes.count <= Limits.changesPerDelivery } && found.map(\.reset) == [true, nil, nil])
    }

    @Test(arguments: Engine.ofRules) func `the list and the metric say since when the oldest change waits that a receiver has not acknowledged`(
        _ engine: Engine
    ) async throws {
        let scene = try await WebhookScene(try await engine.makeStore())
        let webhook = try await scene.make()
        let start = scene.test.clock.now
        try await scene.everybody.modify((0..<Limits.changesPerDelivery).map { .create("r\($0)") })
        scene.test.clock.move(bySeconds: 10)
        try await scene.everybody.modify([.create("later")])
        #expect(try await scene.listed()?.since == start)
        scene.receiver.answerNext(WebhookReport(status: 200), WebhookReport(status: 503))
        #expect(try await scene.delivered().count == 2)
        #expect(try await scene.listed()?.since == start + 10)
        try await scene.park()
        #expect(try await scene.listed()?.since == start + 10)
        let waited = scene.test.clock.now.secondsSince2001 - start.secondsSince2001 - 10
        #expect(try await scene.cloud.webhookLags() == [webhook.id: waited])
        #expect(try await scene.cloud.resumeWebhook(webhook.id) == 1)
        _ = try await scene.delivered()
        #expect(try await scene.listed()?.since == nil)
        #expect(try await scene.cloud.webhookLags().isEmpty)
    }

    // MARK: What it is told of

    @Test func `values come only of the fields that it was made with, and no asset or long text among them`() async throws {
        let scene = try await WebhookScene(try await Engine.memory.makeStore())
        _ = try await scene.make(fields: ["title"])
        try await scene.everybody.modify([.create("a", Self.title("Hello"))])
        try await scene.everybody.modify([.create("b", Self.title(String(repeating: "x", count: Limits.webhookValueBytes + 1)))])
        let changes = try await scene.delivered().flatMap(\.changes)
        #expect(changes.map(\.fields) == [["title": .init(value: "Hello")], [:]])
        #expect(changes.allSatisfy { $0.recordChangeTag != nil })
    }

    @Test func `a query chooses records as a subscription's does`() async throws {
        let scene = try await WebhookScene(try await Engine.memory.makeStore())
        let query = #"{"query":{"recordType":"Note","filterBy":[{"fieldName":"title","comparator":"EQUALS","fieldValue":{"value":"yes"}}]}}"#
        _ = try await scene.make(query: query)
        try await scene.everybody.modify([.create("a", Self.title("yes")), .create("b", Self.title("no"))])
        try await scene.everybody.modify([.update("a", Self.title("no")), .update("b", Self.title("yes"))])
        try await scene.everybody.modify([.delete("b")])
        let found = try await scene.delivered()
        #expect(found.flatMap(\.told) == ["created a", "updated b", "deleted b"])
        #expect(!scene.receiver.text.contains("yes"), "a compared value is not sent")
    }

    @Test func `nothing of a private database leaves without the grant`() async throws {
        let scene = try await WebhookScene(try await Engine.memory.makeStore())
        _ = try await scene.make(fields: ["title", "secret"])
        let ann = scene.test.user("_ann")
        try await ann.makeZone("Diary")
        for zone in ["Diary", ZoneID.defaultZoneName] {
            try await ann.modify([.create("mine", Self.title("private words"))], zone: zone)
            try await ann.modify([.delete("mine")], zone: zone)
        }
        try await scene.test.runAllTasks()
        #expect(scene.receiver.text.isEmpty)
        try await scene.everybody.modify([.create("open", Self.title("public words"))])
        try await scene.test.runAllTasks()
        for word in ["mine", "private", "Diary"] { #expect(!scene.receiver.text.contains(word)) }
    }

    @Test func `with the grant it is told of private databases, with their owners, in the order of each zone`() async throws {
        let scene = try await WebhookScene(try await Engine.memory.makeStore())
        _ = try await scene.make(zone: "Diary", isPrivate: true)
        for name in ["_ann", "_bob"] {
            let user = scene.test.user(name)
            try await user.makeZone("Diary", "Other")
            try await user.modify([.create("one")], zone: "Diary")
            try await user.modify([.create("other")], zone: "Other")
            try await user.modify([.create("two"), .holder("three", of: ["two"])], zone: "Diary")
            try await user.modify([.delete("two")], zone: "Diary")
        }
        let found = try await scene.delivered()
        for owner in ["_ann", "_bob"] {
            let own = found.filter { $0.zoneID == .init(zoneName: "Diary", ownerRecordName: owner) && $0.database == "private" }
            let told = own.flatMap(\.told)
            #expect(told.prefix(3) == ["created one", "created two", "created three"])
            // The deletions are of one commit.
            #expect(Set(told.dropFirst(3)) == ["deleted two", "deleted three"] && told.count == 5)
        }
        #expect(found.count == 2)
    }

    @Test(
        arguments: [
            (NewWebhook(url: ""), "url"), (NewWebhook(url: "u", zone: "Diary"), "zone"), (NewWebhook(url: "u", fields: ["no name"]), nil),
            (NewWebhook(url: "u", fields: (0...Limits.fieldsPerWebhook).map { "f\($0)" }), "fields"), (NewWebhook(url: "u", query: "{"), nil),
            (NewWebhook(url: "u", query: #"{"query":{"recordType":"Nothing"}}"#), nil),
            (
                NewWebhook(
                    url: "u", query: #"{"query":{"recordType":"Note","filterBy":[{"comparator":"CONTAINS_ALL_TOKENS","fieldValue":{"value":"x"}}]}}"#),
                "query"
            ),
        ] as [(NewWebhook, String?)])
    func `a webhook that could not be told anything is refused, by the field at fault`(_ asked: NewWebhook, _ field: String?) async throws {
        let scene = try await WebhookScene(try await Engine.memory.makeStore())
        let error = await #expect(throws: ServerError.self) {
            try await scene.cloud.createWebhook(asked, in: WebhookScene.container, .development)
        }
        #expect(error != nil && (field == nil || error?.field == field), "\(String(describing: error))")
        for _ in 0..<Limits.webhooksPerEnvironment { _ = try await scene.make() }
        await #expect(throws: ServerError.self) { try await scene.make() }
    }

    // MARK: Its end, and a new beginning

    @Test func `a deleted webhook is told nothing, and its parked task ends`() async throws {
        let scene = try await WebhookScene(try await Engine.memory.makeStore())
        let webhook = try await scene.make()
        try await scene.everybody.modify([.create("a")])
        try await scene.park()
        _ = try scene.receiver.take()
        _ = try await scene.cloud.deleteWebhook(webhook.id, in: WebhookScene.container, .development)
        try await scene.everybody.modify([.create("b")])
        #expect(try await scene.delivered().isEmpty)
        #expect(try await scene.cloud.listTasks(after: nil).tasks.filter { $0.task.key.kind == .deliverWebhook }.isEmpty)
        await #expect(throws: ServerError.self) { try await scene.pull(webhook) }
        let other = try await scene.make()
        try await scene.everybody.modify([.create("c")])
        #expect(try await scene.delivered().flatMap(\.told) == ["created c"], "\(other)")
    }

    @Test(arguments: Engine.ofRules) func `nothing is kept for a deleted webhook in the public database, also if it had acknowledged everything`(
        _ engine: Engine
    ) async throws {
        let scene = try await WebhookScene(try await engine.makeStore())
        let (deleted, kept) = (try await scene.make(), try await scene.make())
        // More rows than one transaction removes.
        for index in 0...WebhookChanges.rowsRemoved { try await scene.everybody.modify([.create("r\(index)")]) }
        _ = try await scene.delivered()
        _ = try await scene.cloud.deleteWebhook(deleted.id, in: WebhookScene.container, .development)
        #expect(try await scene.delivered().isEmpty)
        let key = DatabaseKey(container: WebhookScene.container, environment: .development, scope: .public, owner: "")
        let database = try await scene.cloud.databaseID(key)
        for kind in [EntryKind.webhookCount, .webhookPosition, .webhookChange] {
            let keys = try await scene.cloud.store.read { try $0.entries(in: database, kind, after: nil, limit: 1000).map(\.key.key) }
            #expect(!keys.isEmpty && keys.allSatisfy { $0.hasPrefix(kept.id + " ") }, "\(kind)")
        }
    }

    @Test func `after a reset of the environment, and after a week without acknowledgement, a webhook begins anew and says so`() async throws {
        let scene = try await WebhookScene(try await Engine.memory.makeStore())
        let webhook = try await scene.make()
        try await scene.everybody.modify([.create("a")])
        let first = try await scene.delivered()
        _ = try await scene.cloud.resetSchema(of: WebhookScene.container, isDryRun: false)
        let end = try await scene.delivered()
        #expect(end.map(\.zoneDeleted) == ["DELETED"] && end.map(\.told) == [[]] && end.map(\.lost) == [nil])
        try await scene.test.user("_ann").define(["title": .string])
        try await scene.everybody.modify([.create("b")])
        let anew = try await scene.delivered()
        #expect(anew.map(\.told) == [["created b"]] && anew.map(\.reset) == [true])
        let pulled = try await scene.pull(webhook, after: first.first?.cursor)
        #expect(pulled.told == ["created b"] && pulled.reset == true)

        try await scene.everybody.modify([.create("c")])
        try await scene.park()
        _ = try scene.receiver.take()
        scene.test.clock.move(bySeconds: Limits.webhookChangeSeconds)
        try await scene.everybody.modify([.create("d")])
        #expect(try await scene.cloud.resumeWebhook(webhook.id) == 1)
        let late = try await scene.delivered()
        #expect(late.map(\.told) == [["created d"]] && late.map(\.reset) == [true])
    }

    @Test(arguments: Engine.ofRules) func `the deletion of a zone is told after its changes, with its reason, and nothing is kept for it then`(
        _ engine: Engine
    ) async throws {
        let scene = try await WebhookScene(try await engine.makeStore())
        let webhook = try await scene.make(isPrivate: true)
        let ann = scene.test.user("_ann")
        try await ann.makeZone("Diary", "Untouched", "Notes")
        for zone in ["Diary", "Notes"] { try await ann.modify([.create("in \(zone)")], zone: zone) }
        try await ann.deleteZone("Diary", "Untouched")
        _ = try await scene.cloud.removeZone("Notes", of: "_ann", in: WebhookScene.container, .development, because: .purged)
        let found = try await scene.delivered().filter { $0.zoneID.ownerRecordName == "_ann" }
        let told = Dictionary(grouping: found, by: \.zoneID.zoneName).mapValues { $0.map { $0.told + [$0.zoneDeleted ?? ""] } }
        #expect(told["Diary"] == [["created in Diary", "DELETED"]] && told["Notes"] == [["created in Notes", "PURGED"]])
        #expect(told["Untouched"] == [["DELETED"]])
        for kind in [EntryKind.webhookPosition, .webhookCount] { #expect(try await kept(kind, in: scene, of: webhook).isEmpty) }
        // A new zone of the name begins anew.
        try await ann.makeZone("Diary")
        try await ann.modify([.create("again")], zone: "Diary")
        let anew = try await scene.delivered()
        #expect(anew.map(\.told) == [["created again"]] && anew.map(\.reset) == [true] && anew.map(\.zoneDeleted) == [nil])
    }

    @Test func `a zone that goes while its last change is delivered is told of in the next delivery`() async throws {
        let scene = try await WebhookScene(try await Engine.memory.makeStore())
        _ = try await scene.make(zone: "Diary", isPrivate: true)
        let ann = scene.test.user("_ann")
        try await ann.makeZone("Diary")
        try await ann.modify([.create("a")], zone: "Diary")
        scene.receiver.whileReceiving { try await ann.deleteZone("Diary") }
        let found = try await scene.delivered()
        #expect(found.map(\.told) == [["created a"], []] && found.map(\.zoneDeleted) == [nil, "DELETED"])
    }

    /// The keys of entries of a kind that a webhook has in Ann's private database.
    private func kept(_ kind: EntryKind, in scene: WebhookScene, of webhook: Webhook) async throws -> [String] {
        let key = DatabaseKey(container: WebhookScene.container, environment: .development, scope: .private, owner: "_ann")
        let database = try await scene.cloud.databaseID(key)
        return try await scene.test.store.read { try $0.entries(in: database, kind, after: nil, limit: 100) }
            .map(\.key.key).filter { $0.hasPrefix(webhook.id) }
    }

    // MARK: Pulling

    @Test func `a receiver pulls from a cursor, of a delivery or of an answer, whatever was pushed`() async throws {
        let scene = try await WebhookScene(try await Engine.memory.makeStore())
        let (webhook, other) = (try await scene.make(), try await scene.make())
        let empty = try await scene.pull(webhook)
        #expect(empty.changes.isEmpty && empty.reset == true)
        try await scene.everybody.modify([.create("a")])
        let pushed = try await scene.delivered()
        let first = try await scene.pull(webhook)
        #expect(first.told == ["created a"] && first.reset == true)
        _ = scene.test.takeMoved()
        try await scene.everybody.modify([.create("b")])
        #expect(scene.test.takeMoved().count == 1, "waiting receivers wake")
        for cursor in [first.cursor, pushed.first { $0.webhook == webhook.id }?.cursor] {
            let next = try await scene.pull(webhook, after: cursor)
            #expect(next.told == ["created b"] && next.reset == nil)
            #expect(try await scene.pull(webhook, after: next.cursor).changes.isEmpty)
        }
        for wrong in ["", "t00", pushed.first { $0.webhook == other.id }?.cursor] {
            let error = await #expect(throws: ServerError.self) { try await scene.pull(webhook, after: wrong) }
            #expect(error?.field == "after")
        }
        scene.test.clock.move(bySeconds: Limits.webhookChangeSeconds)
        #expect(try await scene.pull(webhook, after: first.cursor).reset == true)
    }

    // MARK: Cost

    @Test func `a save pays for webhooks only where there are some, with two calls of the store`() async throws {
        let store = CountingStore(try await Engine.memory.makeStore())
        let scene = try await WebhookScene(store)
        func calls(_ name: String) async throws -> Int {
            try await scene.everybody.modify([.create("warm \(name)")])
            store.reset()
            try await scene.everybody.modify([.create(name)])
            return try #require(store.transactions.first { $0.kind == .write }).verbs.count
        }
        let before = try await calls("a")
        _ = try await scene.make()
        #expect(try await calls("b") == before + 2)
        #expect(try await scene.delivered().flatMap(\.told).contains("created b"))
    }
}
