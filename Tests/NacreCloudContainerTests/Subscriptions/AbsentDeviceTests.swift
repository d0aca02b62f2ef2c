import NacreCloudTestSupport
import NacreCloudWire
import NacreLocks
import Testing

@testable import NacreCloudContainer
@testable import NacreCloudStorage
@testable import NacreCloudTasks

/// Tests of the cost of a device that never comes, from a save to its queue, as in `docs/operations.md`.
@Suite(.timeLimit(.minutes(5))) struct AbsentDeviceTests {
    /// Bytes beside a payload in its row, and in one line of the push log: names of subscriptions, records and zones.
    private static let nameBytes = 1000
    private static let rows = Limits.notificationsPerDevice + Limits.pushLogRowsPerDevice
    private static let bytes =
        Limits.notificationsPerDevice * (Limits.payloadBytes + nameBytes) + Limits.pushLogRowsPerDevice * (Limits.pushLogBytes + nameBytes)

    private struct Scene {
        let store: ReopenableStore
        let scene: SubscriptionScene
        let author: SubscriptionScene.Device
        let device: SubscriptionScene.Device
        let address: DeviceAddress
        /// The current server.
        private(set) var test: TestCloud
        private var run: Int64 = 1
        private let names = (0..<50).map { "\($0) " + String(repeating: "n", count: 200) }

        init(_ engine: Engine) async throws {
            store = try await ReopenableStore(engine, run: run)
            scene = try await SubscriptionScene(store)
            test = scene.test
            (author, device) = (try await scene.signIn("ada"), try await scene.signIn("ada"))
            address = try #require(device.address)
            // A notification of it takes nearly all the room.
            let id = String(repeating: "s", count: 200)
            try await scene.subscribe(device, .query(id, info: .alert(String(repeating: "x", count: Limits.payloadBytes - 900))))
            try await writer.modify(names.map { .create($0) })
            try await test.runAllTasks()
        }

        private var writer: TestCloudUser {
            var user = test.user("")
            user.caller = author.caller
            return user
        }

        /// Makes as many notifications as there are notes, and no new records.
        mutating func change(_ number: Int) async throws {
            try await writer.modify(names.map { .update($0, ["count": .int64(Int64(number))]) })
        }

        /// Ends the server in the middle of its notifications, and starts another one.
        mutating func restart() async throws {
            run += 1
            try await store.reopen(run: run)
            let clock = test.clock.now
            test = TestCloud(store, seed: UInt64(run))
            // The dead server held its tasks for so long.
            test.clock.move(bySeconds: clock.secondsSince2001 - test.clock.now.secondsSince2001 + Limits.taskLeaseSeconds + 1)
        }

        func kept() async throws -> [EntryRow] {
            try await store.read { transaction in
                try [EntryKind.notification, .pushLog].flatMap { try transaction.entries(in: address.database, $0, after: nil, limit: 10_000) }
            }
        }

        func tasks() async throws -> Int {
            let later = test.clock.now + 1e6
            return try await store.read { try $0.tasks(of: [.fireSubscriptions, .deliverNotifications], dueThrough: later, limit: 100).count }
        }

        func waiting() async throws -> [QueuedNotification] { try await test.cloud.notifications(for: address, after: 0, limit: .max) }
    }

    /// A user with some absent devices.
    private struct Away {
        let store: CountingStore
        let scene: SubscriptionScene
        let author: SubscriptionScene.Device
        let devices: [SubscriptionScene.Device]

        init(_ engine: Engine) async throws {
            store = CountingStore(try await engine.makeStore())
            scene = try await SubscriptionScene(store)
            author = try await scene.signIn("ada")
            var devices: [SubscriptionScene.Device] = []
            for index in 0..<4 { devices.append(try await scene.signIn(index < 2 ? "ada" : "bob")) }
            self.devices = devices
            for device in [devices[0], devices[2]] { try await scene.subscribe(device, .query("q"), in: .public) }
        }

        func save(_ name: String) async throws {
            try await scene.user(author, in: .public).modify([.create(name)])
            store.reset()
            try await scene.test.runAllTasks()
        }

        var notificationsPut: Int { store.transactions.reduce(0) { $0 + $1.notificationsPut } }

        func waiting(_ index: Int) async throws -> [String] {
            let address = try #require(devices[index].address)
            return try await scene.cloud.notifications(for: address, after: 0, limit: .max).map { Told($0).summary }
        }
    }

    @Test(arguments: [Engine.memory, .sqlite])
    func `a device that is away and is to fetch everything costs a save no row, until somebody has given it that word`(_ engine: Engine) async throws
    {
        let away = try await Away(engine)
        for number in 0...Limits.notificationsPerDevice { try await away.save("n\(number)") }
        try await away.save("in vain")
        let kinds = away.store.transactions.filter { $0.rowsPut > 0 }
        #expect(kinds.isEmpty && away.notificationsPut == 0, "\(kinds)")
        #expect(try await away.waiting(0) == ["everything"])
        // The device has read the notice, and may have fetched everything before this.
        try await away.save("later")
        #expect(away.notificationsPut == 1)
        #expect(try await away.waiting(0) == ["everything", "q later 1"])
        #expect(try await away.waiting(1) == ["everything"], "which absorbed it")
        let address = try #require(away.devices[2].address)
        #expect(try await away.scene.cloud.acknowledge(through: 1_000, for: address) == 0, "of a queue that is lost")
        #expect(try await away.scene.cloud.newNotifications(for: address, after: 0, limit: 20).map { Told($0).summary } == ["everything"])
        try await away.save("last")
        #expect(try await away.waiting(2) == ["everything", "q last 1"])
        #expect(try await away.waiting(3) == ["everything"])
    }

    @Test(arguments: [Engine.memory, .sqlite]) func `devices that listen are told before those that are away`(_ engine: Engine) async throws {
        for index in 0..<4 {
            let away = try await Away(engine)
            let putBefore = Locked<[Int]>([])
            let listening = away.scene.cloud.listening
            let address = try #require(away.devices[index].address)
            _ = listening.beginStream(of: address) { _, _ in
                putBefore.withLock { $0.append(away.notificationsPut) }
                return true
            }
            try await away.save("a")
            #expect(putBefore.withLock { $0 } == [1], "its own alone, of \(away.notificationsPut)")
            #expect(away.notificationsPut == 4)
        }
    }

    @Test(arguments: [Engine.memory, .sqlite])
    func `ten thousand notifications for a device that is absent take a bounded room, over restarts too, and it is told that it missed some`(
        _ engine: Engine
    ) async throws {
        var scene = try await Scene(engine)
        var (most, full) = ((rows: 0, bytes: 0), 0)
        for number in 1...200 {
            try await scene.change(number)
            // Once with undelivered notifications, once without.
            if number.isMultiple(of: 60) { try await scene.restart() }
            try await scene.test.runAllTasks()
            let kept = try await scene.kept()
            most = (max(most.rows, kept.count), max(most.bytes, kept.reduce(0) { $0 + $1.value.count }))
            #expect(kept.count { $0.key.kind == .notification } <= Limits.notificationsPerDevice)
            if number == 50 {
                try await scene.restart()
                full = scene.store.folderBytes
            }
        }
        #expect(most.rows <= Self.rows && most.bytes <= Self.bytes, "\(most)")
        #expect(most.bytes > Limits.notificationsPerDevice * Limits.payloadBytes * 9 / 10, "the notifications were to be as long as may be: \(most)")
        #expect(try await scene.tasks() == 0)
        try await scene.restart()
        #expect(scene.store.folderBytes <= full + Self.bytes, "the disk had \(full) bytes before three quarters of them")

        let told = try await scene.waiting()
        #expect(told.first?.tellsEverything == true && told.dropFirst().allSatisfy { !$0.tellsEverything })
        let last = try #require(told.last?.number)
        #expect(try await scene.test.cloud.acknowledge(through: last, for: scene.address) == last)
        #expect(try await scene.waiting().isEmpty)
        #expect(try await scene.kept().count { $0.key.kind == .notification } == 0)
        try await scene.change(201)
        try await scene.test.runAllTasks()
        #expect(try await scene.waiting().map(\.recordName).count == 50, "what comes afterwards is told one by one")
    }
}
