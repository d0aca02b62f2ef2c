import Foundation
import NacreLocks
import Testing

@testable import CloudKit

/// Tests of when `CKAccountChanged` is posted.
struct AccountWatchTests {
    private static func settings(_ token: String) throws -> ServerSettings {
        let url = try #require(URL(string: "http://127.0.0.1:1"))
        let server = CloudKitServer(url: url, environment: .development, apiToken: "api", accountToken: token)
        return try ServerSettings(container: "c", layers: [SettingsLayer(server)])
    }

    @Test(
        arguments: [
            // The first answer shows the status, which was unknown before.
            ([nil], 0), ([.notAuthenticated], 0), ([nil, nil], 0),
            ([nil, .accountTemporarilyUnavailable], 1), ([nil, .accountTemporarilyUnavailable, .accountTemporarilyUnavailable, nil], 2),
            ([nil, .managedAccountRestricted, nil], 2), ([.notAuthenticated, nil], 1),
            // A request for records does not tell a restricted account from none.
            ([nil, .managedAccountRestricted, .notAuthenticated, nil], 2), ([.notAuthenticated, .managedAccountRestricted], 1),
            // Errors that say nothing about the account.
            ([nil, .networkFailure, .serviceUnavailable, .unknownItem, nil], 0),
        ] as [([CKError.Code?], Int)])
    func `an answer that shows another status is told, and one that shows the same is not`(answers: [CKError.Code?], count: Int) throws {
        let told = Locked(0)
        let watch = AccountWatch { told.withLock { $0 += 1 } }
        let settings = try Self.settings("one")
        for answer in answers { watch.heard(answer.map { CKError($0) }, with: settings) }
        #expect(told.withLock { $0 } == count)
    }

    @Test func `another account's answer is no change of this one's`() throws {
        let told = Locked(0)
        let watch = AccountWatch { told.withLock { $0 += 1 } }
        watch.heard(nil, with: try Self.settings("one"))
        watch.heard(CKError(.notAuthenticated), with: try Self.settings("two"))
        #expect(told.withLock { $0 } == 0)
        watch.heard(nil, with: try Self.settings("two"))
        #expect(told.withLock { $0 } == 1)
    }
}
