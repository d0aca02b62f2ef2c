import CloudKit
import CloudKitPush
import Foundation
import NacreCloudTestSupport
import NacreLocks
import Testing

/// Tests of subscriptions from end to end: the framework saves them on a running server, and `CloudKitPush` gets
/// their notifications.
struct PushTests {
    private static let zoneID = CKRecordZone.ID(zoneName: "Atlas")

    /// Returns two devices of one user.
    private func devices(_ server: RunningServer) async throws -> (a: CKContainer, b: CKContainer) {
        let administrator = Administrator(server: server)
        let token = try await administrator.preparedWithUser()
        func container() async throws -> CKContainer {
            let account = try await administrator.run(Administrator.signIn(token) + ["--account"], input: Administrator.password)
            try #require(account.status == 0, "\(account.messages)")
            let url = try WebServicesClient.url(server.url)
            return CKContainer(
                identifier: Administrator.container,
                server: CloudKitServer(url: url, environment: .development, apiToken: token, accountToken: account.line))
        }
        return (try await container(), try await container())
    }

    private func language(_ name: String, _ words: String) -> CKRecord {
        let record = CKRecord(recordType: "Language", recordID: CKRecord.ID(recordName: name, zoneID: Self.zoneID))
        record["words"] = words
        return record
    }

    /// Begins to listen, and returns once the server knows of it.
    private func listen(_ container: CKContainer) async -> AsyncStream<CKNotification> {
        let (heard, hearing) = AsyncStream.makeStream(of: CKNotification.self)
        await withCheckedContinuation { (connected: CheckedContinuation<Void, Never>) in
            let waiting = Locked<CheckedContinuation<Void, Never>?>(connected)
            let task = Task {
                let notifications = RemoteNotifications(for: container) { state in
                    if case .connected = state {
                        waiting.withLock { waiting in
                            waiting?.resume()
                            waiting = nil
                        }
                    }
                }
                for await userInfo in notifications {
                    if let notification = CKNotification(fromRemoteNotificationDictionary: userInfo) { hearing.yield(notification) }
                }
                hearing.finish()
            }
            hearing.onTermination = { _ in task.cancel() }
        }
        return heard
    }

    @Test func `a device hears what another one saves, with the alert and the fields that it asked for, and nothing of its own`() async throws {
        try await RunningServer.with { server in
            let (a, b) = try await devices(server)
            _ = try await a.privateCloudDatabase.save(CKRecordZone(zoneID: Self.zoneID))
            _ = try await a.privateCloudDatabase.save(language("eng", "hello"))
            let subscription = CKQuerySubscription(
                recordType: "Language", predicate: NSPredicate(format: "words == %@", "bonjou"), subscriptionID: "creole",
                options: [.firesOnRecordCreation, .firesOnRecordUpdate])
            let info = CKSubscription.NotificationInfo(alertBody: "A creole language", desiredKeys: ["words"])
            subscription.notificationInfo = info
            let kept = try await b.privateCloudDatabase.save(subscription)
            #expect(kept.subscriptionID == "creole" && kept.notificationInfo?.alertBody == "A creole language")
            #expect(try await b.privateCloudDatabase.allSubscriptions().map(\.subscriptionID) == ["creole"])
            let heard = await listen(b)
            // A record that does not match, and a save of B itself: no notification for either.
            _ = try await a.privateCloudDatabase.save(language("deu", "hallo"))
            _ = try await b.privateCloudDatabase.save(language("own", "bonjou"))
            _ = try await a.privateCloudDatabase.save(language("hat", "bonjou"))
            var first: CKNotification?
            for await notification in heard {
                first = notification
                break
            }
            let notification = try #require(first as? CKQueryNotification)
            #expect(notification.subscriptionID == "creole" && notification.alertBody == "A creole language")
            #expect(notification.recordID == CKRecord.ID(recordName: "hat", zoneID: Self.zoneID))
            #expect(notification.queryNotificationReason == .recordCreated && notification.databaseScope == .private)
            #expect(notification.recordFields?["words"] as? String == "bonjou")
            #expect(notification.containerIdentifier == Administrator.container && !notification.isPruned)
        }
    }

    @Test func `a badge counts what one device has not seen, and is cleared there`() async throws {
        try await RunningServer.with { server in
            let (a, b) = try await devices(server)
            _ = try await a.privateCloudDatabase.save(CKRecordZone(zoneID: Self.zoneID))
            _ = try await a.privateCloudDatabase.save(language("eng", "hello"))
            let subscription = CKQuerySubscription(
                recordType: "Language", predicate: NSPredicate(value: true), subscriptionID: "all", options: [.firesOnRecordCreation])
            subscription.notificationInfo = CKSubscription.NotificationInfo(alertBody: "New", shouldBadge: true)
            _ = try await b.privateCloudDatabase.save(subscription)
            let early = await #expect(throws: CKError.self) { try await b.setBadgeCount(0) }
            #expect(early?.code == .unknownItem, "which was told nothing yet")
            var heard = await listen(b).makeAsyncIterator()
            _ = try await a.privateCloudDatabase.save(language("deu", "hallo"))
            #expect(await heard.next()?.badge == 1)
            _ = try await a.privateCloudDatabase.save(language("fra", "bonjour"))
            #expect(await heard.next()?.badge == 2)
            try await b.setBadgeCount(0)
            _ = try await a.privateCloudDatabase.save(language("ita", "ciao"))
            #expect(await heard.next()?.badge == 1)
            let wrong = await #expect(throws: CKError.self) { try await b.setBadgeCount(-1) }
            #expect(wrong?.code == .invalidArguments)
        }
    }

