import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudServerWire
import NacreCloudStorage
import NacreCloudWire
import NacreHTTPServer

extension AdminAPI {
    /// `POST /admin/1/query/explain`
    @Sendable func explainQuery(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        let asked = try await body(AdminMessages.NewExplanation.self, of: request)
        let (target, caller) = try await reader(asked.container, environment: asked.environment, database: asked.database, user: asked.user)
        let query = try RecordsQueryRequest(json: Array(asked.request.utf8))
        let found = try await cloud.explainQuery(query, in: target, by: caller)
        return try answer(
            AdminMessages.Explanation(
                lines: found.lines, answer: asked.showsRecords == true ? Self.text(found.answer, numbersAsStrings: query.numbersAsStrings) : nil))
    }

    /// `POST /admin/1/records/lookup`
    @Sendable func lookupRecords(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        let asked = try await body(AdminMessages.NewLookup.self, of: request)
        let (target, caller) = try await reader(asked.container, environment: asked.environment, database: asked.database, user: asked.user)
        let lookup = try RecordsLookupRequest(json: Array(asked.request.utf8))
        let found = try await cloud.lookupAnswer(lookup, in: target, by: caller)
        return try answer(AdminMessages.Lookup(answer: Self.text(found, numbersAsStrings: lookup.numbersAsStrings)))
    }

    /// Returns the JSON of an answer, without this server's details.
    private static func text(_ answer: some RecordAnswerMessage, numbersAsStrings: Bool) -> String {
        String(decoding: answer.json(AnswerForm(numbersAsStrings: numbersAsStrings)), as: UTF8.self)
    }

    /// Returns the database that a request reads, and the caller as whom: an administrator, or the database's owner.
    private func reader(
        _ container: String, environment: String, database: String, user: String?
    ) async throws -> (DatabaseTarget, Caller) {
        let environment = try Self.environment(environment)
        try await cloud.registry.requireContainer(container)
        let scope: DatabaseKey.Scope
        let caller: Caller
        switch database {
        case "public": (scope, caller) = (.public, .administrator)
        case "private": (scope, caller) = (.private, Caller(.user(try await userRecordName(user, in: container, environment))))
        default: throw ServerError(.badRequest, "unknown database", field: "database", remedy: "Take public or private.")
        }
        return (DatabaseTarget(container: container, environment: environment, scope: scope), caller)
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
