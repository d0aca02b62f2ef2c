package import NacreCloudAccounts
import NacreCloudStorage
package import NacreCloudWire

/// Checks that a caller may ask for a web auth token under a database.
///
/// CloudKit: `CKFetchWebAuthTokenOperation` runs on the private database. On this server: a web session gets none,
/// because it would survive under another API token when its own is revoked.
package func webAuthTokenVerdict(_ target: DatabaseTarget, by caller: Caller) -> ServerError? {
    if case .failure(let fault) = databaseVerdict(target, for: .write, by: caller) { return fault }
    return target.scope == .private ? nil : .webAuthTokensAreInPrivateDatabase
}

extension Cloud {
    /// Answers `users/web-auth-token`: the session of the caller's device under an API token.
    /// - Parameter entry: The API token's entry in the target's container and environment; nil: it has none there.
    package func session(
        under apiToken: String, _ entry: APITokenEntry?, in target: DatabaseTarget, by caller: Caller
    ) async throws -> SessionEntry {
        if let fault = webAuthTokenVerdict(target, by: caller) { throw fault }
        guard case .device(let device, let account) = caller.credential, let user = caller.userRecordName else {
            throw ServerError.webAuthTokensAreForDevices
        }
        guard let entry else { throw ServerError.unknownAPIToken }
        return try await registry.session(ofDevice: device, of: account, as: user, apiToken: apiToken, entry: entry)
    }
}

extension ServerError {
    static let webAuthTokensAreInPrivateDatabase = ServerError(
        .badRequest, "endpoint not applicable in this database type", native: .badDatabase,
        remedy: "Ask for web auth tokens under the private database.")

    static let webAuthTokensAreForDevices = ServerError(
        .accessDenied, "a web auth token is given to a device",
        remedy: "Ask with an account token; on the web a user signs in on the page at redirectURL.")

    static let unknownAPIToken = ServerError(
        .badRequest, "no such API token in this container and environment", field: "apiToken", remedy: "Name one that nacre token list shows.")
}
