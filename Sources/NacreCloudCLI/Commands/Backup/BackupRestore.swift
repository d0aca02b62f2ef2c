import NacreCloudServer

/// `nacre backup restore`
enum BackupRestore {
    private static let file = Argument("file", "The backup.")
    private static let data = Option.required("data", "dir", "The data folder to put it into; made if it is missing.")
    private static let replace = Option.flag("replace", "Put data that are there aside, into a folder beside them.")

    private static let withoutAssets = Option.flag(
        "without-assets", "Go on where files of records are missing or damaged beside the backup: these files are lost.")

    private struct Restored: Encodable {
        var backup: AdminMessages.Backup
        var replaced: String?
        var lostFiles: Int
    }

    static let command = Command(
        "restore", "Put a backup into a data folder that no server has.",
        discussion: """
            Checks the whole backup first, and the files of records in the folder assets beside it: exit status 2 where something is damaged or missing, \
            and nothing is changed. Data that are there are kept, in a folder whose name is said. An interrupt leaves the data of before.
            """,
        // No settings: a folder that is overwritten must be named on the command line.
        arguments: [file], options: [data, replace, withoutAssets, SharedOptions.json], settings: []
    ) { call in
        let (path, folder, replaces, goesOn) = (try call.require(file), try call.require(data), call.has(replace), call.has(withoutAssets))
        let restored = try await BackupCommands.run {
            try OfflineFolder.restore(path, to: folder, replaces: replaces, withoutAssets: goesOn, $0)
        }
        if call.has(SharedOptions.json) {
            return try Output.json(Restored(backup: restored.backup, replaced: restored.replaced, lostFiles: restored.lostFiles))
        }
        try Output.data(folder)
        Output.message("The data are those of \(restored.backup.time), from \(path).")
        if let replaced = restored.replaced { Output.message("What was there before is kept in \(replaced).") }
        if restored.lostFiles > 0 {
            Output.message(
                "Lost files of records: \(restored.lostFiles). nacre check names them; each comes back when its app saves it again, "
                    + "or when its chunks are put into \(folder)/assets.")
        }
    }
}
