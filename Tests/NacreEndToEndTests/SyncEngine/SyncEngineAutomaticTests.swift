import CloudKitPush
import Foundation
import NacreLocks
import Testing

@testable import CloudKit

/// Tests of `docs/sync-engine.md`, By itself. The numbers are that page's. The clock stands still unless a test moves
/// it.
struct SyncEngineAutomaticTests {
    private func device(_ cloud: NewCloud) async throws -> SyncDevice {
        try SyncDevice(cloud, token: try await cloud.device(of: Device.ada), automatically: true, clock: SyncClock())
    }

    /// A device whose zone is on the server, and whose engine has fetched all that there is: from here on nothing but
    /// the test and the clock wakes the engine. An engine that has made its zone itself hears of it like of another's
    /// change, and that fetch would end a pause.
    private func settledDevice(_ cloud: NewCloud) async throws -> SyncDevice {
        let device = try SyncDevice(cloud, token: try await cloud.device(of: Device.ada), clock: SyncClock())
        await device.fetch()
        await device.send()
        await device.fetch()
        await device.told()
        device.restart(automatically: true)
        await device.app.heard("didFetch")
        return device
    }

    @Test func `an engine fetches when it is made, sends what is added, and hears of others' changes without asking (38, 40)`() async throws {
        try await SyncDevice.cloud { cloud in
            let a = try await device(cloud)
            await a.app.heard("didFetch")
            a.write("one", "bread")
            await a.app.heard("sent +one")
            #expect(a.app.events.first == "signIn")
            let b = try await device(cloud)
            await b.app.heard("fetched +one")
            a.write("two", "wine")
            await b.app.heard("fetched +two")
            b.write("three", "olives")
            await a.app.heard("fetched +three")
            #expect(a.app.words == b.app.words && a.app.words.count == 3)
        }
    }

    @Test func `an empty page that is not the last one tells an engine that waits of changes (40)`() async throws {
        try await SyncDevice.cloud { cloud in
            let a = try SyncDevice(cloud, token: try await cloud.device(of: Device.ada), clock: SyncClock())
            let asked = Locked(0)
            a.transport.fail { path in
                let count =
                    path == "changes/database"
                    ? asked.withLock {
                        $0 += 1
                        return $0
                    } : 0
                // The first request is that of the fetch.
                return count == 2 ? .answer(status: 200, body: "{\"zones\":[],\"syncToken\":\"next\",\"moreComing\":true}") : nil
            }
            let engine = SyncDevice.engine(a.app, a.database, true)
            await a.app.heard("didFetch", 2)
            #expect(engine.state.zoneIDsWithUnfetchedServerChanges.isEmpty)
        }
    }

    @Test func `it fetches before it sends where both are due (38)`() async throws {
        try await SyncDevice.cloud { cloud in
            let a = try SyncDevice(cloud, token: try await cloud.device(of: Device.ada))
            a.write("one", "bread")
            await a.app.heard("state")
            let app = NoteApp(disk: a.app.disk)
            let engine = SyncDevice.engine(app, a.database, true)
            await app.heard("sent +one")
            let runs = app.events.filter { $0 == "willFetch" || $0 == "willSend" }
            #expect(runs.prefix(2) == ["willFetch", "willSend"] && engine.state.pendingRecordZoneChanges.isEmpty)
        }
    }

    @Test func `what may pass is tried again when the server asked for it, and not before (39)`() async throws {
        try await SyncDevice.cloud { cloud in
            let a = try await settledDevice(cloud)
            a.transport.failNext("records/modify", SyncTransport.itemRefusal(["one"], .zoneBusy, "TRY_AGAIN_LATER", retryAfter: 7))
            a.write("one", "bread")
            await a.app.heard("sent !one zoneBusy")
            await a.clock.sleeper(of: 7)
            #expect(a.transport.count("records/modify") == 1)
            a.transport.failNext("records/modify", .notSent)
            a.clock.advance(by: 7)
            await a.app.heard("sent !one networkUnavailable")
            await a.clock.sleeper(of: SyncSchedule.firstPause)
            a.clock.advance(by: SyncSchedule.firstPause)
            await a.app.heard("sent +one")
            #expect(a.engine.state.pendingRecordZoneChanges.isEmpty)
        }
    }

