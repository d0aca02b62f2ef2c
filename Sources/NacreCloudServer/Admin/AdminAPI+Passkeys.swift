import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudWire
import NacreHTTPServer

/// The passkeys of accounts.
extension AdminAPI {
    /// `GET /admin/1/users/passkeys?email=…`
    @Sendable func listPasskeys(_ request: HTTPRequest, _: RouteParameters) async throws
        -> HTTPResponse
    {
        guard let email = request.query("email") else { throw ServerError.missingQuery("email") }
        let found = try await cloud.registry.passkeys(of: try await account(email).id)
        return try answer(
            AccountMessages.Passkeys(passkeys: found.map { AccountMessages.Passkey($0) }))
    }

    /// `POST /admin/1/users/passkeys/remove`
    @Sendable func removePasskey(_ request: HTTPRequest, _: RouteParameters) async throws
        -> HTTPResponse
    {
        let asked = try await body(AdminMessages.NewPasskeyRemoval.self, of: request)
        let removed = try await cloud.registry.removePasskey(
            asked.id, of: try await account(asked.email).id)
        return try answer(AccountMessages.Passkey(removed))
    }
}
