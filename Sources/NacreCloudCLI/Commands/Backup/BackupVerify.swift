import NacreCloudServer

/// `nacre backup verify`
enum BackupVerify {
    private static let file = Argument("file", "The backup.")

    static let command = Command(
        "verify", "Check a backup: every byte, the database in it, and the files of records beside it.",
        discussion: """
            Needs no server. Exit status 2 where the file is damaged, altered or unfinished, or where files of records are missing or damaged in the folder \
            assets beside it. Prints the path.
            """,
        arguments: [file],
        options: [SharedOptions.json]
    ) { call in
        let path = try call.require(file)
        let backup = try await BackupCommands.run { try OfflineFolder.verify(path, $0) }
        try BackupCommands.show(backup, as: "The backup is whole", call)
    }
}
