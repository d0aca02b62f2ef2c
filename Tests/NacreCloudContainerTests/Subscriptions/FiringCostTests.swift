import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudContainer
@testable import NacreCloudStorage
@testable import NacreCloudTasks

/// Tests of a commit's cost while others wait for the writer, in rows and bytes.
@Suite(.timeLimit(.minutes(5))) struct FiringCostTests {
    /// The value that each of the subscriptions asks for.
    private static let one: RecordFields = ["count": .int64(1)]

    /// A user with more subscriptions than a queue has room for, each with a long text, and several devices.
    private struct Crowd {
        let scene: SubscriptionScene
        let author: SubscriptionScene.Device
        let devices: [SubscriptionScene.Device]

        init(_ store: any Store, subscriptions: Int, devices count: Int, in scope: DatabaseKey.Scope = .public) async throws {
            scene = try await SubscriptionScene(store)
            author = try await scene.signIn("ada")
            var devices: [SubscriptionScene.Device] = []
            for _ in 0..<count { devices.append(try await scene.signIn(scope == .public ? "bob" : "ada")) }
            self.devices = devices
            let text = String(repeating: "long ", count: 700)
            for start in stride(from: 0, to: subscriptions, by: 50) {
                let request = SubscriptionsModifyRequest(
                    operations: (start..<min(start + 50, subscriptions)).map {
                        let filter = QueryFilter(.greaterThan, fieldName: "count", value: .int64(Int64(-$0)))
                        return .create(.query("s\($0)", [filter], on: .create, info: .alert(text)))
                    })
                _ = try await scene.cloud.modifySubscriptions(request, in: scene.target(scope), by: devices[0].caller)
            }
        }
    }

    @Test(arguments: Engine.ofRules) func `what one user hears of a commit is bounded, and so is each transaction that tells it`(_ engine: Engine)
        async throws
    {
        let store = CountingStore(try await engine.makeStore())
        let crowd = try await Crowd(store, subscriptions: 150, devices: 6)
        store.reset()
        try await crowd.scene.user(crowd.author, in: .public).modify((0..<4).map { .create("n\($0)", Self.one) })
        try await crowd.scene.test.runAllTasks()
        let writes = store.transactions.filter { $0.kind == .write }
        // A portion, and the queue that it empties.
        let rows = Limits.notifyingChunk + Limits.notificationsPerDevice + 10
        #expect(writes.map(\.rowsPut).max() ?? 0 <= rows, "\(writes.map(\.rowsPut))")
        #expect(writes.map(\.bytesPut).max() ?? 0 <= Limits.notifyingChunk * 1000 + 2 * Limits.payloadBytes, "\(writes.map(\.bytesPut))")
        #expect(writes.filter { $0.bytesPut > 100_000 }.count > 3, "it takes several")
        // Each device has 600 notifications: a full queue, and the notice in its place.
        let told = writes.reduce(0) { $0 + $1.notificationsPut }
        // This engine runs some bodies again.
        if engine != .sideBySide { #expect(told <= 6 * (Limits.notificationsPerDevice + 1), "\(told)") }
        for device in crowd.devices { #expect(try await crowd.scene.identifiers(device) == ["everything"]) }
    }

    @Test(arguments: Engine.ofRules) func `who has less than a queue holds is told each, beside who has more`(_ engine: Engine) async throws {
        let crowd = try await Crowd(try await engine.makeStore(), subscriptions: 120, devices: 2)
        let listener = try await crowd.scene.signIn("ada")
        try await crowd.scene.subscribe(listener, .query("mine"), in: .public)
        try await crowd.scene.user(crowd.author, in: .public).modify((0..<3).map { .create("n\($0)", Self.one) })
        #expect(try await crowd.scene.identifiers(listener) == ["mine n0 1", "mine n1 1", "mine n2 1"])
        for device in crowd.devices { #expect(try await crowd.scene.identifiers(device) == ["everything"]) }
        // The next commit counts anew.
        try await crowd.scene.user(crowd.author, in: .public).modify([.create("later", Self.one)])
        for device in crowd.devices { #expect(try await crowd.scene.identifiers(device) == ["everything"]) }
        #expect(try await crowd.scene.identifiers(listener) == ["mine later 1"])
    }

    @Test(arguments: [120, 260]) func `what fires once has fired, also for who is told to fetch everything`(_ count: Int) async throws {
        let crowd = try await Crowd(try await Engine.memory.makeStore(), subscriptions: count, devices: 1)
        // The last subscription that is looked at.
        try await crowd.scene.subscribe(crowd.devices[0], .query("t", on: .create, once: true), in: .public)
        let others = try await crowd.scene.signIn("ada")
        try await crowd.scene.subscribe(others, .query("u", on: .create, once: true), in: .public)
        func left(_ device: SubscriptionScene.Device) async throws -> Set<String> {
            let list = try await crowd.scene.cloud.listSubscriptions(in: crowd.scene.target(.public), by: device.caller).subscriptions
            return Set(list.compactMap(\.subscription?.subscriptionID))
        }
        try await crowd.scene.user(crowd.author, in: .public).modify([.create("a", Self.one), .create("b", Self.one)])
        #expect(try await crowd.scene.identifiers(crowd.devices[0]) == ["everything"])
        #expect(try await crowd.scene.identifiers(others) == ["u a 1"])
        #expect(try await left(crowd.devices[0]) == Set((0..<count).map { "s\($0)" }), "and none that fires again")
        #expect(try await left(others).isEmpty)
    }

    @Test func `a worker that dies between two portions loses nothing and tells nothing twice`() async throws {
        var call = 1
        while true {
            let store = FailingStore(try await Engine.memory.makeStore(), failingAtCall: nil)
            let crowd = try await Crowd(store, subscriptions: 60, devices: 2)
            try await crowd.scene.user(crowd.author, in: .public).modify([.create("a", Self.one)])
            store.fail(atCall: call)
            _ = try? await crowd.scene.cloud.runDueTasks()
            let hasFailed = store.callsMade >= call
            store.fail(atCall: nil)
            crowd.scene.test.clock.move(bySeconds: Limits.taskLeaseSeconds + 1)
            let all = (0..<60).map { "s\($0) a 1" }.sorted()
            for device in crowd.devices { #expect(try await crowd.scene.identifiers(device).sorted() == all, "call \(call)") }
            if !hasFailed { break }
            call += 3
        }
        #expect(call > 20)
    }

    @Test(arguments: Engine.ofRules) func `who follows a zone is told once of a commit, whichever of its records is asked for`(_ engine: Engine)
        async throws
    {
        let scene = try await SubscriptionScene(try await engine.makeStore())
        let (author, device) = (try await scene.signIn("ada"), try await scene.signIn("ada"))
        try await scene.user(author).makeZone("Work")
        try await scene.subscribe(
            device, .zone("all", "Work", info: .alert("a")), .zone("notes", "Work", type: "Note", info: .alert("b")),
            .zone("lists", "Work", type: "List", info: .alert("c")), .database("d", type: "List", info: .alert("d")))
        try await scene.user(author).modify((0..<300).map { .create("n\($0)", Self.one) }, zone: "Work")
        #expect(try await scene.identifiers(device).sorted() == ["all", "notes"])
        try await scene.user(author).modify((0..<250).map { .create("m\($0)") } + [.make(.create, "l", type: "List")], zone: "Work")
        #expect(try await scene.identifiers(device).sorted() == ["all", "d", "lists", "notes"])
    }
}
