import CloudKit
import Foundation
import NacreCloudTestSupport
import Testing

/// Tests of `nacre listen` with the executable, against a running server.
struct ListenTests {
    @Test func `a notification is one line of JSON, and it ends after as many as it was told`() async throws {
        try await RunningServer.with { server in
            let administrator = Administrator(server: server)
            let up = try await administrator.run(["up", Administrator.container, "--json"]).object()
            let user = try #require(up["user"] as? String)
            let lines = try String(contentsOfFile: server.scratch + "/.env", encoding: .utf8).split(separator: "\n")
            let pairs = lines.map { $0.split(separator: "=", maxSplits: 1).map(String.init) }.filter { $0.count == 2 }
            let values = Dictionary(pairs.map { ($0[0], $0[1].trimmingCharacters(in: CharacterSet(charactersIn: "'"))) }, uniquingKeysWith: { $1 })
            let apiToken = try #require(values["CLOUDKIT_API_TOKEN"])
            let other = try await administrator.run(
                [
                    "user", "sign-in", user, "--password-stdin", "--container", Administrator.container, "--environment", "development",
                    "--api-token", apiToken, "--account",
                ], input: values["NACRE_PASSWORD"])
            let database = CKContainer(
                identifier: Administrator.container,
                server: CloudKitServer(
                    url: try WebServicesClient.url(server.url), environment: .development, apiToken: apiToken, accountToken: other.line)
            ).privateCloudDatabase
            let zone = try await database.save(CKRecordZone(zoneName: "Notes"))
            let subscription = CKRecordZoneSubscription(zoneID: zone.zoneID, subscriptionID: "notes")
            subscription.notificationInfo = CKSubscription.NotificationInfo(shouldSendContentAvailable: true)
            _ = try await database.save(subscription)

            let listening = try Launched(["listen", "--count", "1"], named: "listen", in: server.scratch, environment: values)
            // Before it is connected it gets no notifications.
            while listening.isRunning { _ = try await database.save(CKRecord(recordType: "Note", zoneID: zone.zoneID)) }
            #expect(await listening.ended() == 0, "\(listening.errorText)")
            #expect(listening.errorText.contains("Listening"))
            let line = try #require(listening.outputText.split(separator: "\n").first)
            let object = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
            let notification = try #require(CKNotification(fromRemoteNotificationDictionary: object) as? CKRecordZoneNotification)
            #expect(notification.subscriptionID == "notes" && notification.recordZoneID == zone.zoneID)
        }
    }

    @Test func `without variables it says which`() async throws {
        let folder = try TemporaryFolder()
        let run = try await Nacre.run(["listen"], in: folder.path)
        #expect(run.status == 69 && run.output.isEmpty)
        #expect(run.messages.contains("nacre up"), "\(run.messages)")
    }
}
