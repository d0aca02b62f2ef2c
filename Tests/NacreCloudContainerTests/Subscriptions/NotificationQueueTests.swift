import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudAccounts
@testable import NacreCloudContainer
@testable import NacreCloudStorage
@testable import NacreCloudTasks

/// Tests of a device's queue: bounded, in order, each notification once, and never lost without a notice. Over every
/// engine.
@Suite struct NotificationQueueTests {
    private struct Scene {
        let scene: SubscriptionScene
        let device: SubscriptionScene.Device
        let place: AppUser
        let address: DeviceAddress
        /// Whether the notifications count as new: the queue is read only where that matters.
        var areNew = false

        var cloud: Cloud { scene.cloud }

        init(_ engine: Engine, areNew: Bool = false) async throws {
            try await self.init(try await engine.makeStore())
            self.areNew = areNew
        }

        init(_ store: any Store) async throws {
            scene = try await SubscriptionScene(store)
            device = try await scene.signIn("ada")
            address = try #require(device.address)
            place = AppUser(
                container: SubscriptionScene.container, environment: SubscriptionScene.environment, userRecordName: try #require(scene.names["ada"]))
        }

        func payload(_ id: String, _ change: (inout Payload) -> Void = { _ in }) -> Payload {
            var payload = Payload(event: .query(reason: .created), id: id, subscriptionID: "s", scope: .private)
            payload.alert.body = "b"
            payload.recordName = id
            change(&payload)
            return payload
        }

        func tell(_ payloads: Payload...) async throws { try await cloud.notify(place, of: payloads, notOn: nil, areNew: areNew) }

        func waiting(after last: Int64 = 0) async throws -> [QueuedNotification] {
            try await cloud.notifications(for: address, after: last, limit: .max)
        }

        func names() async throws -> [String] { try await waiting().map { Told($0).member("rid") ?? "everything" } }
    }

    @Test(arguments: Engine.ofRules, [false, true]) func `notifications wait in their order until they are acknowledged`(
        _ engine: Engine, areNew: Bool
    ) async throws {
        let scene = try await Scene(engine, areNew: areNew)
        try await scene.tell(scene.payload("a"), scene.payload("b"))
        try await scene.tell(scene.payload("c"))
        #expect(try await scene.names() == ["a", "b", "c"])
        let numbers = try await scene.waiting().map(\.number)
        #expect(numbers == [1, 2, 3])
        #expect(try await scene.waiting(after: 2).map(\.number) == [3])
        #expect(try await scene.cloud.acknowledge(through: 2, for: scene.address) == 2)
        #expect(try await scene.names() == ["c"])
        #expect(try await scene.cloud.takeNotification(for: scene.address)?.number == 3)
        #expect(try await scene.cloud.takeNotification(for: scene.address) == nil)
        try await scene.tell(scene.payload("d"))
        #expect(try await scene.waiting().map(\.number) == [4])
    }

    @Test(arguments: Engine.ofRules) func `what is told twice waits once`(_ engine: Engine) async throws {
        let scene = try await Scene(engine)
        for _ in 0..<3 { try await scene.tell(scene.payload("a"), scene.payload("b")) }
        #expect(try await scene.names() == ["a", "b"])
        var other = scene.payload("a")
        other.subscriptionID = "t"
        try await scene.tell(other)
        #expect(try await scene.names() == ["a", "b", "a"], "another subscription of one change")
    }

    @Test(arguments: Engine.ofRules, [false, true]) func `silent ones of one zone become the last, and so do those of one collapse ID`(
        _ engine: Engine, areNew: Bool
    )
        async throws
    {
        let scene = try await Scene(engine, areNew: areNew)
        func silent(_ id: String, _ zone: String) -> Payload {
            var payload = Payload(event: .zone, id: id, subscriptionID: "s", scope: .private)
            payload.zoneName = zone
            payload.isContentAvailable = true
            payload.recordName = id
            return payload
        }
        try await scene.tell(silent("a", "Work"), silent("b", "Home"), silent("c", "Work"))
        try await scene.tell(silent("d", "Work"))
        #expect(try await scene.names() == ["b", "d"])
        var loud = silent("e", "Work")
        loud.alert.body = "Hear"
        try await scene.tell(loud)
        try await scene.tell(
            scene.payload("f") { $0.collapseID = "x" }, scene.payload("g") { $0.collapseID = "y" }, scene.payload("h") { $0.collapseID = "x" })
        #expect(try await scene.names() == ["b", "d", "e", "g", "h"])
    }

