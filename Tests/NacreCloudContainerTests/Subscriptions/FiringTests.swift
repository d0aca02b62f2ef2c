import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudAccounts
@testable import NacreCloudContainer
@testable import NacreCloudStorage
@testable import NacreCloudTasks

/// Tests of notifications from the save to the device's queue, over every engine.
@Suite struct FiringTests {
    @Test(arguments: Engine.ofRules) func `changes are told in their order, with what became of each record`(_ engine: Engine) async throws {
        let scene = try await SubscriptionScene(try await engine.makeStore())
        let (author, device) = (try await scene.signIn("ada"), try await scene.signIn("ada"))
        try await scene.subscribe(device, .query("red", [.equals("text", .string("red"))]), .query("gone", on: .delete))
        let home = scene.user(author)
        try await home.modify([.create("a", ["text": .string("red")]), .create("b", ["text": .string("blue")])])
        #expect(try await scene.identifiers(device) == ["red a 1"])
        try await home.modify([.update("b", ["text": .string("red")]), .update("a", ["text": .string("blue")])])
        #expect(try await scene.identifiers(device) == ["red b 2"])
        try await home.modify([.update("b", ["text": .string("red")])])
        #expect(try await scene.identifiers(device) == [], "nothing of it is another")
        try await home.modify([.delete("a"), .delete("b")])
        #expect(try await scene.identifiers(device).sorted() == ["gone a 3", "gone b 3", "red b 3"])
    }

    @Test(arguments: Engine.ofRules) func `a save that is refused or rolled back tells nobody`(_ engine: Engine) async throws {
        let scene = try await SubscriptionScene(try await engine.makeStore())
        let (author, device) = (try await scene.signIn("ada"), try await scene.signIn("ada"))
        let home = scene.user(author)
        try await home.makeZone("Work")
        try await scene.subscribe(device, .query("q"), .zone("z", "Work"), .database("d"))
        try await home.modify([.create("a")], zone: "Work")
        #expect(try await scene.identifiers(device).sorted() == ["d", "q a 1", "z"])
        let results = try await home.modify([.create("b"), .create("a")], zone: "Work")
        #expect(results.allSatisfy { $0.error != nil })
        #expect(try await scene.identifiers(device) == [])
        try await home.modify([.create("d")])
        #expect(try await scene.identifiers(device) == ["q d 1"], "the default zone has no feed")
    }

    @Test(arguments: Engine.ofRules) func `zones that come and go are told to those who follow the database`(_ engine: Engine) async throws {
        let scene = try await SubscriptionScene(try await engine.makeStore())
        let (author, device) = (try await scene.signIn("ada"), try await scene.signIn("ada"))
        try await scene.subscribe(device, .database("d"), .database("typed", type: "Note"), .query("q"))
        try await scene.user(author).makeZone("Work")
        #expect(try await scene.identifiers(device) == ["d"])
        try await scene.user(author).makeZone("Work")
        #expect(try await scene.identifiers(device) == [], "it is there")
        try await scene.user(author).deleteZone("Work")
        #expect(try await scene.identifiers(device) == ["d"])
    }

    @Test(arguments: Engine.ofRules) func `silent changes of one zone are told once`(_ engine: Engine) async throws {
        let scene = try await SubscriptionScene(try await engine.makeStore())
        let (author, device) = (try await scene.signIn("ada"), try await scene.signIn("ada"))
        let home = scene.user(author)
        try await home.makeZone("Work", "Home")
        try await scene.subscribe(device, .zone("w", "Work"), .zone("h", "Home"), .database("d"))
        for index in 0..<5 {
            try await home.modify([.create("n\(index)"), .create("m\(index)")], zone: index % 2 == 0 ? "Work" : "Home")
        }
        #expect(try await scene.identifiers(device).sorted() == ["d", "h", "w"])
    }

    @Test(arguments: Engine.ofRules) func `what goes with a deleted record is told, beyond the first transaction too`(_ engine: Engine) async throws {
        let test = try await SubscriptionScene(try await engine.makeStore())
        let (author, device) = (try await test.signIn("ada"), try await test.signIn("ada"))
        try await test.subscribe(device, .query("q", on: .delete))
        let home = test.user(author)
        let owned: RecordFields = ["owner": .reference(Reference(recordName: "top", action: .deleteSelf))]
        try await home.modify([.create("top")] + (0..<20).map { RecordOperation.create("n\($0)", owned) })
        try await home.modify([.delete("top")])
        let told = try await test.identifiers(device)
        #expect(Set(told) == Set(["q top 3"] + (0..<20).map { "q n\($0) 3" }) && told.count == 21)
    }

