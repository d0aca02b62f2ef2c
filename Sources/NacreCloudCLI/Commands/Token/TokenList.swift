import NacreCloudServer

/// `nacre token`
enum TokenCommands {
    static let command = Command(
        "token", "Make, list, rotate and revoke the tokens and keys of apps, servers and scripts.",
        subcommands: [TokenCreate.command, TokenList.command, TokenRotate.command, TokenRevoke.command])
}

/// `nacre token list`
enum TokenList {
    private static let container = Option.value("container", "name", "Only those of this container.")

    static let command = Command(
        "list", "List API tokens, server-to-server keys and management tokens.",
        discussion: """
            Each line has the kind (server-administrator of a key that no grant holds), the API token or the ID, the container, the environment, the \
            name, of an API token the origins of its pages and the URL of its sign-in callback, when it ends, where it does, and when it was used last: \
            within ten minutes, or never.
            """,
        options: [container] + AdminServer.options + [SharedOptions.json]
    ) { call in
        let admin = try await AdminClient.connect(call)
        let isJSON = call.has(SharedOptions.json)
        var all = AdminMessages.Tokens(tokens: [])
        try await admin.eachPageOfTokens(of: call.value(container)) { page in
            if isJSON { all.tokens += page.tokens } else { for token in page.tokens { try Output.data(token.line) } }
        }
        if isJSON { try Output.json(all) }
    }
}

/// `nacre token rotate`
enum TokenRotate {
    private static let id = Argument("id", "The API token.")
    private static let grace = Option.value("grace", "time", "How long both are good: a number with s, m, h or d. Without it the old one ends.")

    static let command = Command(
        "rotate", "Give an API token's place to another.",
        discussion: """
            The new token has the container, the environment, the name, the origins and the callback of the old one, and is printed. The old one is refused \
            within five seconds, or after the grace, and so are the web auth tokens that were got with it: their users sign in again with the new one.
            """,
        arguments: [id],
        options: [grace] + AdminServer.options + [SharedOptions.json]
    ) { call in
        let seconds = try call.value(grace).map { try Quantity.seconds($0, of: grace, call) }
        let rotation = try await AdminClient.connect(call).rotate(
            AdminMessages.NewRotation(id: try call.require(id, at: 0), graceSeconds: seconds))
        if call.has(SharedOptions.json) { return try Output.json(rotation) }
        try Output.data(rotation.token)
        Output.message(rotation.oldEnds == nil ? "The old one has ended." : "Both are good until the old one ends: nacre token list says when.")
    }
}

/// `nacre token revoke`
enum TokenRevoke {
    private static let id = Argument("id", "The API token, or the ID of a key or of a management token.")

    static let command = Command(
        "revoke", "End an API token, a server-to-server key or a management token.",
        discussion:
            "It is refused within five seconds, and so are the web auth tokens that were got with an API token. It does not come back. At a terminal it asks first.",
        arguments: [id],
        options: [SharedOptions.yes] + AdminServer.options + [SharedOptions.json]
    ) { call in
        try Confirmation.atTerminal("End it, and the sign-ins that were got with it?", else: "nothing was revoked", call)
        let revoked = try await AdminClient.connect(call).revoke(AdminMessages.TokenRevocation(id: try call.require(id, at: 0)))
        if call.has(SharedOptions.json) { return try Output.json(revoked) }
        try Output.data(revoked.line)
        Output.message("It is revoked.")
    }
}

extension AdminMessages.TokenLine {
    fileprivate var line: String {
        let callback = redirect.map { "redirect=\($0)" } ?? ""
        let pages = (origins ?? []).map { "origin=\($0)" }
        let end = ends.map { "ends=\(UserTime.text($0))" } ?? ""
        let use = "used=\(used.map(UserTime.text) ?? "never")"
        let head = [isAdministrator ? "\(kind)-administrator" : kind, id, container, environment ?? "", name]
        let shown = (head + pages + [callback, end, use]).filter { !$0.isEmpty }
        return shown.joined(separator: " ")
    }
}
