import Foundation
import NacreCloudWire
import NacreLocks
import Testing

@testable import CloudKit

/// Tests of user lookups, and of the data that they send.
@Suite struct DiscoveryTests {
    private static let ada = "ada@example.com"
    /// HMAC-SHA256 of "email:ada@example.com" under the bytes 1, 2, 3, by another program.
    private static let adasHash = "e880a80856d5736ac8297ce50540e45406be3531945a077f4e2fdb98885275e3"
    private static let lovelace = UserIdentity(
        userRecordName: "_ada", nameComponents: NameComponents(givenName: "Ada", familyName: "Lovelace"))

    private func setting() async -> Setting {
        let setting = Setting()
        await setting.cloud.makeDiscoverable(Self.lovelace, by: .contactHash(Self.adasHash), .userRecordName("_ada"))
        return setting
    }

    @Test func `an address is hashed under the container's key, and never leaves the app as it is`() async throws {
        let setting = await setting()
        let found = try #require(try await setting.container.userIdentity(forEmailAddress: "Ada@Example.com"))
        #expect(found.userRecordID?.recordName == "_ada" && found.hasiCloudAccount && found.contactIdentifiers.isEmpty)
        #expect(found.nameComponents?.givenName == "Ada" && found.nameComponents?.familyName == "Lovelace")
        #expect(found.lookupInfo == CKUserIdentity.LookupInfo(emailAddress: "Ada@Example.com"))
        #expect(try await setting.container.userIdentity(forEmailAddress: "nobody@example.com") == nil)
        #expect(await setting.cloud.paths == ["users/contact-key", "users/discover", "users/discover"])
        for seen in await setting.cloud.seen {
            let sent = (seen.request.url.absoluteString + String(decoding: seen.request.body, as: UTF8.self)).lowercased()
            #expect(!sent.contains("example") && !sent.contains("%40") && !sent.contains("@"))
            #expect(seen.request.url.path.contains("/public/users/"))
        }
        #expect(try await setting.cloud.discoveries().first?.lookupInfos == [.contactHash(Self.adasHash)])
    }

    @Test func `several are asked for together, each once, and told by what the app called them`() async throws {
        let setting = await setting()
        let emails = [Self.ada, "ADA@example.com", Self.ada, "nobody@example.com"]
        let found = try await setting.container.userIdentities(forEmailAddresses: emails)
        #expect(found.mapValues { $0.userRecordID?.recordName } == [Self.ada: "_ada", "ADA@example.com": "_ada"])
        #expect(try await setting.cloud.discoveries().map(\.lookupInfos.count) == [2])
        let ids = ["_ada", "_none"].map { CKRecord.ID(recordName: $0) }
        #expect(Array(try await setting.container.userIdentities(forUserRecordIDs: ids).keys) == [ids[0]])
        #expect(try await setting.container.userIdentity(forUserRecordID: ids[1]) == nil)
    }

    @Test func `what one request may not hold goes in several`() async throws {
        let setting = await setting()
        let infos = (0..<800).map { CKUserIdentity.LookupInfo(userRecordID: CKRecord.ID(recordName: "_\($0)")) }
        let operation = CKDiscoverUserIdentitiesOperation(
            userIdentityLookupInfos: infos + [CKUserIdentity.LookupInfo(userRecordID: CKRecord.ID(recordName: "_ada"))])
        let told = Diary()
        operation.userIdentityDiscoveredBlock = { told.note("\($0.userRecordID?.recordName ?? "") by \($1.userRecordID?.recordName ?? "")") }
        operation.discoverUserIdentitiesResultBlock = { told.note($0.word) }
        operation.discoverUserIdentitiesCompletionBlock = { _ in told.note("the old block") }
        await setting.run(operation)
        #expect(told.entries == ["_ada by _ada", "ok"])
        #expect(try await setting.cloud.discoveries().map(\.lookupInfos.count) == [400, 400, 1])
    }

    @Test func `a phone number leaves the app hashed, however it is written`() async throws {
        let setting = await setting()
        let numbers = ["+49 30 1234567", "0049301234567"]
        #expect(try await setting.container.userIdentities(forPhoneNumbers: numbers).isEmpty)
        let asked = try #require(try await setting.cloud.discoveries().first?.lookupInfos)
        guard asked.count == 1, case .contactHash? = asked.first else {
            Issue.record("\(asked)")
            return
        }
        for seen in await setting.cloud.seen {
            #expect(!(seen.request.url.absoluteString + String(decoding: seen.request.body, as: UTF8.self)).contains("1234567"))
        }
        await setting.cloud.makeDiscoverable(UserIdentity(userRecordName: "_ada"), by: asked[0])
        let found = try await setting.container.userIdentities(forPhoneNumbers: numbers)
        #expect(found.mapValues { $0.userRecordID?.recordName } == [numbers[0]: "_ada", numbers[1]: "_ada"])
    }

