import NacreCloudServer

/// `nacre team`
enum TeamCommands {
    static let command = Command(
        "team", "Say who signs in to the console with a passkey, and in which role.",
        discussion: "A member who is removed or given another role is signed out of the console at once.",
        subcommands: [
            TeamAdd.command, TeamList.command, TeamInvite.command, TeamPasskeys.command, TeamRemovePasskey.command, TeamRole.command,
            TeamRemove.command,
        ])

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
        try Invitation(invited, by: admin).print(call)
    }

    /// An invitation as commands print it.
    struct Invitation: Encodable {
        var url: String
        var member: AdminMessages.TeamLine
        /// Milliseconds since 1970.
        var expires: Int64

        init(_ invited: AdminMessages.InvitedTeamMember, by admin: AdminClient) {
            url = admin.url(of: invited.path, at: invited.consoleURL)
            (member, expires) = (invited.member, invited.expires)
        }

        func print(_ call: Call) throws {
            if call.has(SharedOptions.json) { return try Output.json(self) }
            try Output.data(url)
        }
    }
}

/// `nacre team invite`
enum TeamInvite {
    static let command = Command(
        "invite", "Invite a member again.",
        discussion: """
            Prints a link as nacre team add does, in the place of one that has ended or was lost, or for a passkey on a further device. A link that was not \
            used yet ends. Other passkeys stay: nacre team remove-passkey takes a lost one away.
            """,
        arguments: [TeamCommands.name], options: TeamCommands.options
    ) { call in
        let admin = try await AdminClient.connect(call)
        try TeamAdd.Invitation(try await admin.inviteAgain(AdminMessages.TeamMemberName(name: try call.require(TeamCommands.name))), by: admin)
            .print(call)
    }
}

/// `nacre team passkeys`
enum TeamPasskeys {
    static let command = Command(
        "passkeys", "List the passkeys of a member.",
        discussion: "Each line has the ID, when it was made, and when it signed in last (or never).", arguments: [TeamCommands.name],
        options: TeamCommands.options
    ) { call in
        let name = try call.require(TeamCommands.name)
        guard let member = try await AdminClient.connect(call).team().members.first(where: { $0.name == name }) else {
            throw CommandFailure(
                .failure, "the team has no member of this name", remedy: "Take a name from the list: nacre team list.")
        }
        if call.has(SharedOptions.json) { return try Output.json(member) }
        for passkey in member.passkeys {
            try Output.data("\(passkey.id) \(UserTime.text(passkey.created)) \(passkey.used.map(UserTime.text) ?? "never")")
        }
    }
}

/// `nacre team remove-passkey`
enum TeamRemovePasskey {
    private static let id = Argument("id", "The passkey, as nacre team passkeys prints it.")

    static let command = Command(
        "remove-passkey", "Take a passkey away from a member.",
        discussion: "Sessions that it began end at once. A member without a passkey is let in again by nacre team invite.",
        arguments: [TeamCommands.name, id], options: TeamCommands.options
    ) { call in
        let asked = AdminMessages.NewTeamPasskeyRemoval(name: try call.require(TeamCommands.name), id: try call.require(id, at: 1))
        let member = try await AdminClient.connect(call).remove(asked)
        if call.has(SharedOptions.json) { return try Output.json(member) }
        Output.message("The passkey is removed. Passkeys that \(member.name) has: \(member.passkeys.count)")
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
            let used = member.passkeys.isEmpty ? "invited" : member.used.map(UserTime.text) ?? "never"
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
        let member = try await AdminClient.connect(call).removeTeamMember(AdminMessages.TeamMemberName(name: try call.require(TeamCommands.name)))
        if call.has(SharedOptions.json) { return try Output.json(member) }
        Output.message("\(member.name) is removed from the team.")
    }
}
