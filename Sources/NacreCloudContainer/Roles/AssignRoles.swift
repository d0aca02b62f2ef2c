import NacreCloudWire

/// A user, or a server-to-server key by its own user, who was given roles.
package struct RoleHolder: Hashable, Sendable {
    package var user: String
    /// In the order in which the schema declares them.
    package var roles: [String]
}

extension Registry {
    /// The roles that a schema declares, in the order in which it came by them. CloudKit's own are none of them.
    package func roles(of container: String, _ environment: DatabaseKey.Environment) async throws -> [String] {
        try await administeredSchema(of: container, environment).rolesInOrder
    }

    /// Who has roles.
    /// - Parameter last: the last user of the page before.
    /// - Returns: a page in the order of the users' names, and where the next one begins; nil when there is none. A page may be empty and not the last.
    package func roleHolders(
        of container: String, _ environment: DatabaseKey.Environment, after last: String?
    ) async throws -> (page: [RoleHolder], next: String?) {
        try await requireContainer(container)
        return try await read(of: container, environment) { known, transaction in
            let rows = try transaction.entries(in: known.database, .roleAssignment, after: last, limit: Limits.resultsPerPage)
            let page = try rows.map { RoleHolder(user: $0.key.key, roles: known.schema.roles(of: try RoleAssignmentEntry($0))) }
            return (page.filter { !$0.roles.isEmpty }, rows.count < Limits.resultsPerPage ? nil : rows.last?.key.key)
        }
    }

    /// Gives a user one of the roles that a schema declares. Who has it keeps it. It counts from the next request on.
    ///
    /// CloudKit: its console assigns roles, in each environment for itself. Whether there is such a user is not asked here.
    /// - Returns: all that the user has now.
    package func assign(
        _ role: String, to user: String, in container: String, _ environment: DatabaseKey.Environment
    ) async throws -> RoleHolder {
        try await changeRoles(of: user, in: container, environment) { $0.insert(try $1.number(ofRole: role)) }
    }

    /// Takes a role from a user, if he has it. It counts from the next request on.
    /// - Returns: all that the user has now.
    package func revoke(
        _ role: String, from user: String, in container: String, _ environment: DatabaseKey.Environment
    ) async throws -> RoleHolder {
        try await changeRoles(of: user, in: container, environment) { $0.remove(try $1.number(ofRole: role)) }
    }

    /// Takes all roles from a user who is no more.
    func forgetRoles(of user: String, in container: String, _ environment: DatabaseKey.Environment) async throws {
        try await write(.schema(container: container, environment)) { database, now, transaction in
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
        try await requireContainer(container)
        return try await write(.schema(container: container, environment)) { database, now, transaction in
            let schema = try transaction.schema(in: database)
            let before = try transaction.entry(RoleAssignmentEntry.self, user, in: database, at: now)?.roles ?? []
            // Those that are no more go with the first change.
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
    /// Gives the schema another version, by which everybody notices that somebody's roles have changed.
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
