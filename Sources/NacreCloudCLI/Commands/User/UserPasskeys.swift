import NacreCloudServer

/// `nacre user passkeys`
enum UserPasskeys {
    static let command = Command(
        "passkeys", "List the passkeys of an account.",
        discussion:
            "Each line has the ID, when it was added, when it signed in last (or never), and its name.",
        options: [SessionCommands.email] + AdminServer.options + [SharedOptions.json]
    ) { call in
        let found = try await AdminClient.connect(call).passkeys(
            of: try call.require(SessionCommands.email))
        if call.has(SharedOptions.json) { return try Output.json(found) }
        for passkey in found.passkeys {
            let used = passkey.used.map(UserTime.text) ?? "never"
            try Output.data(
                "\(passkey.id) \(UserTime.text(passkey.created)) \(used) \(passkey.name)")
        }
    }
}

/// `nacre user remove-passkey`
enum UserRemovePasskey {
    private static let id = Argument("id", "The passkey, as nacre user passkeys prints it.")

    static let command = Command(
        "remove-passkey", "Take a passkey away from an account.",
        discussion:
            "It signs nobody in any more. Sessions and devices stay: end them with nacre session revoke.",
        arguments: [id],
        options: [SessionCommands.email] + AdminServer.options + [SharedOptions.json]
    ) { call in
        let asked = AdminMessages.NewPasskeyRemoval(
            email: try call.require(SessionCommands.email), id: try call.require(id))
        let removed = try await AdminClient.connect(call).remove(asked)
        if call.has(SharedOptions.json) { return try Output.json(removed) }
        try Output.data(removed.id)
        Output.message("The passkey \(removed.name) is removed.")
    }
}
