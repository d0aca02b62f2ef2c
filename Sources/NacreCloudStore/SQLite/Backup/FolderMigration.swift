import Glibc
import NacreCloudStorage

/// The cost of a migration of a data folder to the version of this build.
package struct MigrationPlan: Hashable, Sendable {
    package var from: Int32
    package var to: Int32
    /// Bytes of the database, including pages that are only in its log.
    package var bytes: Int64
    package var freeBytes: Int64

    /// Bytes of the backup before the migration, and the most by which the log grows. Each step logs what it rewrites,
    /// and a step that copies its tables logs as much as the database has.
    package var backupBytes: Int64 { bytes }
    package var logBytes: Int64 { bytes }

    package var isNeeded: Bool { from < to }
}

package enum FolderMigration {
    /// Looks and changes nothing. Blocks.
    ///
    /// - Throws: `StoreError` `.inUse` where a server has the folder, `.newerVersion`.
    package static func plan(_ folder: String, _ migrations: [Migration] = Migration.all) throws -> MigrationPlan {
        let file = DatabaseFile(folder: folder, vfs: nil, migrations: migrations)
        try FolderBackup.requireData(file, folder)
        let lock = try FolderLock(folder: folder)
        defer { lock.release() }
        try FolderRestore.checkFinished(folder)
        try RunFile(file).check(against: file.runWithoutLog)
        let connection = try file.connectWithoutWriting()
        defer { connection.close() }
        return try file.migrationPlan(connection)
    }
}

extension DatabaseFile {
    /// - Parameter connection: A connection outside of any transaction.
    func migrationPlan(_ connection: Connection) throws -> MigrationPlan {
        let version = try checkedVersion(connection)
        let pages = Int64(try connection.execute("PRAGMA page_count") ?? "") ?? 0
        let pageBytes = Int64(try connection.execute("PRAGMA page_size") ?? "") ?? 0
        var disk = statvfs()
        let free = statvfs(path, &disk) == 0 ? Int64(disk.f_bavail) * Int64(disk.f_frsize) : .max
        return MigrationPlan(from: version, to: currentVersion, bytes: pages * pageBytes, freeBytes: free)
    }

    /// Makes the backup before a migration, beside the data. Returns its path.
    func backUpBeforeMigration(_ connection: Connection, nacre: String) throws -> String {
        let plan = try migrationPlan(connection)
        let folder = BackupCopy.folder(of: path)
        guard plan.freeBytes > plan.backupBytes + plan.logBytes else {
            throw StoreError(
                .full, "There is no room for a backup before the data are brought to a newer version",
                [
                    "path": folder, "needed": String(plan.backupBytes + plan.logBytes), "free": String(plan.freeBytes),
                    "remedy": "make room, or make a backup elsewhere with nacre backup create and start with --no-migration-backup",
                ])
        }
        let seconds = time(nil)
        let order = BackupOrder(
            path: folder + "/" + FolderBackup.name(beforeMigrationFrom: plan.from, to: plan.to, seconds), folder: folder, nacre: nacre)
        _ = try BackupCopy(order: order, control: BackupControl(), seconds: seconds).run(from: connection, nil) {}
        return order.path
    }
}
