import NacreCloudServer

/// `nacre user usage`
enum UserUsage {
    static let command = Command(
        "usage", "Show how much an account has stored, in every container.",
        discussion: """
            A line for each container and environment in which the account has a name: bytes of its private database, and behind of what may be stored. The last \
            line has the sum. All users of one container: nacre usage.
            """,
        options: [SessionCommands.email] + AdminServer.options + [SharedOptions.json]
    ) { call in
        let usage = try await AdminClient.connect(call).usage(ofAccount: try call.require(SessionCommands.email))
        if call.has(SharedOptions.json) { return try Output.json(usage) }
        for line in usage.databases { try Output.data("\(line.container) \(line.environment) \(line.bytes) of \(QuotaOptions.text(line.limit))") }
        try Output.data("sum \(usage.databases.reduce(0) { $0 + $1.bytes })")
    }
}
