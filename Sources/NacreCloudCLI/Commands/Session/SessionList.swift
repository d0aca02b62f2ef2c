import NacreCloudServer

/// `nacre session`
enum SessionCommands {
    static let email = Option.required("email", "address", "The address of the account.")

    static let command = Command(
        "session", "List and end what an account is signed in with: sessions on the web and devices.",
        subcommands: [SessionList.command, SessionRevoke.command])
}

/// `nacre session list`
enum SessionList {
    static let command = Command(
        "list", "List the sessions and devices of an account.",
        discussion:
            "Each line has the kind (web for a session on the web, account for a device with an account token), the ID, the containers, the environment, when it began and the name of the device.",
        options: [SessionCommands.email] + AdminServer.options + [SharedOptions.json]
    ) { call in
        let admin = try await AdminClient.connect(call)
        let isJSON = call.has(SharedOptions.json)
        var all = AccountMessages.Sessions(sessions: [])
        try await admin.eachPageOfSessions(of: try call.require(SessionCommands.email)) { page in
            if isJSON { all.sessions += page.sessions } else { for session in page.sessions { try Output.data(session.line) } }
        }
        if isJSON { try Output.json(all) }
    }
}

/// `nacre session revoke`
enum SessionRevoke {
    private static let id = Argument("id", "The session or device, as nacre session list prints it.", isRequired: false)
    private static let all = Option.flag("all", "All sessions and devices of the account.")

    static let command = Command(
        "revoke", "End a session or a device of an account, or all of them.",
        discussion: "The server that does it refuses them at once, others over the same store within five seconds. They do not come back; data stay.",
        arguments: [id],
        options: [SessionCommands.email, all] + AdminServer.options + [SharedOptions.json]
    ) { call in
        if call.has(all), !call.arguments.isEmpty { throw UsageError(.exclusive(all.spelling, id.usage), path: call.path) }
        let asked = AdminMessages.NewSessionEnd(
            email: try call.require(SessionCommands.email), id: call.has(all) ? nil : try call.require(id), all: call.has(all) ? true : nil)
        let ended = try await AdminClient.connect(call).revoke(asked)
        if call.has(SharedOptions.json) { return try Output.json(ended) }
        Output.message("Sessions and devices ended: \(ended.count)")
    }
}

extension AccountMessages.Session {
    fileprivate var line: String {
        let began = UserTime.text(created)
        return ([kind, id] + containers + [environment, began] + [device ?? ""].filter { !$0.isEmpty }).joined(separator: " ")
    }
}
