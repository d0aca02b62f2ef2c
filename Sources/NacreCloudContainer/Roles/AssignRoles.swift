import NacreCloudAccounts
package import NacreCloudStorage
import NacreCloudWire

/// A user with assigned roles. A server-to-server key is represented by its own user.
package struct RoleHolder: Hashable, Sendable {
    package var user: String
    /// The roles, in the order in which the schema declares them.
    package var roles: [String]
}

extension Schemas {
    /// The roles that a schema declares, in the order of their declaration, without CloudKit's own.
    package func roles(of container: String, _ environment: DatabaseKey.Environment) async throws -> [String] {
        try await administeredSchema(of: container, environment).rolesInOrder
    }

    /// A page of the users with roles.
    /// - Parameter last: The last user of the page before.
    /// - Returns: The page in the order of user record names, and the position of the next one; nil after the last. Any
    ///   page may be empty.
    package func roleHolders(
        of container: String, _ environment: DatabaseKey.Environment, after last: String?
    ) async throws -> (page: [RoleHolder], next: String?) {
        try await registry.requireContainer(container)
        return try await read(of: container, environment) { known, transaction in
            let rows = try transaction.entries(in: known.database, .roleAssignment, after: last, limit: Limits.resultsPerPage)
            let page = try rows.map { RoleHolder(user: $0.key.key, roles: known.schema.roles(of: try RoleAssignmentEntry($0))) }
            return (page.filter { !$0.roles.isEmpty }, rows.count < Limits.resultsPerPage ? nil : rows.last?.key.key)
        }
    }

    /// Assigns a user one of the roles that a schema declares, from the next request on. Idempotent.
    ///
    /// CloudKit: its console assigns roles, separately in each environment. Whether the user exists is not checked.
    /// - Returns: All roles of the user now.
    package func assign(
        _ role: String, to user: String, in container: String, _ environment: DatabaseKey.Environment
    ) async throws -> RoleHolder {
        try await changeRoles(of: user, in: container, environment) { $0.insert(try $1.number(ofRole: role)) }
    }

    /// Revokes a user's role, from the next request on. Idempotent.
    /// - Returns: All roles of the user now.
    package func revoke(
        _ role: String, from user: String, in container: String, _ environment: DatabaseKey.Environment
    ) async throws -> RoleHolder {
        try await changeRoles(of: user, in: container, environment) { $0.remove(try $1.number(ofRole: role)) }
    }

    /// Removes all roles of a deleted user.
    package func forgetRoles(of user: String, in container: String, _ environment: DatabaseKey.Environment) async throws {
        try await registry.write(.schema(container: container, environment)) { database, now, transaction in
            guard try transaction.entry(RoleAssignmentEntry.self, user, in: database, at: now) != nil else { return .rollback(()) }
            try transaction.remove([EntryKey(database, .roleAssignment, user)])
            try transaction.noteAssignment(in: database, at: now)
            return .commit(())
        }
    }

    private func changeRoles(
        of user: String, in container: String, _ environment: DatabaseKey.Environment,
        _ change: @escaping @Sendable (inout Set<Int64>, Schema) throws -> Void
    ) async throws -> RoleHolder {
        try await registry.requireContainer(container)
        return try await registry.write(.schema(container: container, environment)) { database, now, transaction in
            let schema = try transaction.schema(in: database)
            let before = try transaction.entry(RoleAssignmentEntry.self, user, in: database, at: now)?.roles ?? []
            // Roles that no longer exist are dropped with the first change.
            var numbers = Set(before).intersection(schema.roles.values)
            try change(&numbers, schema)
            let after = RoleAssignmentEntry(roles: numbers.sorted())
            let holder = RoleHolder(user: user, roles: schema.roles(of: after))
            if after.roles == before { return .rollback(holder) }
            var plan = WritePlan()
            if after.roles.isEmpty {
                plan.entriesRemoved = [EntryKey(database, .roleAssignment, user)]
            } else {
                plan.entries = [try after.row(user, in: database)]
            }
            try transaction.apply(plan)
            try transaction.noteAssignment(in: database, at: now)
            return .commit(holder)
        }
    }
}

extension WriteTransaction {
    /// Stores the schema as a new version, by which all servers notice that roles of users have changed.
    fileprivate func noteAssignment(in database: DatabaseID, at now: Timestamp) throws {
        let schema = try schema(in: database)
        _ = try put(schema, over: schema, in: database, at: now)
    }
}

extension Schema {
    fileprivate func roles(of entry: RoleAssignmentEntry) -> [String] {
        let held = roles(numbered: entry.roles)
        return rolesInOrder.filter(held.contains)
    }

    fileprivate func number(ofRole name: String) throws(ServerError) -> Int64 {
        if Grants.builtInRoles.contains(name) {
            throw ServerError(
                .badRequest, "role '\(name)' is not given to anybody", field: "role",
                remedy: "Everybody is _world, who is signed in _icloud, and who made a record its _creator. Assign a role of the schema's own.")
        }
        guard let number = roles[name] else {
            throw ServerError(
                .notFound, "Did not find role: \(name)", field: "role",
                remedy: "Names are case-sensitive. Write CREATE ROLE \(name); into the schema: nacre schema export, nacre schema import.")
        }
        return number
    }
}