    @Test func `a change that is added again whenever it fails goes at once with the next run, and then with longer pauses (16, 39)`() async throws {
        try await SyncDevice.cloud { cloud in
            let a = try await settledDevice(cloud)
            a.app.hook.withLock {
                $0 = { event, engine in
                    guard case .sentRecordZoneChanges(let sent) = event else { return }
                    engine.state.add(pendingRecordZoneChanges: sent.failedRecordSaves.map { .saveRecord($0.record.recordID) })
                }
            }
            let refusal = SyncTransport.itemRefusal(["one"], .quotaExceeded, "QUOTA_EXCEEDED")
            a.transport.failNext("records/modify", refusal, refusal, refusal)
            a.write("one", "bread")
            await a.app.heard("sent !one quotaExceeded", 2)
            await a.clock.sleeper(of: SyncSchedule.firstPause)
            #expect(a.transport.count("records/modify") == 2)
            a.clock.advance(by: SyncSchedule.firstPause)
            await a.app.heard("sent !one quotaExceeded", 3)
            await a.clock.sleeper(of: SyncSchedule.firstPause * 2)
            a.clock.advance(by: SyncSchedule.firstPause * 2)
            await a.app.heard("sent +one")
        }
    }

    @Test func `a send that the app asked for and that failed does not make the pause longer, and a fetch that succeeds ends it (39)`() async throws {
        try await SyncDevice.cloud { cloud in
            let a = try await settledDevice(cloud)
            a.transport.failNext("records/modify", .notSent, .notSent)
            a.write("one", "bread")
            await a.clock.sleeper(of: SyncSchedule.firstPause)
            #expect(await a.send() == .networkUnavailable)
            await a.clock.sleeper(of: SyncSchedule.firstPause)
            #expect(await a.fetch() == nil)
            await a.app.heard("sent +one")
        }
    }

    @Test func `what the app cancels while the engine does it by itself is done after a pause (5, 39)`() async throws {
        try await SyncDevice.cloud { cloud in
            let a = try await settledDevice(cloud)
            a.transport.failNext("records/modify", .hangs)
            a.write("one", "bread")
            await a.transport.hang(of: "records/modify")
            await a.engine.cancelOperations()
            await a.app.heard("sent !one operationCancelled")
            await a.clock.sleeper(of: SyncSchedule.firstPause)
            a.clock.advance(by: SyncSchedule.firstPause)
            await a.app.heard("sent +one")
        }
    }

    @Test func `a user who has no database subscription gets one, and one that there is is used (41)`() async throws {
        try await SyncDevice.pair { a, b, _ in
            await a.fetch()
            #expect(try await a.database.allSubscriptions().map(\.subscriptionID) == ["CKSyncEngine-private"])
            await b.fetch()
            #expect(try await b.database.allSubscriptions().map(\.subscriptionID) == ["CKSyncEngine-private"])
            let asked = b.transport.count("subscriptions/list")
            await b.fetch()
            #expect(b.transport.count("subscriptions/list") == asked, "once, and not at each fetch")
            var configuration = CKSyncEngine.Configuration(database: b.database, stateSerialization: nil, delegate: b.app)
            configuration.automaticallySync = false
            configuration.subscriptionID = "mine"
            let engine = CKSyncEngine(configuration)
            try await engine.fetchChanges()
            #expect(try await b.database.allSubscriptions().map(\.subscriptionID) == ["CKSyncEngine-private"])
            let another = await #expect(throws: CKError.self) { try await b.database.save(CKDatabaseSubscription(subscriptionID: "mine")) }
            #expect(another?.code == .serverRejectedRequest)
            #expect(another?.localizedDescription.contains("subscription is duplicate of 'CKSyncEngine-private'") == true)
        }
    }

    @Test func `a subscription that the app deletes is made again by the next fetch, or by the first one of another launch (41)`() async throws {
        try await SyncDevice.pair { a, b, _ in
            try await a.database.save(CKDatabaseSubscription(subscriptionID: "app"))
            await a.fetch()
            try await a.database.deleteSubscription(withID: "app")
            await a.fetch()
            #expect(try await a.database.allSubscriptions().map(\.subscriptionID) == ["CKSyncEngine-private"])
            try await b.database.deleteSubscription(withID: "CKSyncEngine-private")
            await a.fetch()
            #expect(try await b.database.allSubscriptions().isEmpty, "another device's deletion is not seen at each fetch")
            a.restart()
            await a.fetch()
            #expect(try await b.database.allSubscriptions().map(\.subscriptionID) == ["CKSyncEngine-private"])
        }
    }

