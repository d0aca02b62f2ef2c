package import NacreCloudStorage

/// The options of opening a SQLite store. The defaults are a server's.
package struct SQLiteOptions: Sendable {
    /// SQLite's virtual file system; nil is the system's own. Tests use one with a failing disk.
    package var vfs: String?
    /// Called when the disk fails to sync, on a thread of the store. The default reports it on standard error and ends
    /// the process with code 70. The state of the disk is then unknown, and only a new start can read it.
    package var onFsyncFailure: @Sendable (StoreError) -> Void = DiskTrust.endProcess

    /// Draws the number of this opening's run, from the newest run that the file knows. Only tests replace it.
    package var drawRun: @Sendable (_ last: Int64) -> Int64 = { Run.number(after: $0, random: .random(in: .min ... .max)) }

    /// Called with events for the administrator, on a thread of the store. It must return soon.
    package var report: @Sendable (StoreEvent) -> Void = { _ in }

    /// The steps to the version of this build. Only tests have others.
    package var migrations = Migration.all

    /// The version of nacre, for a backup of an older file before it is rewritten; nil to make none.
    package var backsUpBeforeMigrationAs: String?
    /// Folders besides this one that may hold backups of it. The newest backup is named if the data are of a newer
    /// version.
    package var backupFolders: [String] = []

    /// Pages of 4 KiB from which on the write-ahead log should begin anew. `LogBound` has how far it can grow beyond.
    package var pagesInLog = SQLiteLimits.pagesInLog
    /// Pages of the log not yet in the file from which on they are copied there, beside the writer; `.max`: never.
    package var pagesBeforeCheckpoint = SQLiteLimits.pagesBeforeCheckpoint
    package var packing = PackingBound.standard
    /// The time after which the body of one write is reported (`StoreEvent.heldWriter`).
    package var writerHold = SQLiteLimits.writerHold
    /// Seconds without a commit after which the log is truncated.
    package var idleSecondsBeforeTruncation = SQLiteLimits.idleSecondsBeforeTruncation

    package init() {}
}
