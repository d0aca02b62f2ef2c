import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudAccounts
@testable import NacreCloudContainer
@testable import NacreCloudStorage

/// Tests that a user's devices get a limited number of notifications a second, and a notice to fetch everything in
/// place of more.
@Suite(.timeLimit(.minutes(5))) struct NotificationRateTests {
    private static let minute = Limits.notificationsPerSecond * Int(Limits.requestBurstSeconds)

    private func place(_ person: String, in scene: SubscriptionScene) throws -> AppUser {
        AppUser(
            container: SubscriptionScene.container, environment: SubscriptionScene.environment, userRecordName: try #require(scene.names[person]))
    }

    @Test(arguments: Engine.ofRules) func `who was told as much as the rate hears to fetch everything, until that is paid for, and others hear each`(
        _ engine: Engine
    ) async throws {
        let scene = try await SubscriptionScene(try await engine.makeStore())
        let (author, ada, bob) = (try await scene.signIn("ada"), try await scene.signIn("ada"), try await scene.signIn("bob"))
        for device in [ada, bob] { try await scene.subscribe(device, .query("p"), .query("q", on: .create), in: .public) }
        func heard(of name: String) async throws -> [[String]] {
            try await scene.user(author, in: .public).modify([.create(name)])
            return [try await scene.identifiers(ada), try await scene.identifiers(bob)]
        }
        let each = ["p a 1", "q a 1"]
        #expect(try await heard(of: "a") == [each, each])
        scene.cloud.notificationRates.take(Self.minute, from: try place("ada", in: scene), at: scene.test.clock.now)
        #expect(try await heard(of: "b") == [["everything"], ["p b 1", "q b 1"]])
        scene.test.clock.move(bySeconds: 1)
        #expect(try await heard(of: "c") == [["p c 1", "q c 1"], ["p c 1", "q c 1"]])
    }

    @Test(arguments: Engine.ofRules) func `subscriptions that others' saves are held against take of the rate of who has them, and of nobody else's`(
        _ engine: Engine
    ) async throws {
        let store = CountingStore(try await engine.makeStore())
        let scene = try await SubscriptionScene(store)
        let (author, ada, bob) = (try await scene.signIn("ada"), try await scene.signIn("ada"), try await scene.signIn("bob"))
        for (name, firesOn) in [("p", FiresOn.all), ("q", .create), ("r", [.create, .update])] {
            try await scene.subscribe(bob, .query(name, [QueryFilter(.notEquals, fieldName: "text", value: .string("x"))], on: firesOn), in: .public)
        }
        try await scene.subscribe(ada, .query("all"), in: .public)
        func heard(of name: String) async throws -> [[String]] {
            try await scene.user(author, in: .public).modify([.create(name, ["text": .string("x")])])
            return [try await scene.identifiers(ada), try await scene.identifiers(bob)]
        }
        scene.cloud.notificationRates.take(Self.minute - 5, from: try place("bob", in: scene), at: scene.test.clock.now)
        #expect(try await heard(of: "a") == [["all a 1"], []])
        #expect(try await heard(of: "b") == [["all b 1"], []], "two of three are left")
        #expect(try await heard(of: "c") == [["all c 1"], ["everything"]])
        scene.test.clock.move(bySeconds: 1)
        #expect(try await heard(of: "d") == [["all d 1"], []])
    }

    @Test func `who owes hears nothing of what may not be read`() async throws {
        let scene = try await SubscriptionScene(try await Engine.memory.makeStore())
        let ada = try await scene.signIn("ada")
        _ = try await scene.cloud.schemas.importSchema(SubscriptionScene.readByTeam, to: SubscriptionScene.container, isDryRun: false)
        let bob = try await scene.signIn("bob")
        try await scene.subscribe(bob, .query("q"), in: .public)
        scene.cloud.notificationRates.take(Self.minute + 10, from: try place("bob", in: scene), at: scene.test.clock.now)
        try await scene.user(ada, in: .public).modify([.create("a")])
        #expect(try await scene.identifiers(bob) == [])
    }

    @Test func `what is counted is what each device is told`() async throws {
        let scene = try await SubscriptionScene(try await Engine.memory.makeStore())
        let author = try await scene.signIn("ada")
        for _ in 0..<2 { _ = try await scene.signIn("ada") }
        try await scene.subscribe(author, .query("p"), .query("q", on: .create))
        let ada = try place("ada", in: scene)
        scene.cloud.notificationRates.take(Self.minute - 5, from: ada, at: scene.test.clock.now)
        try await scene.user(author).modify([.create("a")])
        try await scene.test.runAllTasks()
        #expect(!scene.cloud.notificationRates.isSpent(by: ada, at: scene.test.clock.now), "two notifications of two devices: one is left")
        try await scene.user(author).modify([.create("b")])
        try await scene.test.runAllTasks()
        #expect(scene.cloud.notificationRates.isSpent(by: ada, at: scene.test.clock.now))
    }
}