    @Test(arguments: Engine.ofRules) func `who may not read a record hears nothing of it`(_ engine: Engine) async throws {
        let scene = try await SubscriptionScene(try await engine.makeStore())
        let (ada, bob) = (try await scene.signIn("ada"), try await scene.signIn("bob"))
        _ = try await scene.cloud.schemas.importSchema(SubscriptionScene.readByTeam, to: SubscriptionScene.container, isDryRun: false)
        let adasMac = try await scene.signIn("ada")
        for device in [adasMac, bob] { try await scene.subscribe(device, .query("q"), in: .public) }
        try await scene.user(ada, in: .public).modify([.create("a")])
        #expect(try await scene.identifiers(adasMac) == ["q a 1"], "who made it")
        #expect(try await scene.identifiers(bob) == [])
        _ = try await scene.cloud.schemas.assign(
            "Team", to: try #require(scene.names["bob"]), in: SubscriptionScene.container, SubscriptionScene.environment)
        try await scene.user(ada, in: .public).modify([.create("b"), .delete("a")])
        #expect(try await scene.identifiers(bob).sorted() == ["q a 3", "q b 1"])
        try await scene.cloud.registry.deleteAccount(try #require(scene.accounts["bob"]))
        try await scene.user(ada, in: .public).modify([.create("c")])
        #expect(try await scene.identifiers(bob) == [], "whose account has ended")
    }

    @Test(arguments: Engine.ofRules) func `a subscription that fires once fires once`(_ engine: Engine) async throws {
        let scene = try await SubscriptionScene(try await engine.makeStore())
        let (author, device) = (try await scene.signIn("ada"), try await scene.signIn("ada"))
        try await scene.subscribe(device, .query("once", on: .create, once: true), .query("always", on: .create))
        try await scene.user(author).modify([.create("a"), .create("b")])
        try await scene.user(author).modify([.create("c")])
        let told = try await scene.identifiers(device)
        #expect(told.filter { $0.hasPrefix("once") }.count == 1 && told.filter { $0.hasPrefix("always") }.count == 3)
        let left = try await scene.cloud.listSubscriptions(in: scene.target(.private), by: author.caller).subscriptions
        #expect(left.compactMap(\.subscription?.subscriptionID) == ["always"])
    }

    @Test(arguments: Engine.ofRules) func `a worker that dies anywhere tells all the same, with the same ID`(_ engine: Engine) async throws {
        var call = 1
        var identities: Set<String> = []
        while true {
            let store = FailingStore(try await engine.makeStore(), failingAtCall: nil)
            let scene = try await SubscriptionScene(store)
            let (author, device) = (try await scene.signIn("ada"), try await scene.signIn("ada"))
            try await scene.subscribe(device, .query("q"), .query("once", once: true))
            try await scene.user(author).modify([.create("a")])
            store.fail(atCall: call)
            _ = try? await scene.cloud.runDueTasks()
            let hasFailed = store.callsMade >= call
            store.fail(atCall: nil)
            scene.test.clock.move(bySeconds: Limits.taskLeaseSeconds + 1)
            let told = try await scene.told(device)
            #expect(Set(told.map(\.summary)) == ["q a 1", "once a 1"] && told.count == 2, "call \(call)")
            #expect(Set(told.compactMap { $0.member("nid") }).count == 1)
            identities.formUnion(told.compactMap { $0.member("nid") })
            if !hasFailed { break }
            call += 1
        }
        #expect(call > 10 && identities.count == 1)
    }

    @Test func `a commit leaves one task, and none where nobody subscribes to what it changed`() async throws {
        let store = CountingStore(try await Engine.memory.makeStore())
        let scene = try await SubscriptionScene(store)
        let device = try await scene.signIn("ada")
        let home = scene.user(device)
        func tasks() async throws -> Int {
            let later = scene.test.clock.now + 1e6
            return try await store.read { try $0.tasks(of: [.fireSubscriptions], dueThrough: later, limit: 10).count }
        }
        try await home.makeZone("Work")
        try await home.modify([.create("a")], zone: "Work")
        #expect(try await tasks() == 0)
        try await scene.subscribe(device, .query("q"))
        store.reset()
        try await home.modify((0..<50).map { .create("n\($0)") }, zone: "Work")
        #expect(try await tasks() == 1)
        let most = store.transactions.filter { $0.kind == .write }.map(\.verbs.count).max() ?? 0
        #expect(most > 0 && most <= StoreCallTests.mostCallsOfModify + 1)
        try await scene.test.runAllTasks()
        try await home.modify([.make(.create, "l", type: "List")], zone: "Work")
        #expect(try await tasks() == 0, "of another type")
    }

    /// Filters that a record with the count 5 does not pass, each of another user.
    private static let vain: [@Sendable (Int) -> QueryFilter] = [
        { .equals("text", .string("other \($0)")) },
        { QueryFilter(.lessThan, fieldName: "count", value: .double(4 - Double($0) / 3)) },
        { QueryFilter(.greaterThanOrEquals, fieldName: "count", value: .int64(6 + Int64($0))) },
        { QueryFilter(.greaterThan, fieldName: "text", value: .string("w\($0)")) },
    ]

    /// A public database in which 20,000 users have subscriptions.
    @Test(.timeLimit(.minutes(5)), arguments: vain.indices)
    func `subscriptions that do not match cost a save and its task nothing`(_ kind: Int) async throws {
        let store = CountingStore(try await Engine.memory.makeStore())
        let scene = try await SubscriptionScene(store)
        let (ada, bob) = (try await scene.signIn("ada"), try await scene.signIn("bob"))
        try await scene.subscribe(bob, .query("mine", [.equals("text", .string("value 77"))]), in: .public)
        func cost(_ names: String) async throws -> (save: Int, task: Int, told: [String]) {
            store.reset()
            try await scene.user(ada, in: .public).modify([.create(names, ["text": .string("value 77"), "count": .int64(5)])])
            let save = store.entriesRead
            store.reset()
            try await scene.test.runAllTasks()
            let task = store.entriesRead
            return (save, task, try await scene.identifiers(bob))
        }
        _ = try await cost("warm")
        let alone = try await cost("first")
        try await Self.fill(scene, count: 20_000, Self.vain[kind])
        let among = try await cost("second")
        #expect(among.told == ["mine second 1"])
        // The counts of its terms, and the few of others' subscriptions that lie next to the value.
        #expect(among.save == alone.save && among.task <= alone.task + (kind == 0 ? 0 : 5), "\(alone) \(among)")
    }

    /// Puts subscriptions of as many users, in their stored form, into the public database.
    private static func fill(_ scene: SubscriptionScene, count: Int, _ filter: (Int) -> QueryFilter) async throws {
        let key = DatabaseKey(
            container: SubscriptionScene.container, environment: SubscriptionScene.environment, scope: .public, owner: "")
        let database = try await scene.cloud.databaseID(key)
        let schema = try await scene.cloud.schemas.schema(of: SubscriptionScene.container, SubscriptionScene.environment)
        for start in stride(from: 0, to: count, by: 5000) {
            let subscriptions = try (start..<start + 5000).map { index -> StoredSubscription in
                let subscription = Subscription.query("s", [filter(index)])
                guard case .query(let subscribed) = subscription.kind else { throw ServerError.internalError }
                let rule = SubscriptionRule(database: key, schema: schema, caller: Caller(.user("_u\(index)")))
                return StoredSubscription(subscription, of: "_u\(index)", shape: try rule.shape(of: subscribed.query), zone: nil)
            }
            try await scene.test.store.write { transaction in
                _ = try transaction.lock(in: database)
                try transaction.apply(try transaction.plan(subscribing: subscriptions, without: [], in: database))
                return .commit(())
            }
        }
    }

    @Test(arguments: Engine.ofRules) func `many who follow one value are told in portions, each once`(_ engine: Engine) async throws {
        let scene = try await SubscriptionScene(try await engine.makeStore())
        let (author, device) = (try await scene.signIn("ada"), try await scene.signIn("ada"))
        let count = Limits.firingChunk * 2 + 30
        for start in stride(from: 0, to: count, by: 100) {
            let request = SubscriptionsModifyRequest(
                operations: (start..<min(start + 100, count)).map { number in
                    let other = QueryFilter(.notEquals, fieldName: "text", value: .string("y\(number)"))
                    return .create(.query("s\(number)", [.equals("text", .string("x")), other], on: .create))
                })
            _ = try await scene.cloud.modifySubscriptions(request, in: scene.target(.private), by: device.caller)
        }
        // A queue has room for a part of them: all are fired, and the queue says that it is full.
        try await scene.user(author).modify([.create("a", ["text": .string("x")])])
        let told = try await scene.told(device)
        #expect(told.first?.summary == "everything" && told.count < Limits.notificationsPerDevice)
    }
}