    @Test(arguments: Engine.ofRules, [false, true]) func `a full queue becomes a word to fetch everything, one for each database`(
        _ engine: Engine, areNew: Bool
    ) async throws {
        let scene = try await Scene(engine, areNew: areNew)
        for index in 0..<Limits.notificationsPerDevice {
            try await scene.tell(scene.payload("r\(index)") { $0.scope = index % 2 == 0 ? .private : .public })
        }
        #expect(try await scene.names().count == Limits.notificationsPerDevice)
        try await scene.tell(scene.payload("more"))
        let all = try await scene.waiting().map { Told($0) }
        #expect(all.map { $0.member("dbs") } == ["2", "1"] && all.allSatisfy { $0.member("sid") == nil && $0.text.contains(#""met""#) })
        try await scene.tell(scene.payload("later"))
        #expect(try await scene.names() == ["everything", "everything", "later"])
    }

    @Test(arguments: Engine.ofRules) func `what waited for seven days is gone, and the device is told so`(_ engine: Engine) async throws {
        let scene = try await Scene(engine)
        try await scene.tell(scene.payload("a"))
        scene.scene.test.clock.move(bySeconds: Limits.notificationSeconds - 1)
        try await scene.tell(scene.payload("b"))
        #expect(try await scene.names() == ["a", "b"])
        scene.scene.test.clock.move(bySeconds: 2)
        // With the upkeep, and without.
        if engine == .memory { _ = try await scene.cloud.removeExpired() }
        #expect(try await scene.names() == ["everything"])
        #expect(try await scene.cloud.takeNotification(for: scene.address) != nil)
        #expect(try await scene.cloud.takeNotification(for: scene.address) == nil)
        try await scene.tell(scene.payload("c"))
        #expect(try await scene.names() == ["c"])
    }

    @Test(arguments: Engine.ofRules) func `what is put behind notifications that are lost unread is lost with them, and the device is told so`(
        _ engine: Engine
    ) async throws {
        let scene = try await Scene(engine, areNew: true)
        try await scene.tell(scene.payload("a"), scene.payload("b"))
        scene.scene.test.clock.move(bySeconds: Limits.notificationSeconds + 1)
        _ = try await scene.cloud.removeExpired()
        try await scene.tell(scene.payload("c"))
        // The stream that delivered it acknowledges it; the earlier loss is still reported.
        #expect(try await scene.cloud.acknowledge(through: 3, for: scene.address) == 3)
        #expect(try await scene.names() == ["everything"])
        try await scene.tell(scene.payload("d"))
        #expect(try await scene.names() == ["everything", "d"])
    }

    @Test(arguments: Engine.ofRules) func `what is new is put behind a queue that nobody reads, up to the one that finds no room`(_ engine: Engine)
        async throws
    {
        let store = CountingStore(try await engine.makeStore())
        var scene = try await Scene(store)
        scene.areNew = true
        var read: [Int] = []
        for index in 0...Limits.notificationsPerDevice {
            let before = store.entriesRead
            try await scene.tell(scene.payload("r\(index)"))
            read.append(store.entriesRead - before)
        }
        // This engine runs some bodies again.
        if engine != .sideBySide {
            #expect(Set(read.dropLast()).count == 1, "\(read)")
            #expect(read.last == read[0] + Limits.notificationsPerDevice, "\(read)")
        }
        #expect(try await scene.names() == ["everything"])
        try await scene.tell(scene.payload("a"), scene.payload("b") { $0.collapseID = "x" })
        try await scene.tell(scene.payload("c") { $0.collapseID = "x" })
        #expect(try await scene.names() == ["everything", "a", "c"])
    }

    @Test(arguments: Engine.ofRules) func `an acknowledgement of a queue that is lost tells the device to fetch everything`(_ engine: Engine)
        async throws
    {
        let scene = try await Scene(engine)
        try await scene.tell(scene.payload("a"))
        #expect(try await scene.cloud.acknowledge(through: 500, for: scene.address) == 0)
        #expect(try await scene.names() == ["everything"])
    }

