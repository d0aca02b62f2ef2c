import CloudKit
import Foundation
import FoundationNetworking
import Testing

/// Tests of signed-in and signed-out users, and what each can see.
struct AccountTests {
    private static let bob = "bob@example.com"

    @Test func `without an account the private database is refused, and the status says so`() async throws {
        try await Device.pair { a, _, cloud in
            let nobody = try Device(cloud, token: nil)
            #expect(try await nobody.container.accountStatus() == .noAccount)
            #expect(try await a.container.accountStatus() == .available)
            for attempt in [
                await #expect(throws: CKError.self) { try await nobody.database.save(Device.note("one", "bread")) },
                await #expect(throws: CKError.self) { try await nobody.database.record(for: Device.recordID("one")) },
                await #expect(throws: CKError.self) { try await nobody.database.databaseChanges(since: nil) },
                await #expect(throws: CKError.self) { try await nobody.container.userRecordID() },
            ] { #expect(attempt?.code == .notAuthenticated) }
            let refused = try Device(cloud, token: "no such token")
            #expect(try await refused.container.accountStatus() == .noAccount)
            let nowhere = try Device(cloud, token: "any", through: "http://127.0.0.1:\(try QuietPort.any())")
            await #expect(throws: CKError.self) { try await nowhere.container.accountStatus() }
        }
    }

    @Test func `an app fetches a web auth token with which a page is its user, and is told why there is none`() async throws {
        try await Device.pair { a, _, cloud in
            func token(_ apiToken: String?, in database: CKDatabase? = nil) async -> Result<String, any Error> {
                await withCheckedContinuation { continuation in
                    let operation = apiToken.map(CKFetchWebAuthTokenOperation.init(apiToken:)) ?? CKFetchWebAuthTokenOperation()
                    operation.fetchWebAuthTokenCompletionBlock = { _, _ in Issue.record("the old block is called beside the new one") }
                    operation.fetchWebAuthTokenResultBlock = { continuation.resume(returning: $0) }
                    (database ?? a.database).add(operation)
                }
            }
            func code(_ result: Result<String, any Error>) -> CKError.Code? {
                if case .failure(let error as CKError) = result { error.code } else { nil }
            }
            let webAuthToken = try await token(cloud.apiToken).get()
            let escaped = webAuthToken.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
            let path = "/database/1/\(cloud.container)/development/private/users/caller?ckAPIToken=\(cloud.apiToken)&ckWebAuthToken=\(escaped)"
            let request = URLRequest(url: try WebServicesClient.url(cloud.server.url + path))
            let answer = try await WebServicesClient.send(request, nil, over: .shared)
            let user = try await a.container.userRecordID().recordName
            #expect(answer.status == 200 && String(decoding: answer.body, as: UTF8.self).contains(user))
            #expect(code(await token("no such token")) == .invalidArguments)
            #expect(code(await token(nil)) == .invalidArguments)
            #expect(code(await token(cloud.apiToken, in: a.container.publicCloudDatabase)) == .badDatabase)
            #expect(code(await token(cloud.apiToken, in: try Device(cloud, token: nil).database)) == .notAuthenticated)
            let old = await withCheckedContinuation { continuation in
                let operation = CKFetchWebAuthTokenOperation(apiToken: cloud.apiToken)
                operation.fetchWebAuthTokenCompletionBlock = { continuation.resume(returning: ($0, $1 == nil)) }
                a.database.add(operation)
            }
            #expect(old.0 != nil && old.1)
        }
    }

    @Test func `the public database is everybody's to read, and a record its creator's to change`() async throws {
        try await Device.pair { a, b, cloud in
            try await cloud.addUser(Self.bob)
            let bob = try await Device(of: Self.bob, cloud)
            let nobody = try Device(cloud, token: nil)
            let recordID = CKRecord.ID(recordName: "sign")
            let sign = CKRecord(recordType: "Sign", recordID: recordID)
            sign["text"] = "open"
            try await a.container.publicCloudDatabase.save(sign)
            for reader in [b, bob, nobody] {
                #expect(try await reader.container.publicCloudDatabase.record(for: recordID)["text"] as? String == "open")
            }
            let seen = try await bob.container.publicCloudDatabase.record(for: recordID)
            seen["text"] = "closed"
            let refused = await #expect(throws: CKError.self) { try await bob.container.publicCloudDatabase.save(seen) }
            #expect(refused?.code == .permissionFailure)
            let kept = await #expect(throws: CKError.self) { try await bob.container.publicCloudDatabase.deleteRecord(withID: recordID) }
            #expect(kept?.code == .permissionFailure)
            let anonymous = await #expect(throws: CKError.self) {
                try await nobody.container.publicCloudDatabase.save(CKRecord(recordType: "Sign"))
            }
            #expect(anonymous?.code == .notAuthenticated)
            let own = try await b.container.publicCloudDatabase.record(for: recordID)
            own["text"] = "closed"
            try await b.container.publicCloudDatabase.save(own)
            #expect(try await nobody.container.publicCloudDatabase.record(for: recordID)["text"] as? String == "closed")
        }
    }

