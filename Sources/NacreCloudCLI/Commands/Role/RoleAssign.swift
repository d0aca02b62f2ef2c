import NacreCloudServer

/// `nacre role`
enum RoleCommands {
    static let command = Command(
        "role", "Say who has which security roles in a public database, and ask who may do what.",
        discussion: """
            Roles and what they may do with records of a type are in the schema: CREATE ROLE Editor; and GRANT READ, WRITE TO Editor. Write them \
            into what nacre schema export prints, and bring it back with nacre schema import.
            """,
        subcommands: [RoleList.command, RoleAssign.command, RoleRevoke.command, RoleWhy.command])
}

/// Options that name the user or the key whose roles a command is about.
enum RoleHolderOptions {
    static let user = Option.value("user", "user", "An e-mail address or a user record name.")
    static let key = Option.value("key", "id", "A server-to-server key, by its ID.")
    static let role = Argument("role", "A role that the schema declares.")

    /// Checks that at most one of them is given.
    /// - Throws: `UsageError` where both are.
    static func requireOne(_ call: Call) throws {
        if call.isGiven(user), call.isGiven(key) { throw UsageError(.exclusive("--user", "--key"), path: call.path) }
    }

    /// Makes a command that changes the roles of a user or key, and prints those that are left.
    static func change(
        _ name: String, _ summary: String, discussion: String,
        _ change: @escaping @Sendable (AdminClient, AdminMessages.NewRoleChange) async throws -> AdminMessages.RoleHolder
    ) -> Command {
        Command(
            name, summary, discussion: discussion, arguments: [role],
            options: [SharedOptions.container, SharedOptions.environment, user, key] + AdminServer.options + [SharedOptions.json]
        ) { call in
            try requireOne(call)
            if !call.isGiven(user), !call.isGiven(key) { throw UsageError(.missingOption(user.spelling), path: call.path) }
            let asked = AdminMessages.NewRoleChange(
                container: try call.require(SharedOptions.container), environment: try call.require(SharedOptions.environment),
                role: try call.require(role), user: call.value(user), key: call.value(key))
            let holder = try await change(try AdminClient.connect(call), asked)
            if call.has(SharedOptions.json) { return try Output.json(holder) }
            try Output.data(holder.line)
        }
    }
}

/// `nacre role assign`
enum RoleAssign {
    static let command = RoleHolderOptions.change(
        "assign", "Give a user or a server-to-server key a role.",
        discussion: "Prints the user and all roles that the user has now. It counts from the next request on."
    ) { try await $0.assign($1) }
}

/// `nacre role revoke`
enum RoleRevoke {
    static let command = RoleHolderOptions.change(
        "revoke", "Take a role from a user or a server-to-server key.",
        discussion: "Prints the user and the roles that the user still has. It counts from the next request on."
    ) { try await $0.revoke($1) }
}

/// `nacre role list`
enum RoleList {
    static let command = Command(
        "list", "List the roles of a container's schema, and who has them.",
        discussion: "A line is role and its name, or user, a user record name and the roles that the user has.",
        options: [SharedOptions.container, SharedOptions.environment] + AdminServer.options + [SharedOptions.json]
    ) { call in
        let isJSON = call.has(SharedOptions.json)
        var all: AdminMessages.Roles?
        let admin = try await AdminClient.connect(call)
        try await admin.eachPageOfRoles(of: try call.require(SharedOptions.container), try call.require(SharedOptions.environment)) { page in
            if !isJSON {
                if all == nil { for role in page.roles { try Output.data("role \(role)") } }
                for holder in page.holders { try Output.data("user \(holder.line)") }
            }
            all = AdminMessages.Roles(roles: page.roles, holders: isJSON ? (all?.holders ?? []) + page.holders : [])
        }
        if isJSON, let all { try Output.json(all) }
    }
}

extension AdminMessages.RoleHolder {
    fileprivate var line: String { ([user] + roles).joined(separator: " ") }
}
