import NacreCloudServer

/// `nacre up`
enum Up {
    static let usualFile = ".env"

    static let container = Argument("container", "The container, such as iCloud.com.example.Notes; made if it is missing.")
    static let environment = Option.value(
        "environment", "env", oneOf: ["development", "production"], fallback: "development", "The environment of the container.")
    static let email = Option.value(
        "email", "address", "Of the user who is signed in; made if it is missing. By default that of the file, or a new one.")
    static let envFile = Option.value("env-file", "file", fallback: usualFile, "The file that gets the variables.")

    static let command = Command(
        "up", "Prepare a container, an API token and a signed-in user, and write their variables to a file.",
        discussion: """
            Asks the server of the data folder; where none runs it starts one, as nacre serve does, and serves until it is interrupted. What is there already \
            stays, so it may run any number of times. In a container that it makes, saves of web clients bring types and fields in development, as those of the \
            framework do; nacre container change makes that as it is in CloudKit. Then eval "$(nacre env)" sets the variables in a shell.
            """,
        arguments: [container], options: [environment, email, envFile, Serve.listen] + AdminServer.options + [Settings.file, SharedOptions.json],
        settings: Serve.settings
    ) { call in
        let admin: AdminClient
        do {
            admin = try await AdminClient.connect(call)
        } catch let failure as CommandFailure where failure.code == .unreachable && !call.isGiven(AdminServer.tokenFile) {
            return try await Serve.run(call) { _ in
                try await prepare(call, by: try await AdminClient.connect(call))
                return .serves
            }
        }
        if call.isGiven(Serve.listen) {
            Output.message("The server of this data folder runs already; --\(Serve.listen.name) does not change where it listens.")
        }
        try await prepare(call, by: admin)
    }

    static func setUp(_ call: Call, by admin: AdminClient) async throws -> DeveloperSetup {
        try await setUp(try call.require(container), call, by: admin)
    }

    static func setUp(_ container: String, _ call: Call, by admin: AdminClient) async throws -> DeveloperSetup {
        try await DeveloperSetup.prepare(
            container, try call.require(environment), email: call.value(email), file: try call.require(envFile), by: admin)
    }

    private static func prepare(_ call: Call, by admin: AdminClient) async throws {
        let setup = try await setUp(call, by: admin)
        if call.has(SharedOptions.json) { try Output.json(setup) }
        Output.message(setup.text)
        await ConsoleCommand.show(call)
    }
}

/// `nacre env`
enum PrintEnvironment {
    static let command = Command(
        "env", "Print the variables that nacre up has written, for a shell.",
        discussion: "  eval \"$(nacre env)\"", options: [Up.envFile]
    ) { call in
        let path = try call.require(Up.envFile)
        let file = try EnvironmentFile.read(path)
        let found = DeveloperSetup.variables.compactMap { name in file[name].map { "export \(name)=\(ShellWord.quoted($0))" } }
        guard !found.isEmpty else {
            throw CommandFailure(.failure, "\(path) has none of the variables of an app", remedy: "nacre up CONTAINER writes them.")
        }
        try Output.text(found.map { $0 + "\n" }.joined())
    }
}
