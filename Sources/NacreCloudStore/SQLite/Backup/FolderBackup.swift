import Glibc
import NacreCloudStorage

/// Backups of a data folder that no server has open.
package enum FolderBackup {
    /// Makes a backup of the database as it is, of any version. Blocks.
    /// - Throws: `StoreError` `.inUse` if a server has the folder; see `BackupCopy`.
    package static func create(_ order: BackupOrder, _ control: BackupControl) throws -> BackupManifest {
        let file = DatabaseFile(folder: order.folder, vfs: nil)
        try requireData(file, order.folder)
        let lock = try FolderLock(folder: order.folder)
        defer { lock.release() }
        try FolderRestore.checkFinished(order.folder)
        try RunFile(file).check(against: file.runWithoutLog)
        let source = try connect(file)
        defer { source.close() }
        return try BackupCopy(order: order, control: control, seconds: time(nil)).run(from: source, nil) {}
    }

    /// Opens the database for writing, or immutable if it cannot be written.
    private static func connect(_ file: DatabaseFile) throws -> Connection {
        do {
            let connection = try file.connect(cacheKibibytes: SQLiteLimits.readerCacheKibibytes)
            do {
                _ = try file.checkedVersion(connection)
                return connection
            } catch {
                connection.close()
                throw error
            }
        } catch let error {
            let reason = file.whyNotWritable(StoreError(error))
            guard reason.code == .full || reason.code == .readOnly else { throw reason }
            return try file.connectImmutable(because: reason)
        }
    }

    static func requireData(_ file: DatabaseFile, _ folder: String) throws {
        guard access(file.path, F_OK) != 0 else { return }
        throw StoreError(.unavailable, "There are no data here", ["path": file.path, "remedy": "name the data folder with --data"])
    }

    /// Returns the newest finished backup in the folders that this build can read, by its manifest; nil if there is
    /// none.
    package static func newest(in folders: [String], schemaVersionAtMost version: Int32 = Migration.current) -> (
        path: String, manifest: BackupManifest
    )? {
        folders.flatMap(finished).filter { $0.manifest.schemaVersion <= version }.max { $0.manifest.time < $1.manifest.time }
    }

    /// Returns the finished backups of a folder that have names of ours.
    package static func finished(in folder: String) -> [(path: String, manifest: BackupManifest)] {
        names(in: folder).filter { $0.hasSuffix(suffix) }.compactMap { name in
            let path = folder + "/" + name
            return (try? BackupFile.manifest(of: path)).map { (path, $0) }
        }
    }

    /// Removes unfinished backups whose processes have ended. Returns their paths.
    package static func removeUnfinished(in folder: String) -> [String] {
        names(in: folder).filter { $0.hasSuffix(suffix + BackupCopy.unfinishedSuffix) }.compactMap { name in
            let path = folder + "/" + name
            guard let file = try? FileBytes(path) else { return nil }
            defer { file.close() }
            return flock(file.descriptor, LOCK_EX | LOCK_NB) == 0 && unlink(path) == 0 ? path : nil
        }
    }

    private static func names(in folder: String) -> [String] {
        ((try? DataFolder.contents(folder)) ?? []).filter { $0.hasPrefix(prefix) }
    }

    private static let prefix = "nacre-"
    private static let suffix = ".backup"

    /// Returns the default name of a backup.
    package static func name(_ seconds: Int) -> String { prefix + UTCText.stamp(seconds) + suffix }

    /// The name of the backup that a new version makes before it rewrites the data.
    static func name(beforeMigrationFrom version: Int32, to next: Int32, _ seconds: Int) -> String {
        "\(prefix)v\(version)-before-v\(next)-\(UTCText.stamp(seconds))\(suffix)"
    }
}
