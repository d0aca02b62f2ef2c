import NacreCloudServer

/// `nacre token`
enum TokenCommands {
    static let command = Command("token", "Make tokens for apps.", subcommands: [TokenCreate.command])
}

/// `nacre token create`
enum TokenCreate {
    private static let kind = Option.required("kind", "kind", oneOf: ["api"], "The kind of token.")
    private static let name = Option.value("name", "text", "What the token is for, to tell it from others.")

    static let command = Command(
        "create", "Make a token that lets an app speak to a container.",
        discussion: "Prints the token. An app takes it as CLOUDKIT_API_TOKEN.",
        options: [SharedOptions.container, SharedOptions.environment, kind, name] + AdminServer.options + [SharedOptions.json]
    ) { call in
        let admin = try await AdminClient.connect(call)
        let asked = AdminMessages.NewToken(
            container: try call.require(SharedOptions.container), environment: try call.require(SharedOptions.environment),
            kind: try call.require(kind), name: call.value(name))
        let token = try await admin.create(asked)
        if call.has(SharedOptions.json) { return try Output.json(token) }
        try Output.data(token.token)
        Output.hint("Give it to your app: export CLOUDKIT_API_TOKEN=\(token.token)")
    }
}
