import CloudKit
import CloudKitPush
import Foundation

extension AtlasDemo {
    private static let word = "creole"
    /// Seconds that a device waits for a notification after a save: many times what a busy machine takes.
    static let patience = 10.0

    /// Subscribes B to the languages with a word and to the zone; A changes one of them, and B shows the alert.
    mutating func hearOfChanges() async throws {
        let ofLanguages = CKQuerySubscription(
            recordType: "Language", predicate: NSPredicate(format: "self CONTAINS %@", Self.word), subscriptionID: "demo languages",
            options: .firesOnRecordUpdate)
        ofLanguages.notificationInfo = CKSubscription.NotificationInfo(
            alertBody: "A language with the word \(Self.word) changed", desiredKeys: ["name"])
        let ofZone = CKRecordZoneSubscription(zoneID: b.zoneID, subscriptionID: "demo zone")
        ofZone.notificationInfo = CKSubscription.NotificationInfo(shouldSendContentAvailable: true)
        let saved = try await b.database.modifySubscriptions(saving: [ofLanguages, ofZone], deleting: [])
        for result in saved.saveResults.values { _ = try result.get() }

        let languages = await a.copy.values.filter { $0.recordType == "Language" && $0.allTokens().contains(Self.word) }
        guard let name = languages.map(\.recordID.recordName).min() else { throw DemoFailure("no language has the word \(Self.word)") }
        let (a, b, note) = (a, b, "told in run \(report.run)")
        let told = try await Self.hear(
            b, until: { $0.count == 2 },
            doing: {
                let record = try await a.record(name)
                record["noteOfA"] = note
                _ = try await a.database.save(record)
            })
        let ids = [ofLanguages.subscriptionID, ofZone.subscriptionID]
        _ = try await b.database.modifySubscriptions(saving: [], deleting: ids)
        let alert = told.notifications.lazy.compactMap { $0 as? CKQueryNotification }.first { $0.subscriptionID == ids[0] }
        guard let alert, let text = alert.alertBody, let language = alert.recordFields?["name"] as? String,
            told.notifications.contains(where: { ($0 as? CKRecordZoneNotification)?.recordZoneID == b.zoneID })
        else { throw DemoFailure("device B was not told what it subscribed to") }
        _ = try await a.follow()
        _ = try await b.follow()
        report.notificationsHeard = told.notifications.count
        let milliseconds = Timeline.text(told.seconds * 1000, digits: 1)
        try timeline.say("A changed a language, and B showed “\(text)”: \(language), \(milliseconds) ms after A began to save")
    }

    /// Listens on a device, runs the deed once it is connected, and waits for notifications.
    /// - Parameter isAll: Called after each notification with all so far; true ends the wait.
    /// - Returns: The notifications, and the seconds since the deed began.
    static func hear(
        _ device: Device, until isAll: ([CKNotification]) async throws -> Bool, doing deed: () async throws -> Void
    ) async throws -> (notifications: [CKNotification], seconds: Double) {
        let clock = ContinuousClock()
        let (connections, connected) = AsyncStream.makeStream(of: Void.self)
        return try await withThrowingTaskGroup(of: ContinuousClock.Instant?.self) { group in
            let (notifications, hearing) = AsyncStream.makeStream(of: CKNotification.self)
            group.addTask {
                let source = RemoteNotifications(for: device.container) { if case .connected = $0 { connected.yield() } }
                for await userInfo in source {
                    if let notification = CKNotification(fromRemoteNotificationDictionary: userInfo) { hearing.yield(notification) }
                }
                return nil
            }
            group.addTask {
                try await Task.sleep(for: .seconds(patience))
                hearing.finish()
                connected.finish()
                return nil
            }
            defer { group.cancelAll() }
            for await _ in connections { break }
            let start = clock.now
            try await deed()
            var heard: [CKNotification] = []
            for await notification in notifications {
                heard.append(notification)
                if try await isAll(heard) { return (heard, start.duration(to: clock.now) / .seconds(1)) }
            }
            throw DemoFailure("device \(device.name) was told \(heard.count) things in \(Int(patience)) s, and lacks some")
        }
    }
}
