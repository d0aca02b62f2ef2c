import Foundation
import NacreCloudWire
import Testing

@testable import CloudKit

/// Who the app is to the server.
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
}
