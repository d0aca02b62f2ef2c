import CloudKit
import Foundation
import NacreLocks
import Testing

/// Tests of user lookups in an app on a real server.
@Suite(.serialized) struct DiscoveryTests {
    private static let bob = "bob@example.com"

    /// Requests the permission, as an app whose user gives `answer`.
    private func ask(_ device: Device, answer: Bool) async throws -> CKContainer.ApplicationPermissionStatus {
        CloudKitServer.setPermissionPrompt({ _, _ in answer }, forContainer: "iCloud.dev.nacre.e2e")
        defer { CloudKitServer.setPermissionPrompt(nil, forContainer: "iCloud.dev.nacre.e2e") }
        return try await device.container.requestApplicationPermission(.userDiscoverability)
    }

    @Test func `a user is found once they have allowed it on any device, and by what they allowed`() async throws {
        try await Device.pair { a, b, cloud in
            try await cloud.addUser(Self.bob)
            let bob = try await Device(of: Self.bob, cloud)
            let ada = try await a.container.userRecordID()
            #expect(try await bob.container.userIdentity(forEmailAddress: Device.ada) == nil)
            #expect(try await a.container.applicationPermissionStatus(for: .userDiscoverability) == .initialState)
            #expect(try await ask(a, answer: true) == .granted)
            // The question is asked once: the other device has the answer.
            #expect(try await ask(b, answer: false) == .granted)
            let found = try #require(try await bob.container.userIdentity(forEmailAddress: "ADA@example.com"))
            #expect(found.userRecordID == ada && found.hasiCloudAccount && found.nameComponents == nil)
            #expect(found.lookupInfo?.emailAddress == "ADA@example.com")
            #expect(try await bob.container.publicCloudDatabase.record(for: try #require(found.userRecordID)).recordType == "Users")
            let several = try await bob.container.userIdentities(forEmailAddresses: [Device.ada, Self.bob, "nobody@example.com"])
            #expect(several.mapValues(\.userRecordID) == [Device.ada: ada])
            let own = try await bob.container.userRecordID()
            #expect(try await bob.container.userIdentities(forUserRecordIDs: [ada, own]).mapValues(\.userRecordID) == [ada: ada])
            #expect(try await bob.container.userIdentity(forPhoneNumber: "+44 20") == nil)
            #expect(try await bob.container.allUserIdentitiesFromContacts().isEmpty)
            // A device without an account token finds nobody.
            let nobody = try Device(cloud, token: nil)
            let refused = await #expect(throws: CKError.self) { _ = try await nobody.container.userIdentity(forEmailAddress: Device.ada) }
            #expect(refused?.code == .notAuthenticated)
            // In another container the same two users cannot find each other.
            let other = try await NewCloud(cloud.server, container: "iCloud.dev.nacre.other")
            let elsewhere = try await Device(of: Device.ada, other)
            #expect(try await elsewhere.container.applicationPermissionStatus(for: .userDiscoverability) == .initialState)
            #expect(try await Device(of: Self.bob, other).container.userIdentity(forEmailAddress: Device.ada) == nil)
        }
    }

    @Test func `a no is kept, over a restart too`() async throws {
        try await Device.pair { a, b, cloud in
            try await cloud.addUser(Self.bob)
            let bob = try await Device(of: Self.bob, cloud)
            #expect(try await ask(a, answer: false) == .denied)
            #expect(try await cloud.server.stop() == 0)
            try await cloud.server.start()
            #expect(try await ask(b, answer: true) == .denied)
            #expect(try await ask(bob, answer: true) == .granted)
            let operation = CKDiscoverUserIdentitiesOperation(
                userIdentityLookupInfos: CKUserIdentity.LookupInfo.lookupInfos(withEmails: [Device.ada, Self.bob]))
            let found = Locked<[String]>([])
            operation.userIdentityDiscoveredBlock = { _, info in found.withLock { $0.append(info.emailAddress ?? "") } }
            let end: Result<Void, any Error> = await withCheckedContinuation { continuation in
                operation.discoverUserIdentitiesResultBlock = { continuation.resume(returning: $0) }
                a.container.add(operation)
            }
            try end.get()
            #expect(found.withLock { $0 } == [Self.bob])
        }
    }
}
