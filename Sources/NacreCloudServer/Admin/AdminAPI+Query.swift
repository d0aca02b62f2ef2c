import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudServerWire
import NacreCloudStorage
import NacreCloudWire
import NacreCrypto
import NacreHTTPServer

/// Requests of the Web Services API that an administrator sends to databases.
extension AdminAPI {
    func addDatabaseRoutes(to router: inout Router) {
        router.post("/admin/1/query/explain", bodyBytesMax: Limits.accountBodyBytes, explainQuery)
        router.post("/admin/1/records/lookup", bodyBytesMax: Limits.accountBodyBytes, lookupRecords)
        router.post("/admin/1/records/modify", bodyBytesMax: Self.changeBodyBytes, modifyRecords)
        router.post("/admin/1/zones/list", bodyBytesMax: Limits.accountBodyBytes, listZones)
        router.post("/admin/1/zones/changes", bodyBytesMax: Limits.accountBodyBytes, listChanges)
    }

    /// `POST /admin/1/query/explain`
    @Sendable func explainQuery(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        let asked = try await body(AdminMessages.NewExplanation.self, of: request)
        let (target, caller) = try await reader(asked.container, environment: asked.environment, database: asked.database, user: asked.user)
        let query = try RecordsQueryRequest(json: Array(asked.request.utf8))
        let found = try await cloud.explainQuery(query, in: target, by: caller, for: asked.withoutIndexes == true ? .browsing : .search)
        return try answer(
            AdminMessages.Explanation(
                lines: found.lines, answer: asked.showsRecords == true ? Self.text(found.answer, numbersAsStrings: query.numbersAsStrings) : nil))
    }

    /// `POST /admin/1/records/lookup`
    @Sendable func lookupRecords(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        try await answer(request) { asked, target, caller in
            let lookup = try RecordsLookupRequest(json: asked)
            return Self.text(try await cloud.lookupAnswer(lookup, in: target, by: caller), numbersAsStrings: lookup.numbersAsStrings)
        }
    }

    /// `POST /admin/1/records/modify`: past all grants, in the name of a user.
    @Sendable func modifyRecords(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        try await answer(request, bytesMax: Self.changeBodyBytes, admitting: true) { asked, target, caller in
            try await requireAuthor(caller, of: target)
            let change = try RecordsModifyRequest(json: asked)
            try Self.requireNoShare(change, in: target)
            let saved = try await cloud.modifyRecords(change, in: target, by: caller, digest: SHA256.digest(asked))
            return Self.text(saved, numbersAsStrings: change.numbersAsStrings)
        }
    }

    /// Checks that a change shares nothing of a user's in production, where users alone let others see their data. A
    /// record below a shared one is shared too, so that none gets a parent.
    private static func requireNoShare(_ request: RecordsModifyRequest, in target: DatabaseTarget) throws {
        guard target.environment == .production else { return }
        let changes = request.operations.compactMap { try? $0.get().change }
        let shares = changes.contains { change in
            if case .set = change.parent, target.scope != .public { return true }
            return change.sharing != nil || change.recordType == ShareNames.recordType
        }
        guard !shares else { throw ServerError.actsInDevelopment }
    }

    /// Checks that a change is made in the name of a user who exists. A made-up name would get a database that no end
    /// of an account removes, and records without a creator.
    func requireAuthor(_ caller: Caller, of target: DatabaseTarget) async throws {
        guard let user = caller.userRecordName else {
            throw ServerError(
                .badRequest, "missing required field", field: "user", remedy: "Say in whose name the public database is changed.")
        }
        try await requireUser(user, in: target.container, target.environment)
    }

    /// `POST /admin/1/zones/list`
    @Sendable func listZones(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        try await answer(request) { asked, target, caller in
            _ = try ZonesListRequest(json: asked)
            return String(decoding: try await cloud.listZones(in: target, by: caller).json(AnswerForm()), as: UTF8.self)
        }
    }

    /// `POST /admin/1/zones/changes`
    @Sendable func listChanges(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        try await answer(request) { asked, target, caller in
            let changes = try ChangesZoneRequest(json: asked)
            let response = try await cloud.zoneChanges(changes, in: target, by: caller)
            return Self.text(ChangesZoneAnswer(response: response, zones: changes.zones), numbersAsStrings: false)
        }
    }

    /// Bytes of a body that holds a `records/modify`, whose quotation marks are escaped.
    private static let changeBodyBytes = Limits.accountBodyBytes + 2 * Limits.bodyBytes

    /// Answers a request of the Web Services API that an administrator sends to a database.
    private func answer(
        _ request: HTTPRequest, bytesMax: Int = Limits.accountBodyBytes, admitting: Bool = false,
        _ body: (_ asked: [UInt8], DatabaseTarget, Caller) async throws -> String
    ) async throws -> HTTPResponse {
        let asked = try await self.body(AdminMessages.NewDatabaseRequest.self, of: request, bytesMax: bytesMax)
        let (target, caller) = try await reader(
            asked.container, environment: asked.environment, database: asked.database, user: asked.user, admitting: admitting)
        return try answer(AdminMessages.DatabaseAnswer(answer: try await body(Array(asked.request.utf8), target, caller)))
    }

    /// Returns the JSON of an answer, without this server's details.
    private static func text(_ answer: some RecordAnswerMessage, numbersAsStrings: Bool) -> String {
        String(decoding: answer.json(AnswerForm(numbersAsStrings: numbersAsStrings)), as: UTF8.self)
    }

    /// Returns the database of a request, and the caller as whom it is asked: the user of a private or shared database;
    /// in the public database an administrator, in the name of `user` if there is one.
    func reader(
        _ container: String, environment: String, database: String, user: String?, admitting: Bool = false
    ) async throws -> (DatabaseTarget, Caller) {
        let environment = try Self.environment(environment)
        try await cloud.registry.requireContainer(container)
        let scope: DatabaseKey.Scope
        var caller = Caller.administrator
        if user != nil || database != "public" {
            caller = Caller(.user(try await userRecordName(user, in: container, environment, admitting: admitting)))
        }
        switch database {
        case "public": (scope, caller.isAdministrator) = (.public, true)
        case "private": scope = .private
        case "shared": scope = .shared
        default: throw ServerError(.badRequest, "unknown database", field: "database", remedy: "Take public, private or shared.")
        }
        return (DatabaseTarget(container: container, environment: environment, scope: scope), caller)
    }

    /// The user with this e-mail address, or with this user record name.
    /// - Parameter admitting: Whether an account without a name here gets one, as a sign-in gives it. Looks give none.
    func userRecordName(
        _ user: String?, in container: String, _ environment: DatabaseKey.Environment, admitting: Bool = false
    ) async throws -> String {
        guard let user else { throw ServerError(.badRequest, "missing required field", field: "user", remedy: "Say which user: --user.") }
        guard user.contains("@") else { return user }
        guard let account = try await cloud.registry.account(email: user) else {
            throw ServerError(.notFound, "no such account", field: "user", remedy: "Give an address of nacre user list, or a user record name.")
        }
        if admitting { return try await cloud.admit(account: account.id, to: container, environment) }
        let place = try await cloud.registry.appUsers(of: account.id).first { $0.container == container && $0.environment == environment }
        guard let place else {
            throw ServerError(
                .notFound, "the account has no name in this container and environment", field: "user",
                remedy: "A user gets one by opening an app of the container, or by the first record or zone that an administrator makes for them.")
        }
        return place.userRecordName
    }
}
