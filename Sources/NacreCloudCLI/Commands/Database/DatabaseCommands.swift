import NacreCloudServer

/// `nacre database`
enum DatabaseCommands {
    static let command = Command("database", "Look into databases and change them as an administrator.", subcommands: [DatabaseAsk.command])
}

/// `nacre database ask`
private enum DatabaseAsk {
    private static let operation = Argument("operation", "records/lookup, records/modify, zones/list or changes/zone.")
    private static let request = Argument("request", "The JSON of the request; - reads it from standard input.")
    private static let database = Option.required("database", "db", oneOf: ["public", "private", "shared"], "The database.")
    private static let user = Option.value(
        "user", "user",
        "The user of the private or shared database, or in whose name the public one is changed: an e-mail address or a user record name.")

    static let command = Command(
        "ask", "Send a request of the Web Services API to any database, and print its answer.",
        discussion: "You ask past all grants, and the audit log has each request. nacre query explain asks queries.",
        arguments: [operation, request],
        options: [SharedOptions.container, SharedOptions.environment, database, user] + AdminServer.options
    ) { call in
        let name = try call.require(operation)
        guard let operation = AdminClient.DatabaseOperation(rawValue: name) else {
            throw UsageError(.invalid("<\(operation.name)>", operation.help), path: call.path)
        }
        let text = try call.require(request, at: 1)
        let asked = AdminMessages.NewDatabaseRequest(
            container: try call.require(SharedOptions.container), environment: try call.require(SharedOptions.environment),
            database: try call.require(database), user: call.value(user), request: text == "-" ? try TextFile.read(text) : text)
        try Output.data(try await AdminClient.connect(call).ask(operation, asked).answer)
    }
}
