import NacreCloudServer

/// `nacre migrate`
enum Migrate {
    private static let dryRun = Option.flag("dry-run", "Only say what would be done, and what it costs.")
    static let noBackup = Option.flag("no-migration-backup", "Make no backup before older data are brought to this version.")

    static let command = Command(
        "migrate", "Bring the data of an older version to this one, without serving.",
        discussion: "A start does the same. Both make a backup beside the data first. No server may run on the folder.",
        options: [SharedOptions.data, dryRun, noBackup, SharedOptions.json]
    ) { call in
        let folder = try call.require(SharedOptions.data)
        let migration: OfflineFolder.Migration
        if call.has(dryRun) {
            migration = try await BackupCommands.run { _ in try OfflineFolder.migrationPlan(of: folder) }
        } else {
            migration = try await OfflineFolder.migrate(folder, makesBackup: !call.has(noBackup))
        }
        if call.has(SharedOptions.json) { return try Output.json(migration) }
        try Output.data("from version \(migration.from) to version \(migration.to)")
        guard migration.isNeeded else { return Output.message("Nothing is to be done.") }
        if call.has(dryRun) {
            Output.message(
                """
                The database has \(migration.bytes) bytes. A backup before it takes as many, and what is rewritten takes up to \(migration.logBytes) meanwhile; \
                \(migration.freeBytes) bytes are free. Nothing was changed.
                """)
        } else {
            Output.message(migration.backup.map { "Done; the data of before are in \($0)." } ?? "Done, without a backup.")
        }
    }
}
