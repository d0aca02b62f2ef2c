import CloudContainer

/// The file `nacre.sqlite` of a data folder: its settings, its version, and the way up from older ones.
struct DatabaseFile: Sendable {
    /// "Nacr" as a number: marks the file as ours (`PRAGMA application_id`).
    static let applicationID = "1315005298"

    let path: String
    let vfs: String?

    init(folder: String, vfs: String?) {
        path = folder + "/nacre.sqlite"
        self.vfs = vfs
    }

    func connect(cacheKibibytes: Int, busyTimeoutMilliseconds: Int32 = SQLiteLimits.busyTimeoutMilliseconds) throws -> Connection {
        try Connection(path: path, vfs: vfs, cacheKibibytes: cacheKibibytes, busyTimeoutMilliseconds: busyTimeoutMilliseconds)
    }

    /// Brings the file to the version of this build, making its tables if it is new.
    func prepare(_ connection: Connection) throws {
        let version = try Int32(connection.execute("PRAGMA user_version") ?? "") ?? 0
        let owner = try connection.execute("PRAGMA application_id") ?? ""
        let isEmpty = try connection.execute("SELECT count(*) FROM sqlite_schema") == "0"
        guard isEmpty || owner == Self.applicationID else {
            throw StoreError(.corrupt, "The database file is not Nacre's", ["path": path, "applicationID": owner])
        }
        guard version <= Migration.current else {
            throw StoreError(
                .newerVersion, "The data was written by a newer version: start that version, or restore a backup made by this one",
                ["path": path, "found": String(version), "supported": String(Migration.current)])
        }
        guard try connection.execute("PRAGMA journal_mode = WAL") == "wal" else {
            throw StoreError(.unavailable, "The file system cannot hold a write-ahead log", ["path": path])
        }
        guard version < Migration.current else { return }
        try migrate(connection, from: version)
    }

    /// All steps in one transaction: a file is of one version or of the other.
    private func migrate(_ connection: Connection, from version: Int32) throws {
        try connection.run(.beginWrite)
        do {
            for migration in Migration.all where migration.version > version {
                for statement in migration.statements {
                    try connection.execute(String(describing: statement.text))
                }
            }
            try connection.execute("PRAGMA application_id = \(Self.applicationID)")
            try connection.execute("PRAGMA user_version = \(Migration.current)")
            try connection.run(.commit)
        } catch {
            connection.abandonTransaction()
            throw error
        }
    }
}