    /// A notification may be delivered before the disk has it: its number is never used again.
    @Test(arguments: Engine.ofRules) func `a number that a power cut took back is no other notification's`(_ engine: Engine) async throws {
        let store = try await ReopenableStore(engine, run: 1)
        let scene = try await Scene(store)
        try await scene.tell(scene.payload("a"))
        #expect(try await scene.waiting().map(\.number) == [1])
        try await store.reopen(run: 2)
        // The device acknowledges a second one, which the server has lost.
        try await scene.tell(scene.payload("b"))
        let numbers = try await scene.waiting().map(\.number)
        #expect(numbers.count == 2 && numbers[0] == 1 && numbers[1] > 1_000_000)
        #expect(try await scene.cloud.acknowledge(through: 1, for: scene.address) == 1)
        #expect(try await scene.names() == ["b"])
        #expect(try await scene.cloud.acknowledge(through: 2, for: scene.address) == 0)
        #expect(try await scene.names() == ["everything"], "it has heard of what is not known any more")
        try await scene.tell(scene.payload("c"))
        let last = try #require(try await scene.waiting().last?.number)
        #expect(try await scene.cloud.acknowledge(through: last, for: scene.address) == last)
        #expect(try await scene.names() == [])
    }

    @Test(arguments: Engine.ofRules) func `the first number of a device is lost like any other`(_ engine: Engine) async throws {
        let store = try await ReopenableStore(engine, run: 1)
        let scene = try await Scene(store)
        try await store.reopen(run: 2)
        try await scene.tell(scene.payload("a"))
        #expect(try await scene.cloud.acknowledge(through: 1, for: scene.address) == 0)
        #expect(try await scene.names() == ["everything"])
    }

    @Test(arguments: Engine.ofRules, [false, true]) func `a badge counts on each device by itself`(_ engine: Engine, areNew: Bool) async throws {
        let scene = try await Scene(engine, areNew: areNew)
        try await scene.tell(scene.payload("a") { $0.countsBadge = true }, scene.payload("b"))
        let second = try await scene.scene.signIn("ada")
        try await scene.tell(scene.payload("c") { $0.countsBadge = true })
        #expect(try await scene.waiting().map { Told($0).member("badge") } == ["1", nil, "2"])
        #expect(try await scene.scene.told(second).map { $0.member("badge") } == ["1"])
    }

    @Test(arguments: Engine.ofRules, [false, true]) func `a device that is signed out is told nothing, and its queue goes`(
        _ engine: Engine, areNew: Bool
    ) async throws {
        let scene = try await Scene(engine, areNew: areNew)
        let second = try await scene.scene.signIn("ada")
        try await scene.tell(scene.payload("a"))
        guard case .device(let id, let account)? = scene.device.caller.credential else { return }
        try await scene.cloud.registry.revokeAccountToken(id, of: account)
        try await scene.tell(scene.payload("b"))
        #expect(try await scene.waiting().isEmpty)
        #expect(try await scene.scene.identifiers(second) == ["s a 1", "s b 1"])
        let left = try await scene.scene.test.store.read { try $0.rows(of: .entries, after: nil, limit: 500) }
        let kept = left.filter { row in if case .entry(let entry) = row.value { entry.key.kind == .notifiedDevice } else { false } }
        #expect(kept.count == 1)
    }

    @Test(arguments: Engine.ofRules) func `of more devices than there may be those go that were quiet longest`(_ engine: Engine) async throws {
        let scene = try await Scene(engine)
        var addresses: [DeviceAddress] = []
        for index in 0..<Limits.notifiedDevicesPerUser {
            scene.scene.test.clock.move(bySeconds: 1)
            addresses.append(
                try await scene.cloud.registerDevice(
                    "tab \(index)", in: SubscriptionScene.container, SubscriptionScene.environment, by: scene.device.caller))
        }
        try await scene.tell(scene.payload("a"))
        #expect(try await scene.waiting().isEmpty, "the first one made room")
        for address in addresses { #expect(try await scene.cloud.notifications(for: address, after: 0, limit: 5).count == 1) }
        // A device that registers again is the same.
        let again = try await scene.cloud.registerDevice(
            "tab 5", in: SubscriptionScene.container, SubscriptionScene.environment, by: scene.device.caller)
        #expect(again == addresses[5])
    }
}
