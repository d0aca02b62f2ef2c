import NacreCloudServer

/// `nacre schema history`
enum SchemaHistory {
    static let command = Command(
        "history", "List the changes of a schema that administrators made, newest first.",
        discussion: """
            Each change is a line with its number, time and kind (import, index, deploy, reset or undo), and who made it: administrator, or a \
            management token or a session of the console by its ID and name. Below it stands what it changed: + came, - went, ~ changed. What came with the saves of apps is not listed. The last 50 changes of an environment are kept.
            """,
        options: [SharedOptions.container, SharedOptions.environment] + AdminServer.options + [SharedOptions.json]
    ) { call in
        let history = try await AdminClient.connect(call).schemaHistory(
            of: try call.require(SharedOptions.container), try call.require(SharedOptions.environment))
        if call.has(SharedOptions.json) { return try Output.json(history) }
        for change in history.changes {
            let author = change.author.map(AuthorText.of) ?? "administrator"
            try Output.data("\(change.number) \(change.time) \(change.kind)\(change.isUndone ? " (undone)" : "") by \(author)")
            for difference in change.differences ?? [] { try Output.data("  \(difference.line)") }
            if change.differences == nil { try Output.data("  \(change.count) differences, too many to be kept") }
        }
        if history.changes.isEmpty { Output.message("No administrator has changed this schema.") }
    }
}

/// `nacre schema undo`
enum SchemaUndo {
    private static let dryRun = Option.flag("dry-run", "Say what would change, and change nothing.")

    static let command = Command(
        "undo", "Take the last change of a development schema back.",
        discussion: """
            The last change of nacre schema history that has not been undone: done again, it takes back the one before. Types and fields that came with \
            saves since stay. Refused where production has, or records may use, what would go. What is in production stays there. Records that a \
            reset deleted do not come back.
            """,
        options: [SharedOptions.container, dryRun] + AdminServer.options + [SharedOptions.json]
    ) { call in
        let isDryRun = call.has(dryRun)
        let undo = try await AdminClient.connect(call).undo(
            AdminMessages.NewUndo(container: try call.require(SharedOptions.container), isDryRun: isDryRun))
        if call.has(SharedOptions.json) { return try Output.json(undo) }
        for difference in undo.differences { try Output.data(difference.line) }
        let what = "change \(undo.number) (\(undo.kind))"
        Output.message(isDryRun ? "This was a dry run: \(what) still holds." : "The schema is as before \(what).")
    }
}
