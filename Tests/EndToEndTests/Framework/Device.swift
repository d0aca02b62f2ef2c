import CloudKit
import Foundation

/// One device: a container of the framework with an account token of its own, or without an account.
struct Device: Sendable {
    let container: CKContainer
    var database: CKDatabase { container.privateCloudDatabase }

    init(_ cloud: NewCloud, token: String?, through url: String? = nil) {
        let server = CloudKitServer(
            url: URL(string: url ?? cloud.server.url) ?? URL(filePath: "/"), environment: .development, apiToken: cloud.apiToken,
            accountToken: token)
        container = CKContainer(identifier: cloud.container, server: server)
    }

    /// Signs a user in on a new device.
    init(of email: String, _ cloud: NewCloud) async throws {
        self.init(cloud, token: try await cloud.device(of: email))
    }
}