    @Test func `users do not see each other's private records, zones or changes`() async throws {
        try await Device.pair { a, _, cloud in
            try await cloud.addUser(Self.bob)
            let bob = try await Device(of: Self.bob, cloud)
            try await a.database.save(Device.note("one", "bread"))
            let token = try await a.changes().token
            #expect(try await bob.database.allRecordZones().map(\.zoneID.zoneName) == ["_defaultZone"])
            #expect(try await bob.database.databaseChanges(since: nil).modifications.isEmpty)
            try await bob.database.save(CKRecordZone(zoneID: Device.zoneID))
            let missing = await #expect(throws: CKError.self) { try await bob.database.record(for: Device.recordID("one")) }
            #expect(missing?.code == .unknownItem)
            await #expect(throws: CKError.self) { try await bob.changes(since: token) }
            #expect(try await bob.changes().records.isEmpty)
        }
    }

    @Test func `a user is one on all devices of a container, and another in another container`() async throws {
        try await Device.pair { a, b, cloud in
            let user = try await a.container.userRecordID()
            #expect(try await b.container.userRecordID() == user)
            let other = try await NewCloud(cloud.server, container: "iCloud.dev.nacre.other")
            let elsewhere = try await Device(of: Device.ada, other)
            #expect(try await elsewhere.container.userRecordID() != user)
            try await cloud.addUser(Self.bob)
            #expect(try await Device(of: Self.bob, cloud).container.userRecordID() != user)
        }
    }

    @Test func `one app with two containers: each keeps its own, under one account`() async throws {
        try await Device.pair { a, _, cloud in
            let other = try await NewCloud(cloud.server, container: "iCloud.dev.nacre.other")
            let second = try await Device(of: Device.ada, other)
            try await second.database.save(CKRecordZone(zoneID: Device.zoneID))
            try await a.database.save(Device.note("one", "here"))
            try await second.database.save(Device.note("one", "there"))
            #expect(try await a.database.record(for: Device.recordID("one"))["text"] as? String == "here")
            #expect(try await second.database.record(for: Device.recordID("one"))["text"] as? String == "there")
            try await a.database.deleteRecordZone(withID: Device.zoneID)
            #expect(try await second.changes().records.count == 1)

            // A token of one container is not valid in the other.
            let crossed = try Device(other, token: try await cloud.device(of: Device.ada))
            #expect(try await crossed.container.accountStatus() == .noAccount)
        }
    }

    @Test func `two containers configured by name are told apart`() async throws {
        try await Device.pair { _, _, cloud in
            let first = "iCloud.dev.nacre.configured-\(cloud.server.port)"
            let second = "iCloud.dev.nacre.also-\(cloud.server.port)"
            for name in [first, second] {
                let named = try await NewCloud(cloud.server, container: name)
                CloudKitServer.configure(
                    CloudKitServer(
                        url: try WebServicesClient.url(cloud.server.url), environment: .development, apiToken: named.apiToken,
                        accountToken: try await named.device(of: Device.ada)), forContainer: name)
            }
            defer { for name in [first, second] { CloudKitServer.configure(nil, forContainer: name) } }
            let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "one"))
            record["text"] = "first"
            try await CKContainer(identifier: first).privateCloudDatabase.save(record)
            let missing = await #expect(throws: CKError.self) {
                try await CKContainer(identifier: second).privateCloudDatabase.record(for: record.recordID)
            }
            #expect(missing?.code == .unknownItem)
            #expect(try await CKContainer(identifier: first).privateCloudDatabase.record(for: record.recordID)["text"] as? String == "first")
        }
    }

    @Test func `two apps on one container share its data and know the user by one name`() async throws {
        try await Device.pair { a, _, cloud in
            // Another app: another API token for the same container.
            let otherApp = try await NewCloud(cloud.server, container: cloud.container)
            #expect(otherApp.apiToken != cloud.apiToken)
            let b = try await Device(of: Device.ada, otherApp)
            try await a.database.save(Device.note("one", "from the first app"))
            let seen = try await b.database.record(for: Device.recordID("one"))
            seen["text"] = "from the second app"
            try await b.database.save(seen)
            #expect(try await a.changes().records[Device.recordID("one")]?["text"] as? String == "from the second app")
            #expect(try await a.container.userRecordID() == b.container.userRecordID())
        }
    }
}
