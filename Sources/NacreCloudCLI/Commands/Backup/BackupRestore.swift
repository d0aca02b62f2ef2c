import NacreCloudServer

/// `nacre backup restore`
enum BackupRestore {
    private static let file = Argument("file", "The backup.")
    private static let data = Option.required("data", "dir", "The data folder to put it into; made if it is missing.")
    private static let replace = Option.flag("replace", "Put data that are there aside, into a folder beside them.")

    private struct Restored: Encodable {
        var backup: AdminMessages.Backup
        var replaced: String?
    }

    static let command = Command(
        "restore", "Put a backup into a data folder that no server has.",
        discussion: """
            Checks the whole backup first: exit status 2 where it is damaged, and nothing is changed. Data that are there are kept, in a folder whose \
            name is said.
            """,
        // What is written over is named where it is done.
        arguments: [file], options: [data, replace, SharedOptions.json], settings: []
    ) { call in
        let (path, folder, replaces) = (try call.require(file), try call.require(data), call.has(replace))
        let restored = try await BackupCommands.run { try OfflineFolder.restore(path, to: folder, replaces: replaces, $0) }
        if call.has(SharedOptions.json) { return try Output.json(Restored(backup: restored.backup, replaced: restored.replaced)) }
        try Output.data(folder)
        Output.message("The data are those of \(restored.backup.time), from \(path).")
        if let replaced = restored.replaced { Output.message("What was there before is kept in \(replaced).") }
    }
}
