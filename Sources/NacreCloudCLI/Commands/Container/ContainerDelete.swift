import NacreCloudServer

/// `nacre container delete`
enum ContainerDelete {
    private static let backup = Option.value(
        "backup", "file", "Make this backup of all data first, on the server's machine; a folder gets a file that is named by the time.")
    private static let noBackup = Option.flag("no-backup", "Make no backup.")

    static let command = Command(
        "delete", "Delete a container with all its data, after a backup. Nothing else brings it back.",
        discussion: """
            Ends the tokens and keys of its apps, and its users' sign-ins. Then all records, zones and files of both environments go, whoever's they are, and \
            schemas, roles, shares, webhooks and quotas. Accounts stay. The server passes over all accounts and databases, and the command waits for an \
            hour at most. The container is in no list from the beginning. One that was interrupted goes on when the command is called again, from the \
            first account, and no container of the name can be made before it is done. The audit log and the request log keep what they have. At a \
            terminal it asks first; elsewhere it wants --yes.
            """,
        arguments: [ContainerCommands.name], options: [backup, noBackup, SharedOptions.yes] + AdminServer.options + [SharedOptions.json]
    ) { call in
        let name = try call.require(ContainerCommands.name)
        let path = call.value(backup).map(BackupCommands.absolute)
        if path != nil, call.has(noBackup) { throw UsageError(.exclusive("--\(backup.name)", "--\(noBackup.name)"), path: call.path) }
        if path == nil, !call.has(noBackup) { throw UsageError(.missingOption("--\(backup.name) <file>"), path: call.path) }
        let admin = try await AdminClient.connect(call)
        try Confirmation.require("Delete \(name) and all its data?", else: "nothing was deleted", call)
        if let path {
            let made = try await BackupCreate.make(AdminMessages.NewBackup(path: path, bytesPerSecond: nil), admin)
            Output.message("The backup is made and checked: \(made.path)")
        }
        let deletion = try await admin.delete(AdminMessages.NewContainerDeletion(name: name))
        if call.has(SharedOptions.json) { return try Output.json(deletion) }
        try Output.data(deletion.name)
        Output.message(
            "The container is deleted: \(deletion.credentials) tokens and keys, \(deletion.databases) databases, and the names of \(deletion.accounts) accounts."
        )
    }
}
