import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire
import NacreHTTPServer

/// Users' security roles. The roles themselves and their permissions belong to a schema.
extension AdminAPI {
    /// `GET /admin/1/roles?container=…&environment=…&after=…`
    @Sendable func listRoles(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        guard let container = request.query("container") else { throw ServerError.missingQuery("container") }
        guard let name = request.query("environment") else { throw ServerError.missingQuery("environment") }
        let environment = try Self.environment(name)
        let roles = try await cloud.schemas.roles(of: container, environment)
        let (page, next) = try await cloud.schemas.roleHolders(of: container, environment, after: request.query("after"))
        return try answer(AdminMessages.Roles(roles: roles, holders: page.map(AdminMessages.RoleHolder.init), next: next))
    }

    /// `POST /admin/1/roles/assign`
    @Sendable func assignRole(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        let asked = try await body(AdminMessages.NewRoleChange.self, of: request)
        let environment = try Self.environment(asked.environment)
        guard let caller = try await self.caller(user: asked.user, key: asked.key, in: asked.container, environment, admitting: true),
            let user = caller.userRecordName
        else { throw ServerError.nobodyNamed }
        if caller.isAdministrator { throw ServerError.administratorsHaveNoRoles }
        try await requireUser(user, in: asked.container, environment)
        let holder = try await cloud.schemas.assign(asked.role, to: user, in: asked.container, environment)
        return try answer(AdminMessages.RoleHolder(holder))
    }

    /// `POST /admin/1/roles/revoke`
    @Sendable func revokeRole(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        let asked = try await body(AdminMessages.NewRoleChange.self, of: request)
        let environment = try Self.environment(asked.environment)
        guard let user = try await caller(user: asked.user, key: asked.key, in: asked.container, environment)?.userRecordName else {
            throw ServerError.nobodyNamed
        }
        let holder = try await cloud.schemas.revoke(asked.role, from: user, in: asked.container, environment)
        return try answer(AdminMessages.RoleHolder(holder))
    }

    /// `POST /admin/1/roles/why`
    @Sendable func explainPermission(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        let asked = try await body(AdminMessages.NewPermissionQuestion.self, of: request)
        let environment = try Self.environment(asked.environment)
        guard let permission = Permissions(word: asked.operation) else {
            throw ServerError(.badRequest, "unknown operation", field: "operation", remedy: "Take READ, CREATE or WRITE.")
        }
        let caller = try await caller(user: asked.user, key: asked.key, in: asked.container, environment) ?? Caller(.world)
        if asked.user != nil, let name = caller.userRecordName { try await requireUser(name, in: asked.container, environment) }
        let found = try await cloud.explainPermission(
            permission, of: caller, record: asked.record, type: asked.recordType, in: asked.container, environment)
        return try answer(
            AdminMessages.PermissionAnswer(
                isPermitted: found.isPermitted, user: caller.userRecordName, isAdministrator: caller.isAdministrator, recordType: found.recordType,
                creator: found.creator, roles: found.roles, grantedTo: found.grantedTo, because: found.because))
    }

    /// The caller for an e-mail address, a user record name or a server-to-server key's ID; nil if all are absent.
    private func caller(
        user: String?, key: String?, in container: String, _ environment: DatabaseKey.Environment, admitting: Bool = false
    ) async throws -> Caller? {
        try await cloud.registry.requireContainer(container)
        if let key {
            if user != nil { throw ServerError(.badRequest, "both a user and a key", field: "key", remedy: "Name one of them.") }
            guard let entry = try await cloud.registry.serverKey(key), entry.container == container, entry.environment == environment.rawValue
            else {
                throw ServerError(
                    .notFound, "no such server-to-server key in this container and environment", field: "key", remedy: "See nacre token list.")
            }
            var caller = Caller(.serverKey(try await cloud.admit(account: entry.account, to: container, environment)))
            caller.isAdministrator = entry.isAdministrator ?? false
            return caller
        }
        guard let user else { return nil }
        return Caller(.user(try await userRecordName(user, in: container, environment, admitting: admitting)))
    }

    /// Requires that the user exists. A misspelt name would be given permissions that another user may get later, or be
    /// reported as a user who stored nothing.
    func requireUser(_ name: String, in container: String, _ environment: DatabaseKey.Environment) async throws {
        let target = DatabaseTarget(container: container, environment: environment, scope: .public)
        let found = try await cloud.lookupRecords(
            RecordsLookupRequest(records: [.init(recordName: name)], desiredKeys: []), in: target, by: .administrator)
        if case .record(let record)? = found.records.first, record.recordType == UserRecord.type { return }
        throw ServerError(
            .notFound, "no such user in this container and environment", field: "user",
            remedy: "Give the address of an account, or a user record name as users/caller answers it.")
    }
}

extension AdminMessages.RoleHolder {
    init(_ holder: RoleHolder) {
        self.init(user: holder.user, roles: holder.roles)
    }
}

extension ServerError {
    fileprivate static let nobodyNamed = ServerError(
        .badRequest, "missing required field", field: "user", remedy: "Say which user, or which server-to-server key.")

    fileprivate static let administratorsHaveNoRoles = ServerError(
        .badRequest, "the key is an administrator's: no grant holds it, so it has no roles", field: "key",
        remedy: "Make another key without --administrator, and give it the role.")
}
