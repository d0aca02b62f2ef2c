import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudWire
import NacreHTTPServer

/// The sessions and devices of accounts.
extension AdminAPI {
    /// `GET /admin/1/sessions?email=…&after=…`
    @Sendable func listSessions(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        guard let email = request.query("email") else { throw ServerError.missingQuery("email") }
        let account = try await account(email)
        let after = try request.query("after").map(SignIn.Position.init(text:))
        let (page, next) = try await cloud.registry.signIns(of: account.id, in: nil, after: after)
        return try answer(AccountMessages.Sessions(sessions: page.map { AccountMessages.Session($0) }, next: next?.text))
    }

    /// `POST /admin/1/sessions/revoke`
    @Sendable func revokeSession(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        let asked = try await body(AdminMessages.NewSessionEnd.self, of: request)
        let account = try await account(asked.email)
        // Done even after an error, which leaves open whether sign-ins ended.
        defer { authenticator.forget(account: account.id) }
        switch (asked.id, asked.all ?? false) {
        case (let id?, false):
            _ = try await cloud.registry.endSignIn(id, of: account.id, in: nil)
            return try answer(AccountMessages.SessionsEnded(count: 1))
        case (nil, true):
            return try answer(AccountMessages.SessionsEnded(count: try await cloud.registry.endSignIns(of: account.id, in: nil)))
        default:
            throw ServerError(.badRequest, "say which session", field: "id", remedy: "Give the ID of one session or device, or all: true.")
        }
    }
}
