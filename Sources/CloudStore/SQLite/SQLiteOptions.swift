package import CloudContainer

/// How a SQLite store is opened. The defaults are what a server wants.
package struct SQLiteOptions: Sendable {
    /// The SQLite virtual file system to go through: tests put a disk there that fails. nil is the system's own.
    package var vfs: String?
    /// Called when the disk fails to sync, on a thread of the store. The default says so on standard error and ends the process with code 70:
    /// what is on the disk is then unknown, and only a new start can read it.
    package var onFsyncFailure: @Sendable (StoreError) -> Void = DiskTrust.endProcess

    /// Pages of 4 KiB that the write-ahead log may hold before writers wait for it to be emptied: it cannot grow much beyond.
    package var pagesInLog = SQLiteLimits.pagesInLog
    /// Pages of the log not yet in the file at which they are copied there, beside the writer.
    package var pagesBeforeCheckpoint = SQLiteLimits.pagesBeforeCheckpoint

    package init() {}
}