    @Test func `a notification tells the engines of its user, and of nobody else (40)`() async throws {
        try await SyncDevice.pair { a, b, cloud in
            a.write("one", "bread")
            await a.send()
            await b.fetch()
            b.app.clearLog()
            func notification(_ kind: String) -> [AnyHashable: Any] {
                ["ck": ["cid": cloud.container, kind: ["sid": "s", "dbs": 2, "zid": "Notes", "zoid": "_x"] as [String: Any]] as [String: Any]]
            }
            b.container.notifiedOfChange(by: notification("fet"))
            await b.app.heard("state")
            #expect(b.engine.state.zoneIDsWithUnfetchedServerChanges == [b.app.zoneID])
            #expect(a.engine.state.zoneIDsWithUnfetchedServerChanges.isEmpty)
            #expect(await b.fetch() == nil)
            #expect(b.app.events == ["willFetch", "willFetch Notes", "didFetch Notes", "didFetch"])
            b.container.notifiedOfChange(by: ["aps": [:] as [String: Any]])
            #expect(b.engine.state.zoneIDsWithUnfetchedServerChanges.isEmpty)
        }
    }

    @Test func `what comes over RemoteNotifications reaches the engine of its user (40)`() async throws {
        try await SyncDevice.pair { a, b, _ in
            a.write("one", "bread")
            await a.send()
            await b.fetch()
            try await b.database.save(CKRecordZoneSubscription(zoneID: b.app.zoneID, subscriptionID: "zone"))
            let isConnected = Locked(false)
            let listening = Task {
                let notifications = RemoteNotifications(for: b.container) { state in
                    if case .connected = state { isConnected.withLock { $0 = true } }
                }
                for await _ in notifications {}
            }
            while !isConnected.withLock({ $0 }) { await Task.yield() }
            a.write("two", "wine")
            await a.send()
            while b.engine.state.zoneIDsWithUnfetchedServerChanges.isEmpty { await Task.yield() }
            listening.cancel()
            #expect(b.engine.state.zoneIDsWithUnfetchedServerChanges == [b.app.zoneID])
            #expect(await b.fetch() == nil && b.app.words["two"] == ["wine"])
        }
    }

    @Test func `when the account comes back, the engine goes on by itself (42)`() async throws {
        try await SyncDevice.cloud { cloud in
            let a = try await device(cloud)
            await a.app.heard("didSend")
            _ = try await NewCloud.admin(cloud.server, "users/state", ["email": Device.ada, "state": "temporarilyUnavailable"])
            a.write("one", "bread")
            // The engine learns it from its own request, or from its open request for changes.
            while a.engine.activity.inner.withLock({ $0.schedule.decide(now: 0) }) == .idle { await Task.yield() }
            while a.engine.activity.inner.withLock({ $0.isScheduledQueued }) { await Task.yield() }
            #expect(a.engine.state.pendingRecordZoneChanges.count == 1)
            _ = try await NewCloud.admin(cloud.server, "users/state", ["email": Device.ada, "state": "available"])
            // Nothing is retried while the clock stands still, until the status is known: here the app asks.
            #expect(try await a.container.accountStatus() == .available)
            await a.app.heard("sent +one")
            #expect(!a.app.events.contains("signOut"))
        }
    }

    @Test func `however many engines hold a question open, no other request waits for them (40)`() async throws {
        try await SyncDevice.cloud { cloud in
            let device = try Device(cloud, token: try await cloud.device(of: Device.ada))
            let apps = (0..<24).map { _ in NoteApp() }
            let engines = apps.map { SyncDevice.engine($0, device.database, true) }
            for app in apps { await app.heard("didFetch") }
            for engine in engines {
                while engine.activity.inner.withLock({ $0.waiter == nil || $0.isScheduledQueued }) { await Task.yield() }
            }
            let start = ContinuousClock.now
            for _ in 0..<3 { _ = try await device.database.allRecordZones() }
            #expect(ContinuousClock.now - start < .seconds(CKSyncEngine.waitSeconds / 2))
        }
    }

    @Test func `an engine that nobody keeps stops (By itself)`() async throws {
        try await SyncDevice.cloud { cloud in
            let a = try await device(cloud)
            await a.app.heard("didSend")
            var other: CKSyncEngine? = SyncDevice.engine(a.app, a.database, true)
            weak let gone = other
            a.app.clearLog()
            try await other?.fetchChanges()
            other = nil
            while gone != nil { await Task.yield() }
        }
    }
}
