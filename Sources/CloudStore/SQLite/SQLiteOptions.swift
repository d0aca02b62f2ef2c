package import CloudContainer

/// How a SQLite store is opened. The defaults are what a server wants.
package struct SQLiteOptions: Sendable {
    /// The SQLite virtual file system to go through: tests put a disk there that fails. nil is the system's own.
    package var vfs: String?
    /// Called when the disk fails to sync, on a thread of the store. The default says so on standard error and ends the process with code 70:
    /// what is on the disk is then unknown, and only a new start can read it.
    package var onFsyncFailure: @Sendable (StoreError) -> Void = DiskTrust.endProcess

    package init() {}
}
