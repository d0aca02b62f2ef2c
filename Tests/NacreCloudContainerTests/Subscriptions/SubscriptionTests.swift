import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudAccounts
@testable import NacreCloudContainer
@testable import NacreCloudStorage

/// Tests of saved, found and deleted subscriptions, over every engine.
@Suite struct SubscriptionTests {
    private func ids(_ results: [SubscriptionResult]) -> [String] { results.compactMap { $0.subscription?.subscriptionID } }

    private func modify(
        _ scene: SubscriptionScene, _ device: SubscriptionScene.Device, _ operations: [SubscriptionOperation], in scope: DatabaseKey.Scope = .private,
        id: String? = nil, digest: [UInt8] = [1], age: Double? = nil
    ) async throws -> [SubscriptionResult] {
        try await scene.cloud.modifySubscriptions(
            SubscriptionsModifyRequest(operations: operations, extension: RequestExtension(operationID: id)), in: scene.target(scope),
            by: device.caller, digest: digest, age: age
        ).subscriptions
    }

    private func list(_ scene: SubscriptionScene, _ device: SubscriptionScene.Device, in scope: DatabaseKey.Scope = .private) async throws
        -> [Subscription]
    {
        try await scene.cloud.listSubscriptions(in: scene.target(scope), by: device.caller).subscriptions.compactMap(\.subscription)
    }

    /// Returns the number of a database's entries for subscriptions, by kind.
    private func kept(_ scene: SubscriptionScene, in scope: DatabaseKey.Scope, of person: String = "ada") async throws -> [EntryKind: Int] {
        let owner = scope == .public ? "" : scene.names[person] ?? ""
        let id = try await scene.cloud.databaseID(
            DatabaseKey(container: SubscriptionScene.container, environment: SubscriptionScene.environment, scope: scope, owner: owner))
        return try await scene.test.store.read { transaction in
            var counts: [EntryKind: Int] = [:]
            for kind in [EntryKind.subscription, .subscriptionTerm, .subscribed] {
                counts[kind] = try transaction.entries(in: id, kind, after: nil, limit: 1000).count
            }
            return counts
        }
    }

    @Test(arguments: Engine.ofRules) func `subscriptions are saved, listed, looked up and deleted, each user's own`(_ engine: Engine) async throws {
        let scene = try await SubscriptionScene(try await engine.makeStore())
        let (ada, bob) = (try await scene.signIn("ada"), try await scene.signIn("bob"))
        let mine = Subscription.query("b", [.equals("text", .string("x"))], on: .create, info: .alert("Hello"))
        #expect(try await ids(scene.subscribe(ada, mine, .query("a"), in: .public)) == ["b", "a"])
        #expect(try await ids(scene.subscribe(bob, .query("b"), in: .public)) == ["b"])
        #expect(try await list(scene, ada, in: .public) == [.query("a"), mine])
        #expect(try await list(scene, ada) == [])
        let found = try await scene.cloud.lookupSubscriptions(
            SubscriptionsLookupRequest(subscriptionIDs: ["c", "b"]), in: scene.target(.public), by: ada.caller
        ).subscriptions
        #expect(found[0].error?.code == .notFound && found[1].subscription == mine)
        let gone = try await modify(scene, ada, [.delete("b"), .delete("nothing")], in: .public)
        #expect(gone[0] == .deleted("b") && gone[1].error?.code == .notFound)
        #expect(try await list(scene, ada, in: .public) == [.query("a")])
        #expect(try await list(scene, bob, in: .public).count == 1)
        _ = try await modify(scene, ada, [.delete("a")], in: .public)
        _ = try await modify(scene, bob, [.delete("b")], in: .public)
        #expect(try await kept(scene, in: .public).values.allSatisfy { $0 == 0 }, "nothing stays of what was deleted")
    }

