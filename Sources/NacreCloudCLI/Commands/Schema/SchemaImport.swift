import NacreCloudServer

/// `nacre schema import`
enum SchemaImport {
    private static let dryRun = Option.flag("dry-run", "Say what would change, and change nothing.")

    static let command = Command(
        "import", "Make the development schema of a container what a file says.",
        discussion: """
            The file is in CloudKit's schema language, as nacre schema export prints it, and says everything: roles, types, fields and indexes that it \
            leaves out go, unless production or records have them. Each change is printed on a line, and each query that \
            development has answered within a month, and does not any more, in one that begins with ?. Production gets a schema by nacre schema deploy.
            """,
        arguments: [SchemaArgument.file],
        options: [SharedOptions.container, dryRun] + AdminServer.options + [SharedOptions.json]
    ) { call in
        let text = try TextFile.read(try call.require(SchemaArgument.file, at: 0))
        let isDryRun = call.has(dryRun)
        let changes = try await AdminClient.connect(call).importSchema(
            AdminMessages.NewImport(container: try call.require(SharedOptions.container), text: text, isDryRun: isDryRun))
        if call.has(SharedOptions.json) { return try Output.json(changes) }
        for change in changes.differences { try Output.data(change.line) }
        for broken in changes.broken ?? [] { try Output.data(broken.line) }
        if changes.differences.isEmpty { return Output.message("The schema is what the file says.") }
        Output.message(isDryRun ? "This was a dry run: the schema is as it was." : "The schema is imported.")
    }
}

/// `nacre schema diff`
enum SchemaDiff {
    static let command = Command(
        "diff", "Compare a container's schema with a file.",
        discussion: """
            Prints what is to be changed to make the schema what the file says, each change on a line, and ends with 2 where there is any: + comes, \
            - goes, ~ changes.
            """,
        arguments: [SchemaArgument.file],
        options: [SharedOptions.container, SharedOptions.environment] + AdminServer.options + [SharedOptions.json]
    ) { call in
        let text = try TextFile.read(try call.require(SchemaArgument.file, at: 0))
        let found = try await AdminClient.connect(call).differences(
            AdminMessages.NewDiff(
                container: try call.require(SharedOptions.container), environment: try call.require(SharedOptions.environment), text: text))
        if call.has(SharedOptions.json) {
            try Output.json(found)
        } else {
            for difference in found.differences { try Output.data(difference.line) }
        }
        if found.differences.isEmpty { return }
        throw CommandFailure(
            .damaged, "the schema is not what the file says",
            remedy: "nacre schema import brings the file to development, nacre schema deploy to production.")
    }
}

enum SchemaArgument {
    static let file = Argument("file", "A file in CloudKit's schema language; - reads standard input.")
}

extension AdminMessages.BrokenQuery {
    /// A line for people.
    var line: String { "? \(query): \(reason)" }
}

extension AdminMessages.Difference {
    /// A line for people: + added, - removed, ~ changed.
    var line: String {
        let name = role.map { "ROLE \($0)" } ?? [recordType, field].compactMap(\.self).joined(separator: ".")
        return switch (before, after) {
        case (let before?, let after?): "~ \(name) \(before) → \(after)"
        case (let before?, nil): before.isEmpty ? "- \(name)" : "- \(name) \(before)"
        case (nil, let after?): after.isEmpty ? "+ \(name)" : "+ \(name) \(after)"
        case (nil, nil): name
        }
    }
}