    @Test func `a zone and a database tell that they changed, also over a restart of the server`() async throws {
        try await RunningServer.with { server in
            let (a, b) = try await devices(server)
            _ = try await a.privateCloudDatabase.save(CKRecordZone(zoneID: Self.zoneID))
            let info = CKSubscription.NotificationInfo(shouldSendContentAvailable: true)
            let ofZone = CKRecordZoneSubscription(zoneID: Self.zoneID, subscriptionID: "zone")
            let ofDatabase = CKDatabaseSubscription(subscriptionID: "database")
            for subscription in [ofZone, ofDatabase] as [CKSubscription] { subscription.notificationInfo = info }
            _ = try await b.privateCloudDatabase.modifySubscriptions(saving: [ofZone, ofDatabase], deleting: [])
            let heard = await listen(b)
            await server.kill()
            try await server.start()
            _ = try await a.privateCloudDatabase.save(language("eng", "hello"))
            var ids: Set<String> = []
            for await notification in heard {
                ids.insert(notification.subscriptionID ?? "")
                if let zone = notification as? CKRecordZoneNotification { #expect(zone.recordZoneID == Self.zoneID) }
                if ids.count == 2 { break }
            }
            #expect(ids == ["zone", "database"])
        }
    }

    private static func query(
        _ format: String = "words == 'x'", type: String = "Language", id: String = "s", options: CKQuerySubscription.Options = .firesOnRecordCreation,
        zone: String? = nil
    ) -> CKSubscription {
        let subscription = CKQuerySubscription(recordType: type, predicate: NSPredicate(format: format), subscriptionID: id, options: options)
        subscription.zoneID = zone.map { CKRecordZone.ID(zoneName: $0) }
        return subscription
    }

    @Test func `what is wrong with a subscription is its own error with CloudKit's code and text, and nothing of it is saved`() async throws {
        try await RunningServer.with { server in
            let (a, _) = try await devices(server)
            _ = try await a.privateCloudDatabase.save(CKRecordZone(zoneID: Self.zoneID))
            _ = try await a.privateCloudDatabase.save(language("eng", "hello"))
            let nowhere = CKRecordZoneSubscription(zoneID: CKRecordZone.ID(zoneName: "Nowhere"), subscriptionID: "s")
            let atlas = CKRecordZoneSubscription(zoneID: Self.zoneID, subscriptionID: "s")
            let all = CKDatabaseSubscription(subscriptionID: "s")
            let carrying = CKRecordZoneSubscription(zoneID: Self.zoneID, subscriptionID: "s")
            carrying.notificationInfo = CKSubscription.NotificationInfo(alertBody: "New", desiredKeys: ["words"])
            let rows: [(subscription: CKSubscription, scope: CKDatabase.Scope, code: CKError.Code, text: String)] = [
                // A predicate that queries refuse: on the device, and by the server.
                (Self.query("words LIKE 'x*'"), .private, .invalidArguments, "LIKE"),
                (carrying, .private, .invalidArguments, "cannot add additionalFields to this subscription type"),
                (Self.query("nothing == 1"), .private, .invalidArguments, "Unknown field 'nothing'"),
                (Self.query("words == 1"), .private, .invalidArguments, "cannot be queried using filter value type INT64"),
                (Self.query(type: "Users"), .public, .invalidArguments, "Can't query system types"),
                (Self.query(type: "Unknown"), .private, .unknownItem, "Did not find record type: Unknown"),
                // An unknown zone.
                (Self.query(zone: "Nowhere"), .private, .zoneNotFound, "Zone does not exist"),
                (nowhere, .private, .zoneNotFound, "Zone does not exist"),
                // An empty ID, and none of the three events.
                (Self.query(id: ""), .private, .invalidArguments, "ID"),
                (Self.query(options: []), .private, .invalidArguments, "firesOnRecordCreation"),
                (Self.query(options: .firesOnce), .private, .invalidArguments, "firesOnRecordCreation"),
                // A database that does not support its kind.
                (Self.query(), .shared, .invalidArguments, "query subscriptions are not supported in the shared database"),
                (atlas, .public, .invalidArguments, "zone subscriptions are not supported in the public database"),
                (atlas, .shared, .invalidArguments, "zone subscriptions are not supported in the shared database"),
                (all, .public, .invalidArguments, "database subscriptions are not supported in the public database"),
            ]
            for row in rows {
                let error = await #expect(throws: CKError.self) { try await a.database(with: row.scope).save(row.subscription) }
                let place = "\(row.subscription) in \(row.scope): \(error.map { "\($0.code) \($0.localizedDescription)" } ?? "")"
                #expect(error?.code == row.code && error?.localizedDescription.contains(row.text) == true, "\(place)")
            }
            for scope in [CKDatabase.Scope.public, .private, .shared] {
                #expect(try await a.database(with: scope).allSubscriptions().isEmpty)
            }
        }
    }
}
