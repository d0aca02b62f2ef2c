/// `nacre run`
enum Run {
    private static let program = Argument("command", "The command, with its arguments.", takesRest: true)
    private static let memory = Option.flag("memory", "Keep the data of a server that it starts in memory.")
    private static let listen = Option.value(
        "listen", "host:port", fallback: "127.0.0.1:0", "Where a server that it starts is reached; port 0 for any free one.")

    static let command = Command(
        "run", "Run a command with a server, a container and a signed-in user.",
        discussion: """
            Does what nacre up does, runs the command with the variables of an app, and ends with its status. A server that it started ends with the command; \
            one that runs on the data folder already is asked, and stays.

              nacre run iCloud.com.example.Notes -- swift test
              nacre run iCloud.com.example.Notes -- bash
            """,
        arguments: [Up.container, program], options: [Up.environment, Up.email, Up.envFile, listen, memory] + AdminServer.options + [Settings.file]
    ) { call in
        let admin: AdminClient
        do {
            admin = try await AdminClient.connect(call)
        } catch let failure as CommandFailure where failure.code == .unreachable && !call.isGiven(AdminServer.tokenFile) {
            var status: Int32 = 0
            var call = call
            // The user wants to see only warnings of the server.
            for (option, value) in [(listen, try call.require(listen)), (Serve.logLevel, "warning")] { call.set(option, value) }
            try await Serve.run(call) { _ in
                status = try await run(call, by: try await AdminClient.connect(call))
                return .ends
            }
            return try end(with: status)
        }
        try end(with: try await run(call, by: admin))
    }

    /// Thrown with the exit status of a command that was run for the user and failed.
    struct Ended: Error {
        var status: Int32
    }

    private static func end(with status: Int32) throws {
        if status != 0 { throw Ended(status: status) }
    }

    /// Runs the command.
    /// - Returns: Its exit status; or 128 plus the number of the signal that ended it, as shells count.
    private static func run(_ call: Call, by admin: AdminClient) async throws -> Int32 {
        let setup = try await Up.setUp(call, by: admin)
        return try await ChildCommand(Array(call.arguments.dropFirst()), setup.values, ownGroup: false).status()
    }
}
