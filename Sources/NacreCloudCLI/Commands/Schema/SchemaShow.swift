import NacreCloudServer

/// `nacre schema`
enum SchemaCommands {
    static let command = Command(
        "schema", "Show, change and deploy schemas.",
        subcommands: [
            SchemaShow.command, SchemaImport.command, SchemaDiff.command, SchemaDeploy.command, SchemaIndex.command, SchemaReset.command,
        ])
}

/// `nacre schema show`
enum SchemaShow {
    static let command = Command(
        "show", "Show the record types of a container.",
        discussion: "Prints them in CloudKit's schema language, as CloudKit exports a schema.",
        options: [SharedOptions.container, SharedOptions.environment] + AdminServer.options + [SharedOptions.json]
    ) { call in
        let admin = try await AdminClient.connect(call)
        let schema = try await admin.schema(
            of: try call.require(SharedOptions.container), try call.require(SharedOptions.environment))
        if call.has(SharedOptions.json) { return try Output.json(schema) }
        try Output.text(schema.text)
        if !schema.building.isEmpty { Output.message("Indexes being built: \(schema.building.joined(separator: ", "))") }
    }
}
