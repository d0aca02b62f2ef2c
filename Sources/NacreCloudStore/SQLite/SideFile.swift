import Glibc
import NacreCloudStorage

/// A kind of SQLite file beside the store, such as telemetry or a part of the request log. Such a file has a thread and
/// a connection of its own, is no part of a backup, and gives way to a new one if it is damaged.
struct SideFile: Sendable {
    /// Four letters as a number, which mark a file as one of this kind (`PRAGMA application_id`).
    let mark: Int32
    /// The version of the tables. A file of another one counts as damaged.
    let version: Int
    let tables: [Statement]
    /// Settings of the connection, which come before the first read.
    let settings: [String]

    /// Bytes of the pages that a connection keeps: little, since these files are mostly written.
    private static let cacheKibibytes = 512

    /// Opens a file, and makes its tables if it is new or its making was cut short.
    /// - Parameters:
    ///   - path: nil: in memory.
    ///   - fill: writes the first rows, in the transaction that makes the tables.
    /// - Throws: `.corrupt` for a damaged file, and for one of another kind or version.
    func open(_ path: String?, vfs: String?, fill: (Connection) throws -> Void = { _ in }) throws -> Connection {
        if let path { try FolderLock.makeFile(path) }
        let connection = try Connection(
            path: path ?? ":memory:", vfs: vfs, cacheKibibytes: Self.cacheKibibytes, busyTimeoutMilliseconds: SQLiteLimits.busyTimeoutMilliseconds)
        do {
            for setting in settings { try connection.execute("PRAGMA " + setting) }
            // A power cut may take the last transaction, and no more. A sync behind the end of a commit could also
            // fail, and then the transaction would count as failed although it is in the file.
            try connection.sync(false)
            if try connection.execute("SELECT count(*) FROM sqlite_schema") == "0" {
                try make(connection, fill)
            } else {
                let found = (try connection.execute("PRAGMA application_id"), try connection.execute("PRAGMA user_version"))
                guard found == (String(mark), String(version)) else {
                    throw StoreError(.corrupt, "The file is of another kind or version", ["path": path ?? ""])
                }
            }
            return connection
        } catch {
            connection.close()
            throw error
        }
    }

    private func make(_ connection: Connection, _ fill: (Connection) throws -> Void) throws {
        try connection.run(.beginWrite)
        do {
            for table in tables { try connection.run(table) }
            try connection.execute("PRAGMA application_id = \(mark)")
            try connection.execute("PRAGMA user_version = \(version)")
            try fill(connection)
            try connection.run(.commit)
        } catch {
            connection.abandonTransaction()
            throw error
        }
    }

    private static let endings = ["", "-wal", "-shm", "-journal"]

    /// Removes a file with those that SQLite keeps beside it.
    static func remove(_ path: String) {
        for ending in endings { unlink(path + ending) }
    }

    /// Puts a file in the place of another, which is removed.
    static func move(_ path: String, to target: String) {
        remove(target)
        for ending in endings { rename(path + ending, target + ending) }
    }
}
