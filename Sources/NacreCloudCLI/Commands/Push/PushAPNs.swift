import NacreCloudServer

/// `nacre push`
enum PushCommands {
    static let command = Command(
        "push", "Say how devices are told of changes.",
        discussion: "Browsers need nothing: nacre serve sends to their push services, and --web-push-host names others.",
        subcommands: [
            Command(
                "apns", "Keys by which Apple's push services know an app.",
                discussion: """
                    An app on Apple's devices registers its device token, and the server sends there what the user's subscriptions have to tell. Make a key for \
                    the Apple Push Notifications service on the developer's page; the server keeps it sealed and shows it to nobody.
                    """,
                subcommands: [PushAPNsSet.command, PushAPNsShow.command, PushAPNsRemove.command])
        ])

    fileprivate static let environment = Option.value(
        "environment", "name", oneOf: ["development", "production"], fallback: "production",
        "Which of Apple's push services: development for apps that Xcode installs.")
}

/// `nacre push apns set`
enum PushAPNsSet {
    private static let key = Option.value("key", "file", "The file AuthKey_….p8 as it was downloaded.")
    private static let keyID = Option.value("key-id", "id", "The key's ID, ten characters.")
    private static let team = Option.value("team", "id", "The team's ID, ten characters.")
    private static let topic = Option.value("topic", "bundle", "The app's bundle ID.")

    static let command = Command(
        "set", "Give a container its key.",
        discussion: "It takes the place of the one that the container had for the same of Apple's services, and holds from the next notification on.",
        options: [SharedOptions.container, PushCommands.environment, key, keyID, team, topic] + AdminServer.options + [SharedOptions.json]
    ) { call in
        let made = try await AdminClient.connect(call).set(
            AdminMessages.NewPushKey(
                container: try call.require(SharedOptions.container), environment: try call.require(PushCommands.environment),
                key: try TextFile.read(try call.require(key)), keyID: try call.require(keyID), teamID: try call.require(team),
                topic: try call.require(topic)))
        try made.show(call)
    }
}

/// `nacre push apns show`
enum PushAPNsShow {
    static let command = Command(
        "show", "Show which keys a container has.", discussion: "A line for each: environment, key ID, team, topic.",
        options: [SharedOptions.container] + AdminServer.options + [SharedOptions.json]
    ) { call in
        let found = try await AdminClient.connect(call).pushKeys(of: try call.require(SharedOptions.container))
        if call.has(SharedOptions.json) { return try Output.json(found) }
        for key in found.keys { try key.show(call) }
    }
}

/// `nacre push apns remove`
enum PushAPNsRemove {
    static let command = Command(
        "remove", "Take a container's key away.",
        discussion: "What waits for Apple's devices waits for another key. Revoke the key on the developer's page if somebody else may have it.",
        options: [SharedOptions.container, PushCommands.environment] + AdminServer.options + [SharedOptions.json]
    ) { call in
        let gone = try await AdminClient.connect(call).remove(
            AdminMessages.NewPushKeyRemoval(
                container: try call.require(SharedOptions.container), environment: try call.require(PushCommands.environment)))
        try gone.show(call)
    }
}

extension AdminMessages.PushKey {
    fileprivate func show(_ call: Call) throws {
        if call.has(SharedOptions.json) { return try Output.json(self) }
        try Output.data("\(environment) \(keyID) \(teamID) \(topic)")
    }
}
