import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudAccounts
@testable import NacreCloudContainer
@testable import NacreCloudStorage
@testable import NacreCloudTasks

/// Tests with random histories in which read permissions change, devices are signed out, and the server dies again
/// and again during notifications.
///
/// At each save the test knows which devices may be notified. Each of them is notified once, with one ID per change,
/// and no other device is, before the commit or after.
@Suite(.timeLimit(.minutes(5))) struct NotificationHistoryTests {
    private static let people = ["ada", "bob", "cyd"]
    private static let zone = ShareScene.zone
    private static let elsewhere = "iCloud.com.example.elsewhere"

    /// A server that dies: its written data stays, and its next run takes up its tasks.
    private struct Mortal {
        let kept: ReopenableStore
        let store: InterruptedStore
        let scene: SubscriptionScene
        var run: Int64 = 1
        var deaths = 0

        init(_ engine: Engine) async throws {
            kept = try await ReopenableStore(engine, run: 1)
            store = InterruptedStore(kept)
            scene = try await SubscriptionScene(store, people: NotificationHistoryTests.people)
        }

        /// Runs due tasks, and dies before one of its writes.
        mutating func die(before number: Int) async throws {
            store.interrupt { if $0 >= number { throw StoreError(.unavailable, "The process is gone") } }
            _ = try? await scene.test.runAllTasks()
            store.interrupt(nil)
            run += 1
            deaths += 1
            try await kept.reopen(run: run)
            _ = try await scene.cloud.endLeases()
            // A failed task returns after its pause.
            scene.test.clock.move(bySeconds: Limits.taskLeaseSeconds + 1)
        }
    }

    /// Checks that a device got exactly the expected notifications.
    private static func hold(_ told: [Told], against expected: [String], _ identities: inout Set<String>, _ place: String) {
        #expect(told.map(\.summary).sorted() == expected.sorted(), "\(place)")
        identities.formUnion(told.compactMap { $0.member("nid") })
    }

    @Test(arguments: [Engine.memory, .sqlite])
    func `over kills, sign-outs and roles that come and go each device hears what its user may read, once, and nothing else`(
        _ engine: Engine
    ) async throws {
        var dice = SeededRandom()
        var server = try await Mortal(engine)
        let scene = server.scene
        _ = try await scene.cloud.schemas.importSchema(SubscriptionScene.readByTeam, to: SubscriptionScene.container, isDryRun: false)
        let writer = try await scene.signIn("ada", isRegistered: false)
        var devices: [String: SubscriptionScene.Device] = [:]
        for person in Self.people {
            let device = try await scene.signIn(person)
            devices[person] = device
            #expect(try await scene.subscribe(device, .query("q"), in: .public)[0].error == nil)
        }
        // Devices that get nothing: signed-out ones, and one of Bob's in another container with the same
        // subscription.
        var gone = [try await Self.stranger(in: scene)]
        var team: Set<String> = []
        var (there, told): (Set<String>, Int) = ([], 0)
        for step in 0..<(engine == .memory ? 120 : 40) {
            let person = Self.people[Int.random(in: 1...2, using: &dice)]
            switch Int.random(in: 0...5, using: &dice) {
            case 0:
                let name = try #require(scene.names[person])
                let schemas = scene.cloud.schemas
                if team.remove(person) == nil {
                    team.insert(person)
                    _ = try await schemas.assign("Team", to: name, in: SubscriptionScene.container, SubscriptionScene.environment)
                } else {
                    _ = try await schemas.revoke("Team", from: name, in: SubscriptionScene.container, SubscriptionScene.environment)
                }
                continue
            case 1:
                // The old device gets nothing more; the new one begins with nothing.
                let old = try #require(devices[person])
                guard case .device(let id, let account)? = old.caller.credential else { continue }
                try await scene.cloud.registry.revokeAccountToken(id, of: account)
                gone.append(try #require(old.address))
                devices[person] = try await scene.signIn(person)
                continue
            default: break
            }
            let name = "n\(Int.random(in: 0...4, using: &dice))"
            let reason: Int
            if there.contains(name), dice.chance(3) {
                there.remove(name)
                reason = 3
                try await scene.user(writer, in: .public).modify([.delete(name)])
            } else {
                reason = there.insert(name).inserted ? 1 : 2
                try await scene.user(writer, in: .public).modify([.update(name, ["count": .int64(Int64(step))])])
            }
            while dice.chance(2) { try await server.die(before: .random(in: 1...5, using: &dice)) }
            var identities: Set<String> = []
            for person in Self.people {
                let mayRead = person == "ada" || team.contains(person)
                let device = try #require(devices[person])
                let heard = try await scene.told(device)
                told += heard.count
                Self.hold(heard, against: mayRead ? ["q \(name) \(reason)"] : [], &identities, "step \(step) \(person) \(dice)")
            }
            #expect(identities.count == 1)
            for address in gone { #expect(try await scene.cloud.notifications(for: address, after: 0, limit: .max).isEmpty, "step \(step) \(dice)") }
        }
        #expect(server.deaths > 5 && told > 20 && gone.count > 1)
    }

    private static func stranger(in scene: SubscriptionScene) async throws -> DeviceAddress {
        let (cloud, account) = (scene.cloud, try #require(scene.accounts["bob"]))
        _ = try await cloud.registry.createContainer(elsewhere)
        let name = try await cloud.admit(account: account.id, to: elsewhere, SubscriptionScene.environment)
        let token = try await cloud.registry.createAccountToken(
            for: account, containers: [elsewhere], environment: SubscriptionScene.environment, device: "bob")
        var caller = Caller(.user(name), client: .framework, deviceID: "device \(token.id)", account: account.id)
        caller.credential = .device(id: token.id, account: account.id)
        let target = DatabaseTarget(container: elsewhere, environment: SubscriptionScene.environment, scope: .public)
        var user = scene.test.user("", in: .public)
        (user.target, user.caller) = (target, caller)
        try await user.modify([.create("first", ["count": .int64(1)])])
        let request = SubscriptionsModifyRequest(operations: [.create(.query("q"))])
        #expect(try await cloud.modifySubscriptions(request, in: target, by: caller).subscriptions[0].error == nil)
        return try await cloud.registerDevice(nil, in: elsewhere, SubscriptionScene.environment, by: caller)
    }

    @Test(arguments: [Engine.memory, .sqlite])
    func `over kills a guest's devices hear of what is shared with them for as long as it is, and of its end`(_ engine: Engine) async throws {
        var dice = SeededRandom()
        var server = try await Mortal(engine)
        let scene = server.scene
        let (ada, bob, cyd) = (try await scene.signIn("ada"), try await scene.signIn("bob"), try await scene.signIn("cyd"))
        for device in [bob, cyd] { try await scene.subscribe(device, .database("shared"), in: .shared) }
        let owner = scene.user(ada)
        try await owner.makeZone(Self.zone)
        var isShared = false
        for step in 0..<(engine == .memory ? 60 : 24) {
            let isTold: Bool
            if isShared, dice.chance(4) {
                try await owner.modify([.delete(ShareNames.ofZone)], zone: Self.zone)
                (isShared, isTold) = (false, true)
            } else if !isShared, dice.chance(2) {
                let change = ShareChange(participants: [.invite(try #require(scene.names["bob"]), .readOnly)])
                let guid = try await owner.modify([.share(.create, change)], zone: Self.zone).first?.record?.sharing?.value.shortGUID ?? ""
                let request = SharesRequest(shortGUIDs: [.init(value: guid)])
                // Bob accepts with this device; only others of his would be notified.
                _ = try await scene.cloud.acceptShares(request, in: scene.target(.public), by: bob.caller)
                _ = try await scene.told(bob)
                (isShared, isTold) = (true, false)
            } else {
                try await owner.modify([.update("n\(step % 3)", ["count": .int64(Int64(step))])], zone: Self.zone)
                isTold = isShared
            }
            while dice.chance(2) { try await server.die(before: .random(in: 1...6, using: &dice)) }
            let heard = try await scene.told(bob)
            // A task that dies between its notifications and its end notifies the zone again, under another change of
            // Bob's own feed.
            #expect(Set(heard.map(\.summary)) == (isTold ? ["shared"] : []), "step \(step) \(dice)")
            #expect(heard.allSatisfy { $0.member("dbs") == "3" })
            #expect(try await scene.told(cyd) == [], "who takes no part")
        }
        #expect(server.deaths > 5)
    }
}
