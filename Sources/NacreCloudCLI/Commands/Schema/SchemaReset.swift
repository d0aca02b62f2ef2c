import NacreCloudServer

/// `nacre schema reset`
enum SchemaReset {
    private static let dryRun = Option.flag("dry-run", "Say what would go, and change nothing.")

    static let command = Command(
        "reset", "Make the development environment of a container what its production is: its schema, and no records.",
        discussion: """
            All records and zones of development go, whoever's they are, and the roles, types and fields that production does not have. Users have \
            none of the roles that stay: they are assigned anew. Production is not touched. At a terminal it asks first; elsewhere it wants --yes.
            """,
        options: [SharedOptions.container, dryRun, SharedOptions.yes] + AdminServer.options + [SharedOptions.json]
    ) { call in
        let container = try call.require(SharedOptions.container)
        let admin = try await AdminClient.connect(call)
        let isDryRun = call.has(dryRun)
        if !isDryRun, !call.has(SharedOptions.yes) {
            let loss = try await admin.reset(AdminMessages.NewReset(container: container, isDryRun: true))
            for line in lines(loss) { Output.message(line) }
            try Confirmation.require("Reset the development environment of \(container)?", else: "nothing was reset", call)
        }
        let reset = try await admin.reset(AdminMessages.NewReset(container: container, isDryRun: isDryRun))
        if call.has(SharedOptions.json) { return try Output.json(reset) }
        for line in lines(reset) { try Output.data(line) }
        Output.message(isDryRun ? "This was a dry run: development is as it was." : "The development environment is reset.")
    }

    private static func lines(_ reset: AdminMessages.Reset) -> [String] {
        reset.roles.map { "- ROLE \($0)" } + reset.types.map { "- \($0)" } + reset.fields.map { "- \($0)" } + [
            "- all records of \(reset.databases) databases"
        ]
    }
}
