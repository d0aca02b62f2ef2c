package import NacreCloudContainer

/// How a SQLite store is opened. The defaults are what a server wants.
package struct SQLiteOptions: Sendable {
    /// The SQLite virtual file system to go through: tests put a disk there that fails. nil is the system's own.
    package var vfs: String?
    /// Called when the disk fails to sync, on a thread of the store. The default says so on standard error and ends the process with code 70:
    /// what is on the disk is then unknown, and only a new start can read it.
    package var onFsyncFailure: @Sendable (StoreError) -> Void = DiskTrust.endProcess

    /// Draws the number of the run that this opening begins, after the newest one that the file knows. Only tests draw another.
    package var drawRun: @Sendable (_ last: Int64) -> Int64 = { Run.number(after: $0, random: .random(in: .min ... .max)) }

    /// Told what an administrator should know, on a thread of the store. Must return soon.
    package var report: @Sendable (StoreEvent) -> Void = { _ in }

    /// The steps to the version of this build. Only tests have others.
    package var migrations = Migration.all

    /// The version of nacre, for a backup of an older file before it is rewritten; nil to make none.
    package var backsUpBeforeMigrationAs: String?
    /// Where backups of this folder may lie besides the folder itself: what is named when the data are of a newer version.
    package var backupFolders: [String] = []

    /// Pages of 4 KiB from which the write-ahead log is to begin anew. `LogBound` says how far it can grow beyond.
    package var pagesInLog = SQLiteLimits.pagesInLog
    /// Pages of the log not yet in the file at which they are copied there, beside the writer; `.max`: never.
    package var pagesBeforeCheckpoint = SQLiteLimits.pagesBeforeCheckpoint
    /// When rows of indexes are packed.
    package var packing = PackingBound.standard
    /// How long the body of one write may take before it is told (`StoreEvent.heldWriter`).
    package var writerHold = SQLiteLimits.writerHold
    /// After so many without a commit the log is cut to nothing.
    package var idleSecondsBeforeTruncation = SQLiteLimits.idleSecondsBeforeTruncation

    package init() {}
}
