import NacreCloudServer

extension AdminClient {
    /// Connects to the server whose administrator a cktool verb acts as.
    fileprivate static func connect(asCktool call: Call) async throws -> AdminClient {
        CktoolOptions.noteTeam(call)
        // A server that is named by its token file takes the token of that file.
        if call.isGiven(AdminServer.tokenFile) {
            if call.isGiven(CktoolOptions.token) { throw UsageError(.exclusive("--token", "--token-file"), path: call.path) }
            return try await connect(call)
        }
        guard let token = try CktoolTokens.token(.management, for: call) else { return try await connect(call) }
        return try await connect(to: try AdminServer.named(by: call, token: token))
    }
}

private enum ImportTarget {
    /// Checks that the environment takes an import.
    /// - Throws: For production, which changes only by a deployment.
    static func check(_ call: Call) throws {
        guard try CktoolOptions.environment(call) == "production" else { return }
        throw CommandFailure(
            .failure, "endpoint not applicable in the environment 'production'",
            remedy: "Import into development, then bring it to production: nacre schema deploy.")
    }
}

/// `nacre cktool export-schema`
enum CktoolExportSchema {
    private static let outputFile = Option.value("output-file", "file", "Write the schema to this file.")

    static let command = Command(
        "export-schema", "Print the schema of a container, or write it to a file.",
        options: CktoolOptions.management + [CktoolOptions.environment, outputFile]
    ) { call in
        let environment = try CktoolOptions.environment(call)
        let schema = try await AdminClient.connect(asCktool: call).schema(of: try call.require(CktoolOptions.containerID), environment)
        guard let path = call.value(outputFile) else { return try Output.text(schema.text) }
        try TextFile.write(schema.text, to: path)
    }
}

/// `nacre cktool import-schema`
enum CktoolImportSchema {
    private static let validate = Option.flag("validate", "Validate before: a file that is not valid changes nothing, with or without it.")

    static let command = Command(
        "import-schema", "Make the development schema of a container what a file says.",
        discussion: "Silent where it succeeds. nacre schema import says what changed, and has --dry-run.",
        options: CktoolOptions.management + [CktoolOptions.environment, CktoolOptions.file, validate]
    ) { call in
        try ImportTarget.check(call)
        let text = try TextFile.read(try call.require(CktoolOptions.file))
        _ = try await AdminClient.connect(asCktool: call).importSchema(
            AdminMessages.NewImport(container: try call.require(CktoolOptions.containerID), text: text, isDryRun: false))
    }
}

/// `nacre cktool validate-schema`
enum CktoolValidateSchema {
    static let command = Command(
        "validate-schema", "Say whether a file could be imported.",
        discussion: "Ends with 2 where it could not. nacre schema validate does the same, and without a server too.",
        options: CktoolOptions.management + [CktoolOptions.environment, CktoolOptions.file]
    ) { call in
        try ImportTarget.check(call)
        let text = try TextFile.read(try call.require(CktoolOptions.file))
        let fault = try await AdminClient.connect(asCktool: call).fault(
            of: AdminMessages.NewImport(container: try call.require(CktoolOptions.containerID), text: text, isDryRun: true))
        if let fault { throw CommandFailure(.damaged, "Schema validation failed: \(fault.text)", remedy: fault.remedy) }
        try Output.data("✅ Schema is valid.")
    }
}

/// `nacre cktool reset-schema`
enum CktoolResetSchema {
    static let command = Command(
        "reset-schema", "Make development what production is: its schema, and no records. Does not ask.",
        discussion: "Silent, as cktool is. nacre schema reset asks before, says what goes, and has --dry-run.",
        options: CktoolOptions.management
    ) { call in
        _ = try await AdminClient.connect(asCktool: call).reset(
            AdminMessages.NewReset(container: try call.require(CktoolOptions.containerID), isDryRun: false))
    }
}
