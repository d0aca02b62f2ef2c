import Glibc
import NacreCloudStorage

/// The file `nacre.sqlite` of a data folder: its connections, its version, and its migrations.
struct DatabaseFile: Sendable {
    /// "Ncre" as a number: marks the file as ours (`PRAGMA application_id`).
    static let applicationID = "1315140197"
    /// "Nacr": marks files that were written before the format had its version 1.
    private static let earlierApplicationID = "1315005298"

    let folder: String
    let path: String
    let vfs: String?
    /// The steps to the version of this build.
    let migrations: [Migration]
    /// Called with an older file before it is rewritten, and the version that it has.
    let beforeMigration: @Sendable (DatabaseFile, Connection, Int32) throws -> Void

    init(
        folder: String, vfs: String?, migrations: [Migration] = Migration.all,
        beforeMigration: @escaping @Sendable (DatabaseFile, Connection, Int32) throws -> Void = { _, _, _ in }
    ) {
        self.folder = folder
        self.migrations = migrations
        path = folder + "/nacre.sqlite"
        self.vfs = vfs
        self.beforeMigration = beforeMigration
    }

    /// The version that the file has once all steps are done.
    var currentVersion: Int32 { migrations.last?.version ?? 0 }

    func connect(cacheKibibytes: Int, busyTimeoutMilliseconds: Int32 = SQLiteLimits.busyTimeoutMilliseconds) throws -> Connection {
        try Connection(path: path, vfs: vfs, cacheKibibytes: cacheKibibytes, busyTimeoutMilliseconds: busyTimeoutMilliseconds)
    }

    /// Returns the run of the file without its log; nil if the file is missing, older than runs, or cannot be read
    /// alone.
    func runWithoutLog() -> Int64? {
        let connection = try? Connection(
            path: path, vfs: vfs, access: .immutable, cacheKibibytes: SQLiteLimits.checkpointerCacheKibibytes, busyTimeoutMilliseconds: 0)
        guard let connection else { return nil }
        defer { connection.close() }
        return (try? connection.execute("SELECT run FROM runs")).flatMap { Int64($0) }
    }

    /// Opens the file for a reader that leaves it and its log as they are.
    func connectWithoutWriting() throws -> Connection {
        if size(path + "-wal") == 0 {
            return try Connection(
                path: path, vfs: vfs, access: .immutable, cacheKibibytes: SQLiteLimits.checkpointerCacheKibibytes, busyTimeoutMilliseconds: 0)
        }
        let connection = try connect(cacheKibibytes: SQLiteLimits.checkpointerCacheKibibytes)
        // Otherwise the last connection that closes would copy the log into the file.
        connection.keepLogWhenClosing()
        return connection
    }

    /// Returns the reason why the file could not be opened. If the folder is not writable it says so, because SQLite
    /// only names the first file that it missed.
    func whyNotWritable(_ error: StoreError) -> StoreError {
        guard error.code == .unavailable, access(folder, W_OK) != 0 else { return error }
        return DataFolder.systemError("The data folder cannot be written", folder)
    }

    /// Opens the file read-only, without its log.
    /// - Throws: The code of `reason` if the file is incomplete without its log, or must be migrated first.
    func connectImmutable(because reason: StoreError) throws -> Connection {
        guard size(path) > 0 else { throw reason }
        guard size(path + "-wal") == 0 else {
            throw StoreError(
                reason.code, "The log of the last run cannot be read back while the data folder cannot be written: \(reason.text)", reason.values)
        }
        let connection = try Connection(
            path: path, vfs: vfs, access: .immutable, cacheKibibytes: SQLiteLimits.readerCacheKibibytes, busyTimeoutMilliseconds: 0)
        do {
            let version = try checkedVersion(connection)
            guard version == currentVersion else {
                throw StoreError(
                    reason.code, "The data is of an older version and cannot be rewritten now: \(reason.text)",
                    reason.values.merging(["found": String(version), "needed": String(currentVersion)]) { one, _ in one })
            }
            return connection
        } catch {
            connection.close()
            throw error
        }
    }

    private func size(_ path: String) -> Int {
        var status = stat()
        return stat(path, &status) == 0 ? Int(status.st_size) : 0
    }

    /// Migrates the file to the version of this build, and makes its tables if it is new.
    func prepare(_ connection: Connection) throws {
        let version = try checkedVersion(connection)
        guard try connection.execute("PRAGMA journal_mode = WAL") == "wal" else {
            throw StoreError(.unavailable, "The file system cannot hold a write-ahead log", ["path": path])
        }
        guard version < currentVersion else { return }
        if version > 0 { try beforeMigration(self, connection, version) }
        try migrate(connection, from: version)
    }

    /// Returns the version of the file. Throws if the file is not ours, or newer than this build.
    func checkedVersion(_ connection: Connection) throws -> Int32 {
        let version = try Int32(connection.execute("PRAGMA user_version") ?? "") ?? 0
        let owner = try connection.execute("PRAGMA application_id") ?? ""
        let isEmpty = try connection.execute("SELECT count(*) FROM sqlite_schema") == "0"
        guard owner != Self.earlierApplicationID else {
            throw StoreError(
                .unavailable, "The data were written before the format had its version 1, and no build reads them any more",
                ["path": path, "remedy": "begin with another folder, --data FOLDER; apps send again what they have"])
        }
        guard isEmpty || owner == Self.applicationID else {
            throw StoreError(.corrupt, "The database file is not Nacre's", ["path": path, "applicationID": owner])
        }
        guard version <= currentVersion else {
            throw StoreError(
                .newerVersion, "The data was written by a newer version: start that version, or restore a backup made by this one",
                ["path": path, "found": String(version), "supported": String(currentVersion)])
        }
        return version
    }

    /// Runs all steps in one transaction, so that a file is either of the old version or of the new one.
    private func migrate(_ connection: Connection, from version: Int32) throws {
        try connection.run(.beginWrite)
        do {
            for migration in migrations where migration.version > version {
                for statement in migration.statements {
                    try connection.execute(String(describing: statement.text))
                }
            }
            try connection.execute("PRAGMA application_id = \(Self.applicationID)")
            try connection.execute("PRAGMA user_version = \(currentVersion)")
            try connection.run(.commit)
        } catch {
            connection.abandonTransaction()
            throw error
        }
    }
}
