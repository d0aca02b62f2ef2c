import Foundation
import NacreCloudWire
import NacreLocks
import Testing

@testable import CloudKit

/// Tests of the app's identity on the server.
@Suite struct AccountTests {
    private func answer(_ setting: Setting, _ error: ServerError) async {
        let refusal = PretendCloud.refusal(error)
        await setting.cloud.failNext(.answer(status: refusal.status, headers: [:], body: refusal.body))
    }

    @Test func `an account that the server knows is available, and has a user record`() async throws {
        let setting = Setting()
        #expect(try await setting.container.accountStatus() == .available)
        #expect(try await setting.container.userRecordID() == CKRecord.ID(recordName: "_alice"))
        #expect(await setting.cloud.seen.allSatisfy { $0.request.url.path.hasSuffix("/public/users/caller") })
    }

    @Test func `without a token there is no account, and nothing is asked`() async throws {
        let setting = Setting(accountToken: nil)
        #expect(try await setting.container.accountStatus() == .noAccount)
        let error = await thrown { try await setting.container.userRecordID() }
        #expect(error?.code == .notAuthenticated && error?.internalCode == 1002)
        #expect(error?.localizedDescription == "This request requires an authenticated account")
        let save = await thrown { try await setting.database.save(CKRecord(recordType: "Note")) }
        #expect(save?.code == .notAuthenticated)
        #expect(await setting.cloud.paths == [])
    }

    @Test func `without a token the public database is still asked`() async throws {
        let setting = Setting(accountToken: nil)
        let error = await thrown { try await setting.container.publicCloudDatabase.record(for: CKRecord.ID(recordName: "a")) }
        #expect(error?.code == .unknownItem)
        let headers = try #require(await setting.cloud.seen.first?.request.headers)
        #expect(headers["Authorization"] == nil)
    }

    @Test(arguments: [
        (ServerError(.authenticationFailed, "refused"), CKAccountStatus.noAccount),
        (ServerError(.authenticationRequired, "refused"), .noAccount),
        (ServerError(.accessDenied, "refused", native: .managedAccountRestricted), .restricted),
        (ServerError(.tryAgainLater, "not ready", native: .accountTemporarilyUnavailable), .temporarilyUnavailable),
    ])
    func `a refusal is a status`(error: ServerError, status: CKAccountStatus) async throws {
        let setting = Setting()
        await answer(setting, error)
        #expect(try await setting.container.accountStatus() == status)
    }

    @Test func `a server that cannot be reached leaves the status undetermined, with the error`() async throws {
        let setting = Setting()
        await setting.cloud.failNext(.notSent)
        let (status, error) = await withCheckedContinuation { continuation in
            setting.container.accountStatus { continuation.resume(returning: ($0, $1 as? CKError)) }
        }
        #expect(status == .couldNotDetermine && error?.code == .networkUnavailable)
        await setting.cloud.failNext(.notSent)
        #expect(await thrown { try await setting.container.accountStatus() }?.code == .networkUnavailable)
    }

    @Test func `the completion handler gets the user's record ID`() async {
        let setting = Setting()
        let id = await withCheckedContinuation { continuation in
            setting.container.fetchUserRecordID { id, _ in continuation.resume(returning: id) }
        }
        #expect(id?.recordName == "_alice")
    }

    @Test func `the name of the user is asked for once, and again for another account`() async throws {
        let setting = Setting(isKnown: false)
        let saved = try await setting.database.save(CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "a")))
        #expect(saved.creatorUserRecordID?.recordName == CKCurrentUserDefaultName)
        #expect(saved.lastModifiedUserRecordID?.recordName == "__defaultOwner__")
        _ = try await setting.container.publicCloudDatabase.record(for: saved.recordID)
        #expect(await setting.cloud.paths == ["users/caller", "records/modify", "records/lookup"])
        setting.container.line.knownUser.withLock { $0?.settings.accountToken = "another" }
        _ = try await setting.database.record(for: saved.recordID)
        #expect(await setting.cloud.paths.suffix(2) == ["users/caller", "records/lookup"])
        let nobody = Setting(accountToken: nil)
        _ = await thrown { try await nobody.container.publicCloudDatabase.record(for: saved.recordID) }
        #expect(await nobody.cloud.paths == ["records/lookup"])
    }

    @Test func `where the name of the user cannot be had, nothing is sent`() async throws {
        let setting = Setting(isKnown: false)
        await setting.cloud.failNext(.notSent)
        let error = await thrown { try await setting.database.save(CKRecord(recordType: "Note")) }
        #expect(error?.code == .networkUnavailable)
        #expect(await setting.cloud.paths == ["users/caller"])
    }

    @Test func `an archive keeps whose record it is, and a conflict shows it in the server's version`() async throws {
        let setting = Setting()
        let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "a"))
        try await setting.database.save(record)
        let data = try NSKeyedArchiver.archivedData(withRootObject: record, requiringSecureCoding: true)
        let back = try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKRecord.self, from: data))
        #expect(back.creatorUserRecordID?.recordName == CKCurrentUserDefaultName)
        record["a"] = 1
        try await setting.database.save(record)
        back["a"] = 2
        let conflict = await thrown { try await setting.database.save(back) }
        #expect(conflict?.serverRecord?.lastModifiedUserRecordID?.recordName == CKCurrentUserDefaultName)
    }
}
