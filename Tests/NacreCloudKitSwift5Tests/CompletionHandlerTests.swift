import CloudKit
import Testing

struct CompletionHandlerTests {
    @Test func `a handler that keeps an object of the app's own is called`() async throws {
        let server = CloudKitServer(url: try #require(URL(string: "http://127.0.0.1:1")), apiToken: "a")
        let model = Model(CKContainer(identifier: "iCloud.swift5", server: server))
        await withCheckedContinuation { continuation in model.account { continuation.resume() } }
        // Without an account token no request is sent.
        #expect(model.names == ["\(CKAccountStatus.noAccount.rawValue)"])
        #expect((model.error as? CKError)?.code == .notAuthenticated)
    }
}