    @Test func `a phone number without its country is nobody's and is not sent, and nothing is asked for nothing`() async throws {
        let setting = await setting()
        #expect(try await setting.container.userIdentity(forPhoneNumber: "+44 20") == nil)
        #expect(try await setting.container.userIdentities(forPhoneNumbers: ["1", "2"]).isEmpty)
        #expect(try await setting.container.userIdentities(forEmailAddresses: []).isEmpty)
        #expect(await setting.cloud.paths == [])
    }

    @Test func `the current user's name stands for theirs`() async throws {
        let setting = await setting()
        await setting.cloud.makeDiscoverable(UserIdentity(userRecordName: "_alice"), by: .userRecordName("_alice"))
        let me = CKRecord.ID(recordName: CKCurrentUserDefaultName)
        let found = try #require(try await setting.container.userIdentity(forUserRecordID: me))
        #expect(found.userRecordID?.recordName == "_alice" && found.lookupInfo?.userRecordID == me && found.nameComponents == nil)
    }

    @Test func `the address book is empty`() async throws {
        let setting = await setting()
        #expect(try await setting.container.allUserIdentitiesFromContacts().isEmpty)
        let operation = CKDiscoverAllUserIdentitiesOperation()
        let told = Diary()
        operation.userIdentityDiscoveredBlock = { _ in told.note("somebody") }
        operation.discoverAllUserIdentitiesCompletionBlock = { told.note($0 == nil ? "ok" : "failed") }
        await setting.run(operation)
        #expect(told.entries == ["ok"])
        let identities = await withCheckedContinuation { continuation in
            setting.container.discoverAllIdentities { identities, _ in continuation.resume(returning: identities?.count) }
        }
        #expect(identities == 0)
        #expect(await setting.cloud.seen.map(\.request.method) == [.get, .get, .get])
    }

    @Test func `without an account nobody is discovered, and nothing is asked`() async throws {
        let setting = Setting(accountToken: nil)
        let container = setting.container
        for attempt in [
            await thrown { try await container.userIdentity(forEmailAddress: Self.ada) },
            await thrown { try await container.userIdentities(forPhoneNumbers: ["1"]) },
            await thrown { try await container.allUserIdentitiesFromContacts() },
            await thrown { try await container.applicationPermissionStatus(for: .userDiscoverability) },
            await thrown { try await container.requestApplicationPermission(.userDiscoverability) },
        ] { #expect(attempt?.code == .notAuthenticated) }
        let (status, error) = await withCheckedContinuation { continuation in
            container.status(forApplicationPermission: .userDiscoverability) { continuation.resume(returning: ($0, $1 as? CKError)) }
        }
        #expect(status == .couldNotComplete && error?.code == .notAuthenticated)
        #expect(await setting.cloud.paths == [])
    }

    @Test func `what the server refuses ends the operation, in either style`() async throws {
        let setting = await setting()
        let refusal = PretendCloud.refusal(ServerError(.throttled, "too many requests", retryAfter: 7))
        for isOld in [true, false] {
            await setting.cloud.failNext(.answer(status: refusal.status, headers: [:], body: refusal.body))
            let operation = CKDiscoverUserIdentitiesOperation()
            operation.userIdentityLookupInfos = CKUserIdentity.LookupInfo.lookupInfos(with: [CKRecord.ID(recordName: "_ada")])
            let told = Diary()
            if isOld {
                operation.discoverUserIdentitiesCompletionBlock = { told.note("\(($0 as? CKError)?.retryAfterSeconds ?? 0)") }
            } else {
                operation.discoverUserIdentitiesResultBlock = { told.note($0.word) }
            }
            await setting.run(operation)
            #expect(told.entries == [isOld ? "7.0" : "requestRateLimited"])
        }
        await setting.cloud.failNext(.notSent)
        let found = await withCheckedContinuation { continuation in
            setting.container.discoverUserIdentity(withEmailAddress: Self.ada) { continuation.resume(returning: ($0, ($1 as? CKError)?.code)) }
        }
        #expect(found.0 == nil && found.1 == .networkUnavailable)
        // A user who was not asked for.
        await setting.cloud.answerDiscovery(UsersDiscoverResponse(users: [UserIdentity(userRecordName: "_x", lookupInfo: .userRecordName("_x"))]))
        #expect(await thrown { try await setting.container.userIdentity(forUserRecordID: CKRecord.ID(recordName: "_y")) }?.code == .internalError)
    }

    @Test func `identities and lookup infos compare and come back from archives`() throws {
        let id = CKRecord.ID(recordName: "_ada")
        let infos =
            CKUserIdentity.LookupInfo.lookupInfos(withEmails: [Self.ada, Self.ada])
            + CKUserIdentity.LookupInfo.lookupInfos(withPhoneNumbers: [Self.ada]) + CKUserIdentity.LookupInfo.lookupInfos(with: [id])
        #expect(infos[0] == infos[1] && infos[0] != infos[2] && Set(infos).count == 3)
        #expect(infos.map(\.emailAddress) == [Self.ada, Self.ada, nil, nil] && infos.map(\.phoneNumber) == [nil, nil, Self.ada, nil])
        #expect(infos.map(\.userRecordID) == [nil, nil, nil, id])
        for info in infos {
            let data = try NSKeyedArchiver.archivedData(withRootObject: info, requiringSecureCoding: true)
            #expect(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKUserIdentity.LookupInfo.self, from: data) == info)
        }
        for identity in [
            CKUserIdentity(wire: Self.lovelace, lookupInfo: infos[0]),
            CKUserIdentity(userRecordID: nil, lookupInfo: nil, nameComponents: nil, hasiCloudAccount: false),
        ] {
            let data = try NSKeyedArchiver.archivedData(withRootObject: identity, requiringSecureCoding: true)
            let back = try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKUserIdentity.self, from: data))
            #expect(back.userRecordID == identity.userRecordID && back.lookupInfo == identity.lookupInfo)
            #expect(back.nameComponents == identity.nameComponents && back.hasiCloudAccount == identity.hasiCloudAccount)
        }
    }
}

