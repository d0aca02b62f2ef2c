import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudContainer
@testable import NacreCloudStorage
@testable import NacreCloudTasks

/// Tests of tasks where two servers share a store: no server takes a task that its living neighbour has, and the tasks
/// of a dead one are done once.
@Suite struct SharedLeaseTests {
    /// Ada's device is told of what she saves on another one, through either server.
    private struct Scene {
        let scene: SubscriptionScene
        let second: TestCloud
        let author: SubscriptionScene.Device
        let device: SubscriptionScene.Device

        var first: TestCloud { scene.test }

        init() async throws {
            let stores = SideBySideStore.servers(2)
            scene = try await SubscriptionScene(stores[0])
            second = TestCloud(stores[1], seed: 2)
            (author, device) = (try await scene.signIn("ada"), try await scene.signIn("ada"))
            try await scene.subscribe(device, .query("q"))
            try await scene.test.runAllTasks()
        }

        func save(_ name: String, at server: TestCloud) async throws {
            var user = scene.user(author)
            user.cloud = server.cloud
            try await user.modify([.create(name)])
        }

        /// Returns the notifications that wait for the device, in their order.
        func told() async throws -> [String] {
            guard let address = device.address else { return [] }
            return try await scene.cloud.notifications(for: address, after: 0, limit: .max).map { Told($0).summary }
        }
    }

    @Test func `a server that starts leaves its neighbour the tasks that this one does`() async throws {
        let scene = try await Scene()
        try await scene.save("a", at: scene.first)
        #expect(try await scene.second.cloud.endLeases() == 0)
        #expect(try await scene.second.cloud.runDueTasks().taken == 0)
        #expect(try await scene.first.cloud.runDueTasks(in: [.push]).counts == (1, 0))
        #expect(try await scene.told() == ["q a 1"])
    }

    @Test func `a neighbour does the task that a dead server was handed, once the lease has ended`() async throws {
        let scene = try await Scene()
        try await scene.save("a", at: scene.first)
        scene.second.clock.move(bySeconds: Limits.taskLeaseSeconds - 1)
        #expect(try await scene.second.cloud.runDueTasks(in: [.push]).taken == 0)
        scene.second.clock.move(bySeconds: 1)
        #expect(try await scene.second.cloud.runDueTasks(in: [.push]).counts == (1, 0))
        #expect(try await scene.told() == ["q a 1"])
    }

    @Test func `a server without room in memory takes its own tasks from the store, and none that its neighbour was handed`() async throws {
        let scene = try await Scene()
        let handed = scene.first.cloud.handed
        // Room for two more tasks, beside those of other databases.
        _ = handed.take(
            over: (2..<5_000).map {
                TaskRow(
                    handingOver: TaskKey(DatabaseID(rawValue: 100 + Int64($0)), .cascade, "\($0)"), payload: [1], at: scene.first.clock.now)
            })
        for name in ["a", "b", "c", "d"] {
            try await scene.save(name, at: scene.first)
            scene.first.clock.move(bySeconds: 0.001)
        }
        try await scene.save("e", at: scene.second)
        while try await scene.first.cloud.runDueTasks(in: [.push]).areMore {}
        #expect(try await scene.told() == ["q a 1", "q b 1", "q c 1", "q d 1"])
        #expect(handed.passed(in: [.push]) == nil)
        #expect(try await scene.second.cloud.runDueTasks(in: [.push]).counts == (1, 0))
        #expect(try await scene.told() == ["q a 1", "q b 1", "q c 1", "q d 1", "q e 1"])
    }

    @Test func `of two servers that look for a due task at the same moment one does it`() async throws {
        let servers = ServerPair()
        let ann = servers.user("_ann")
        try await ann.first.makeZone("Z")
        try await ann.first.modify([.create("a")], zone: "Z")
        try await ann.first.deleteZone("Z")
        async let one = servers.first.cloud.runDueTasks(in: [.upkeep])
        async let other = servers.second.cloud.runDueTasks(in: [.upkeep])
        let rounds = try await [one, other]
        #expect(rounds.map(\.taken).reduce(0, +) == 1 && rounds.allSatisfy { $0.failed == 0 })
    }
}