    @Test(arguments: Engine.ofRules) func `to save one that is there changes nothing or replaces it`(_ engine: Engine) async throws {
        let scene = try await SubscriptionScene(try await engine.makeStore())
        let ada = try await scene.signIn("ada")
        for _ in 0..<2 { #expect(try await ids(scene.subscribe(ada, .query("a"), in: .public)) == ["a"]) }
        #expect(try await kept(scene, in: .public) == [.subscription: 1, .subscriptionTerm: 1, .subscribed: 3])
        let changed = Subscription.query("a", [.equals("text", .string("x"))])
        #expect(try await modify(scene, ada, [.update(changed)], in: .public)[0].subscription == changed)
        #expect(try await list(scene, ada, in: .public) == [changed])
        #expect(try await kept(scene, in: .public) == [.subscription: 1, .subscriptionTerm: 1, .subscribed: 3])
    }

    @Test func `a second subscription of one content is refused with the ID of the first, and may take its place`() async throws {
        let scene = try await SubscriptionScene(try await Engine.memory.makeStore())
        let (ada, bob) = (try await scene.signIn("ada"), try await scene.signIn("bob"))
        try await scene.user(ada).makeZone("Work")
        let filters = [QueryFilter.equals("text", .string("x")), .equals("count", .int64(1))]
        let first = [
            Subscription.query("q", filters, on: [.create, .delete], zone: "Work"), .zone("z", "Work"), .database("d"), .query("other"),
        ]
        let owned = ZoneID(zoneName: "Work", ownerRecordName: scene.names["ada"])
        let twins = [
            Subscription.query("p", filters.reversed(), on: [.delete, .create], zone: "Work", info: .alert("New")),
            Subscription(subscriptionID: "y", kind: .zone(owned, recordType: nil)), .database("c", info: .alert("New")),
        ]
        #expect(try await modify(scene, ada, first.map { .create($0) }).allSatisfy { $0.error == nil })
        let refused = try await modify(scene, ada, twins.map { .create($0) }).map(\.error)
        #expect(refused.map { $0?.reason } == ["q", "z", "d"].map { "subscription is duplicate of '\($0)'" })
        #expect(refused.allSatisfy { $0?.nativeCode == NativeErrorCode.serverRejectedRequest.rawValue && $0?.internalCode == 2032 })
        #expect(try await scene.subscribe(ada, .query("r", on: .create), .query("s", on: .create)).map { $0.error == nil } == [true, false])
        #expect(try await modify(scene, ada, [.update(.query("other", on: .create))])[0].error != nil, "a change may not make one")
        // Another user, another database, the same ID again, a new content, and a deletion in the same request.
        #expect(try await scene.subscribe(bob, .database("d"))[0].error == nil)
        #expect(try await scene.subscribe(ada, .database("c"), in: .shared)[0].error == nil)
        #expect(try await modify(scene, ada, first.map { .create($0) }).allSatisfy { $0.error == nil })
        let others = [
            Subscription.query("a", filters, on: .create, zone: "Work"), .query("b", filters, on: [.create, .delete]),
            .query("h", [filters[0]], on: [.create, .delete], zone: "Work"), .query("e", once: true), .zone("f", "Work", type: "Note"),
            .database("g", type: "Note"),
        ]
        #expect(try await modify(scene, ada, others.map { .create($0) }).allSatisfy { $0.error == nil })
        #expect(try await modify(scene, ada, twins.map { .create($0) } + ["q", "z", "d"].map { .delete($0) }).allSatisfy { $0.error == nil })
        #expect(try await modify(scene, ada, [.update(.query("other", on: .update)), .create(.query("more"))]).allSatisfy { $0.error == nil })
    }

    @Test func `equal subscriptions from before the rule all count, and a request pays for the content of each`() async throws {
        var contents = SubscriptionContents([.database("a"), .database("b")], without: [], in: .private)
        let equal = contents.content(of: .database("c"))
        #expect(contents.bytes == 3 * equal.bytes.count)
        for old in ["a", "b"] {
            #expect(contents.fault(of: equal, under: "c") != nil && contents.fault(of: equal, under: old) == nil)
            contents.keep(contents.content(of: .database(old, type: "Note\(old)")), of: old)
        }
        #expect(contents.fault(of: equal, under: "c") == nil)
        let scene = try await SubscriptionScene(try await Engine.memory.makeStore())
        let ada = try await scene.signIn("ada")
        let long = Subscription.query("q", [.equals("text", .string(String(repeating: "x", count: 5000)))])
        let meters = [WorkMeter(), WorkMeter()]
        for (meter, next) in zip(meters, [long, .query("other")]) {
            try await WorkMeter.$current.withValue(meter) { _ = try await scene.subscribe(ada, next) }
        }
        #expect(meters.allSatisfy { $0.cost >= Limits.requestCost + 5 })
    }

    @Test func `in the public database a subscription to the default zone is equal to one that names no zone`() async throws {
        let scene = try await SubscriptionScene(try await Engine.memory.makeStore())
        let ada = try await scene.signIn("ada")
        for (scope, isEqual) in [(DatabaseKey.Scope.public, true), (.private, false)] {
            let results = try await scene.subscribe(ada, .query("a"), .query("b", zone: ZoneID.defaultZoneName), in: scope)
            #expect(results.map { $0.error == nil } == [true, !isEqual])
        }
    }

    @Test(arguments: Engine.ofRules) func `each item of a request is on its own, and none stands twice in it`(_ engine: Engine) async throws {
        let scene = try await SubscriptionScene(try await engine.makeStore())
        let ada = try await scene.signIn("ada")
        let results = try await scene.subscribe(ada, .query("a"), .zone("z", "Nowhere"), .query("n", zone: "Nowhere"), .query("b", type: "Nothing"))
        #expect(results.map { $0.error?.code } == [nil, .zoneNotFound, .zoneNotFound, .notFound])
        await #expect(throws: ServerError.self) { try await scene.subscribe(ada, .query("a"), .query("a")) }
        await #expect(throws: ServerError.self) {
            try await scene.cloud.listSubscriptions(in: scene.target(.public), by: Caller(.world))
        }
        #expect(try await scene.subscribe(ada, .database("d"), in: .shared)[0].error == nil)
    }

