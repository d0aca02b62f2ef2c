import NacreCloudServer

/// `nacre cktool`: the verbs of Apple's cktool with its options, for scripts that call it.
///
/// See `docs/decisions/commands-settings.md`.
enum CktoolCommands {
    static let command = Command(
        "cktool", "The verbs of Apple's cktool, for scripts that call it: alias cktool='nacre cktool'.",
        discussion: """
            Options are cktool's, and where the server is besides. Verbs for schemas ask the server of the data folder, as an administrator; verbs for \
            records ask as the user whose token is given. A token is looked for in --token, then in CLOUDKIT_MANAGEMENT_TOKEN or CLOUDKIT_USER_TOKEN, \
            then where save-token put it. Exit status is that of all commands of nacre.
            """,
        subcommands: [
            CktoolSaveToken.command, CktoolRemoveToken.command, CktoolGetTeams.command, CktoolExportSchema.command, CktoolImportSchema.command,
            CktoolValidateSchema.command, CktoolResetSchema.command, CktoolCreateRecord.command, CktoolQueryRecords.command,
            CktoolDeleteRecord.command, CktoolDeleteRecords.command,
        ])
}

/// Options that cktool's verbs share.
enum CktoolOptions {
    static let token = Option.value("token", short: "t", "token", "The management token, or for records the user token.")
    static let teamID = Option.value("team-id", "team", "Taken and not used: a server of nacre has no teams.")
    static let containerID = Option.required("container-id", "container", "The container, such as iCloud.com.example.Notes.")
    static let environment = Option.required("environment", "environment", "development or production.")
    static let file = Option.required("file", "file", "A file in CloudKit's schema language.")
    static let yes = Option.flag("yes", short: "y", "Do it without asking.")

    /// Options of the verbs about schemas.
    static let management = [token, teamID, containerID] + AdminServer.options

    // Options of the verbs about records.
    static let databaseType = Option.required("database-type", "database", oneOf: ["public", "private", "shared"], "The database.")
    static let zoneName = Option.value("zone-name", "zone", fallback: "_defaultZone", "The zone.")
    static let recordType = Option.required("record-type", "type", "The record type.")
    static let filters = Option.values(
        "filters", "filter", "Conditions, such as 'stars >= 3', that must all hold: a field, an operator, a value.")
    static let server = Option.value("server", "url", "The public URL of a server elsewhere; else CLOUDKIT_SERVER_URL, else the data folder's.")
    static let records = [token, teamID, containerID, environment, databaseType, zoneName, SharedOptions.data, server]

    /// Returns the environment. Scripts for cktool write it in lower or upper case.
    static func environment(_ call: Call) throws -> String {
        let name = try call.require(environment).lowercased()
        let known = ["development", "production"]
        guard known.contains(name) else { throw UsageError(.notOneOf(option: environment.name, values: known, nearest: nil), path: call.path) }
        return name
    }

    static func noteTeam(_ call: Call) {
        if call.isGiven(teamID) { Output.message("Note: --team-id is not used; a server of nacre has no teams.") }
    }

    /// Waits until a person types yes.
    /// - Throws: Where standard input is no terminal, or the answer is not yes.
    static func confirm(_ question: String, _ call: Call) throws {
        try Confirmation.require(
            question, else: "nothing was deleted", unasked: "Interaction was required while running in non-interactive mode", call)
    }
}
