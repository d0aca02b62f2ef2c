import NacreCloudServer

/// `nacre team`
enum TeamCommands {
    static let command = Command(
        "team", "Say who signs in to the console with a passkey, and in which role.",
        discussion: "A member who is removed or given another role is signed out of the console at once.",
        subcommands: [TeamAdd.command, TeamList.command, TeamRole.command, TeamRemove.command])

    static let name = Argument("name", "The member's name, as nacre audit list shows it.")
    static let role = Option.required(
        "role", "role", oneOf: AdminMessages.consoleRoles, "What the member may do in the console: see nacre help console.")
    static let options = AdminServer.options + [SharedOptions.json]
}

/// `nacre team add`
enum TeamAdd {
    static let command = Command(
        "add", "Invite a person to the team.",
        discussion: """
            Prints a link that is good once, for 30 minutes. The page that it opens makes the person's passkey, by which they sign in from then on. \
            Browsers have passkeys for localhost, and for names over HTTPS.
            """,
        arguments: [TeamCommands.name], options: [TeamCommands.role] + TeamCommands.options
    ) { call in
        let admin = try await AdminClient.connect(call)
        let asked = AdminMessages.NewTeamRole(name: try call.require(TeamCommands.name), role: try call.require(TeamCommands.role))
        let invited = try await admin.invite(asked)
        let link = Invitation(url: admin.url + invited.path, member: invited.member, expires: invited.expires)
        if call.has(SharedOptions.json) { return try Output.json(link) }
        try Output.data(link.url)
    }

    /// An invitation as the command prints it.
    struct Invitation: Encodable {
        var url: String
        var member: AdminMessages.TeamLine
        /// Milliseconds since 1970.
        var expires: Int64
    }
}

/// `nacre team list`
enum TeamList {
    static let command = Command(
        "list", "List the team.",
        discussion:
            "Each line has the role, when the member came, when they signed in last (never, or invited before there is a passkey), and the name.",
        options: TeamCommands.options
    ) { call in
        let team = try await AdminClient.connect(call).team()
        if call.has(SharedOptions.json) { return try Output.json(team) }
        for member in team.members {
            let used = member.passkeys == 0 ? "invited" : member.used.map(UserTime.text) ?? "never"
            try Output.data("\(member.role) \(UserTime.text(member.created)) \(used) \(member.name)")
        }
    }
}

/// `nacre team role`
enum TeamRole {
    static let command = Command(
        "role", "Give a member another role.", discussion: "The member is signed out at once, and signs in again with the passkey.",
        arguments: [TeamCommands.name], options: [TeamCommands.role] + TeamCommands.options
    ) { call in
        let asked = AdminMessages.NewTeamRole(name: try call.require(TeamCommands.name), role: try call.require(TeamCommands.role))
        let member = try await AdminClient.connect(call).setTeamRole(asked)
        if call.has(SharedOptions.json) { return try Output.json(member) }
        try Output.data("\(member.role) \(member.name)")
    }
}

/// `nacre team remove`
enum TeamRemove {
    static let command = Command(
        "remove", "Remove a member of the team.", discussion: "Sessions of the member end at once, and so do passkeys and an unused link.",
        arguments: [TeamCommands.name], options: TeamCommands.options
    ) { call in
        let member = try await AdminClient.connect(call).remove(AdminMessages.NewTeamRemoval(name: try call.require(TeamCommands.name)))
        if call.has(SharedOptions.json) { return try Output.json(member) }
        Output.message("\(member.name) is removed from the team.")
    }
}
