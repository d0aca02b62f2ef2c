import NacreCloudServer

/// `nacre schema`
enum SchemaCommands {
    static let command = Command(
        "schema", "Show, change and deploy schemas.",
        subcommands: [
            SchemaExport.command, SchemaImport.command, SchemaValidate.command, SchemaDiff.command, SchemaDeploy.command, SchemaIndex.command,
            SchemaReset.command, SchemaHistory.command, SchemaUndo.command, SchemaIndexes.command, SchemaCounts.command,
            SchemaTypes.command,
        ])
}

/// `nacre schema export`
enum SchemaExport {
    private static let outputFile = Option.value("output-file", "file", "Write the schema to this file, in place of one that is there.")

    static let command = Command(
        "export", "Print the schema of a container, or write it to a file.",
        discussion: """
            The text is in CloudKit's schema language, laid out as CloudKit exports a schema: the same schema gives the same bytes. nacre schema import \
            brings it back.
            """,
        options: [SharedOptions.container, SharedOptions.environment, outputFile] + AdminServer.options + [SharedOptions.json]
    ) { call in
        if call.isGiven(outputFile), call.has(SharedOptions.json) { throw UsageError(.exclusive("--output-file", "--json"), path: call.path) }
        let admin = try await AdminClient.connect(call)
        let schema = try await admin.schema(
            of: try call.require(SharedOptions.container), try call.require(SharedOptions.environment))
        if call.has(SharedOptions.json) { return try Output.json(schema) }
        if let path = call.value(outputFile) {
            try TextFile.write(schema.text, to: path)
            Output.message("The schema is in \(path).")
        } else {
            try Output.text(schema.text)
        }
        if !schema.indexed.isEmpty { Output.message("Fields with an index that queries needed: \(schema.indexed.joined(separator: ", "))") }
        if !schema.building.isEmpty { Output.message("Indexes being built: \(schema.building.joined(separator: ", "))") }
    }
}
