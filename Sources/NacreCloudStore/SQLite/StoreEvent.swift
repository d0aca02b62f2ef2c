package import NacreCloudStorage

/// Events for the administrator of a store that opens, or that was opened with limits.
package enum StoreEvent: Sendable {
    /// Paths that were open to others. They are private now, or cannot be made private.
    case wereOpen(DataFolder.Findings)
    /// An older file is about to be rewritten. `backup` is the path of its backup; nil if none was wanted.
    case migrating(from: Int32, to: Int32, backup: String?)
    /// Reads are served and writes refused until the files can be written. The error is the reason.
    case readOnly(StoreError)
    /// Writes are served from now on.
    case writable
    /// A write held up all others for longer than `SQLiteOptions.writerHold`: its request or task, and its changes.
    case heldWriter(HeldWriter)
    /// A group of writes was committed and is on the disk, which took this long.
    case committed(Duration)
}

/// A write that took longer than a write may.
package struct HeldWriter: Hashable, Sendable {
    /// The route of its request, or the kind of its task; empty for the server's own work.
    package var operation: String
    package var requestID: String
    /// Rows that it changed, including index rows.
    package var rows: Int64
    /// The time of its body, without the commit.
    package var milliseconds: Int64
}