    @Test(arguments: Engine.ofRules) func `a repeated request is answered as it was, and done once`(_ engine: Engine) async throws {
        let scene = try await SubscriptionScene(try await engine.makeStore())
        let ada = try await scene.signIn("ada")
        try await scene.subscribe(ada, .query("a"))
        let operations: [SubscriptionOperation] = [.delete("a"), .create(.query("b")), .create(.query("c", type: "Nothing"))]
        let first = try await modify(scene, ada, operations, id: "one")
        let again = try await modify(scene, ada, operations, id: "one", age: 1)
        #expect(first == again && first.map { $0.error?.code } == [nil, nil, .notFound])
        await #expect(throws: ServerError.operationReused) { try await modify(scene, ada, operations, id: "one", digest: [2]) }
    }

    @Test func `a user has so many subscriptions in a database and no more`() async throws {
        let scene = try await SubscriptionScene(try await Engine.memory.makeStore())
        let ada = try await scene.signIn("ada")
        for start in stride(from: 0, to: Limits.subscriptionsPerUser, by: 100) {
            _ = try await modify(scene, ada, (start..<start + 100).map { .create(.query("s\($0)", [.equals("count", .int64(Int64($0)))])) })
        }
        #expect(try await list(scene, ada).count == Limits.subscriptionsPerUser)
        #expect(try await scene.subscribe(ada, .query("more"))[0].error == .tooManySubscriptions)
        #expect(try await scene.subscribe(ada, .query("s1", on: .create))[0].error == nil, "to replace one takes no room")
        #expect(try await scene.subscribe(ada, .query("more"), in: .public)[0].error == nil)
    }

    @Test func `a user has so many subscriptions in a public database that no value finds, and no more`() async throws {
        let scene = try await SubscriptionScene(try await Engine.memory.makeStore())
        let ada = try await scene.signIn("ada")
        func save(_ id: String, _ filters: [QueryFilter] = []) async throws -> ServerError? {
            try await scene.subscribe(ada, .query(id, filters), in: .public)[0].error
        }
        for index in 0..<Limits.openSubscriptionsPerUser {
            #expect(try await save("s\(index)", [QueryFilter(.notEquals, fieldName: "count", value: .int64(Int64(index)))]) == nil)
        }
        let refused = try await save("more")
        #expect(refused?.nativeCode == NativeErrorCode.limitExceeded.rawValue, "\(String(describing: refused))")
        #expect(refused?.reason.contains("\(Limits.openSubscriptionsPerUser)") == true)
        #expect(try await save("s1", [QueryFilter(.notEquals, fieldName: "text", value: .string("x"))]) == nil, "to replace one takes no room")
        #expect(try await save("more", [QueryFilter(.lessThan, fieldName: "count", value: .int64(10))]) == nil)
        #expect(try await save("more") == refused, "one that a value found takes its place")
        #expect(try await save("s2", [.equals("text", .string("x"))]) == nil)
        #expect(try await save("more") == nil)
    }