/// Tests of the permission, whose prompt is shared by all containers of one name.
@Suite(.serialized) struct PermissionTests {
    private func asking<Value>(
        _ answer: Bool?, asked: Diary = Diary(), _ body: () async throws -> Value
    ) async throws -> Value {
        if let answer {
            CloudKitServer.setPermissionPrompt(
                { permission, container in
                    asked.note("\(permission.rawValue) \(container)")
                    return answer
                }, forContainer: "iCloud.test")
        }
        defer { CloudKitServer.setPermissionPrompt(nil, forContainer: "iCloud.test") }
        return try await body()
    }

    @Test(arguments: [(true, CKContainer.ApplicationPermissionStatus.granted), (false, .denied)])
    func `the user is asked once, and the answer is kept for all devices`(
        answer: Bool, status: CKContainer.ApplicationPermissionStatus
    ) async throws {
        let setting = Setting()
        let asked = Diary()
        #expect(try await setting.container.applicationPermissionStatus(for: .userDiscoverability) == .initialState)
        for _ in 0..<2 {
            let answered = try await asking(answer, asked: asked) {
                try await setting.container.requestApplicationPermission(.userDiscoverability)
            }
            #expect(answered == status)
        }
        #expect(asked.entries == ["1 iCloud.test"])
        #expect(try await setting.container.applicationPermissionStatus(for: [.userDiscoverability]) == status)
        // The answer does not depend on later prompts.
        let later = try await asking(!answer) { try await setting.container.requestApplicationPermission(.userDiscoverability) }
        #expect(later == status)
    }

    @Test func `where nothing asks the user nothing is permitted, and the error says what to do`() async throws {
        let setting = Setting()
        let error = try await asking(nil) { await thrown { try await setting.container.requestApplicationPermission(.userDiscoverability) } }
        #expect(error?.code == .permissionFailure && error.map { "\($0)" }?.contains("setPermissionPrompt") == true)
        let (status, told) = await withCheckedContinuation { continuation in
            setting.container.requestApplicationPermission(.userDiscoverability) { continuation.resume(returning: ($0, $1)) }
        }
        #expect(status == .couldNotComplete && told != nil)
        #expect(try await setting.container.applicationPermissionStatus(for: .userDiscoverability) == .initialState)
        #expect(await setting.cloud.seen.allSatisfy { $0.request.method == .get })
    }

    @Test func `there is one permission`() async throws {
        let setting = Setting()
        for permission in [[], CKContainer.ApplicationPermissions(rawValue: 2), CKContainer.ApplicationPermissions(rawValue: 3)] {
            let error = await thrown { try await setting.container.applicationPermissionStatus(for: permission) }
            #expect(error?.code == .invalidArguments)
        }
        #expect(CKContainer.ApplicationPermissions.userDiscoverability.rawValue == 1)
        #expect(await setting.cloud.paths == [])
    }
}
