import NacreCloudServer

/// `nacre usage`
enum UsageCommand {
    private static let user = Option.value("user", "user", "Of this user alone: an e-mail address or a user record name.")

    static let command = Command(
        "usage", "Show how much a container and its users have stored.",
        discussion: """
            A line for the public database, and one for each user with the user record name: bytes, and behind of what may be stored. It counts the records as they \
            are kept, without indexes, deletions and what else goes with them. Limits: nacre quota.
            """,
        options: [SharedOptions.container, SharedOptions.environment, user] + AdminServer.options + [SharedOptions.json]
    ) { call in
        let isJSON = call.has(SharedOptions.json)
        var all: AdminMessages.Usage?
        let admin = try await AdminClient.connect(call)
        try await admin.eachPageOfUsage(
            of: try call.require(SharedOptions.container), try call.require(SharedOptions.environment), user: call.value(user)
        ) { page in
            if !isJSON {
                if all == nil, let usage = page.public { try Output.data("public \(usage.bytes) of \(QuotaOptions.text(usage.limit))") }
                for line in page.users { try Output.data("user \(line.user) \(line.bytes) of \(QuotaOptions.text(line.limit))") }
            }
            all = AdminMessages.Usage(public: page.public, users: isJSON ? (all?.users ?? []) + page.users : [])
        }
        if isJSON, let all { try Output.json(all) }
    }
}