    @Test(arguments: Engine.ofRules) func `a zone that goes takes its subscriptions along`(_ engine: Engine) async throws {
        let scene = try await SubscriptionScene(try await engine.makeStore())
        let ada = try await scene.signIn("ada")
        try await scene.user(ada).makeZone("Work", "Home")
        try await scene.subscribe(ada, .zone("w", "Work"), .query("q", zone: "Work"), .zone("h", "Home"), .database("d"), .query("all"))
        try await scene.user(ada).deleteZone("Work")
        #expect(try await list(scene, ada).map(\.subscriptionID) == ["all", "d", "h"])
        // A new zone of that name is another zone.
        try await scene.user(ada).makeZone("Work")
        #expect(try await list(scene, ada).map(\.subscriptionID) == ["all", "d", "h"])
        _ = try await scene.told(ada)
        let name = try #require(scene.names["ada"])
        #expect(try await scene.cloud.removeZone("Home", of: name, in: SubscriptionScene.container, SubscriptionScene.environment, because: .purged))
        #expect(try await scene.identifiers(ada) == ["d"], "a purge is told to every device")
        #expect(try await list(scene, ada).map(\.subscriptionID) == ["all", "d"])
    }

    @Test(arguments: Engine.ofRules) func `an account that goes leaves no subscription, no device and nothing that waits`(_ engine: Engine)
        async throws
    {
        let scene = try await SubscriptionScene(try await engine.makeStore())
        let (ada, bob) = (try await scene.signIn("ada"), try await scene.signIn("bob"))
        for device in [ada, bob] {
            try await scene.subscribe(device, .query("p"), in: .public)
            try await scene.user(device).makeZone("Work")
            try await scene.subscribe(device, .zone("z", "Work"), .database("d"))
        }
        try await scene.user(bob, in: .public).modify([.create("n")])
        try await scene.test.runAllTasks()
        try await scene.cloud.registry.deleteAccount(try #require(scene.accounts["ada"]))
        scene.test.clock.move(bySeconds: Limits.accountDeletionSeconds)
        try await scene.test.runAllTasks()
        #expect(try await list(scene, bob, in: .public).count == 1)
        #expect(try await list(scene, bob).count == 2)
        let rows = try await scene.test.store.read { try $0.rows(of: .entries, after: nil, limit: 1000) }
        let name = try #require(scene.names["ada"])
        let kinds: Set<EntryKind> = [.subscription, .subscriptionTerm, .notifiedDevice, .notification]
        let left = rows.compactMap { row in if case .entry(let entry) = row.value, kinds.contains(entry.key.kind) { entry.key } else { nil } }
        #expect(!left.contains { $0.key.contains(name) })
        #expect(left.count { $0.kind == .notifiedDevice } == 1 && left.count { $0.kind == .notification } == 0)
        #expect(try await kept(scene, in: .private) == [.subscription: 0, .subscriptionTerm: 0, .subscribed: 0])
        #expect(try await scene.test.check().isEmpty)
    }

    @Test func `a kind that was saved in development comes to production with a deployment`() async throws {
        let scene = try await SubscriptionScene(try await Engine.memory.makeStore())
        let ada = try await scene.signIn("ada")
        func production(_ subscription: Subscription) async throws -> ServerError? {
            let request = SubscriptionsModifyRequest(operations: [.create(subscription)])
            let target = scene.target(.private, .production)
            return try await scene.cloud.modifySubscriptions(request, in: target, by: Caller(.user("_p"))).subscriptions[0].error
        }
        try await scene.subscribe(ada, .query("s", on: [.create, .update]))
        _ = try await scene.cloud.schemas.deploySchema(of: SubscriptionScene.container, isDryRun: false)
        #expect(try await production(.query("s", on: [.create, .update])) == nil)
        #expect(try await production(.query("t", on: .create))?.reason == "attempting to create a subscription in a production container")
        // An import of the schema's text keeps them.
        let text = SchemaText(try await scene.cloud.schemas.schema(of: SubscriptionScene.container, .development)).text
        _ = try await scene.cloud.schemas.importSchema(text, to: SubscriptionScene.container, isDryRun: false)
        #expect(try await scene.cloud.schemas.schema(of: SubscriptionScene.container, .development).types["Note"]?.subscribed == ["create,update"])
    }
}
