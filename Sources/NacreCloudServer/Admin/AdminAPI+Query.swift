import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire
import NacreHTTPServer

extension AdminAPI {
    /// `POST /admin/1/query/explain`
    @Sendable func explainQuery(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        let asked = try await body(AdminMessages.NewExplanation.self, of: request)
        let environment = try Self.environment(asked.environment)
        try await cloud.registry.requireContainer(asked.container)
        let query = try RecordsQueryRequest(json: Array(asked.request.utf8))
        let scope: DatabaseKey.Scope
        let caller: Caller
        switch asked.database {
        case "public": (scope, caller) = (.public, .administrator)
        case "private": (scope, caller) = (.private, Caller(.user(try await userRecordName(asked.user, in: asked.container, environment))))
        default: throw ServerError(.badRequest, "unknown database", field: "database", remedy: "Take public or private.")
        }
        let target = DatabaseTarget(container: asked.container, environment: environment, scope: scope)
        return try answer(AdminMessages.Explanation(lines: try await cloud.explainQuery(query, in: target, by: caller).lines))
    }

    /// The user with this e-mail address, or with this user record name.
    func userRecordName(_ user: String?, in container: String, _ environment: DatabaseKey.Environment) async throws -> String {
        guard let user else { throw ServerError(.badRequest, "missing required field", field: "user", remedy: "Say which user: --user.") }
        guard user.contains("@") else { return user }
        guard let account = try await cloud.registry.account(email: user) else {
            throw ServerError(.notFound, "no such account", field: "user", remedy: "Give the address of an account, or a user record name.")
        }
        return try await cloud.admit(account: account.id, to: container, environment)
    }
}
