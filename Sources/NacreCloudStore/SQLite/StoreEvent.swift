package import NacreCloudContainer

/// What an administrator is to know of a store that opens, or has been opened with less than all it wants.
package enum StoreEvent: Sendable {
    /// Paths that were open to others, and are not any more or cannot be closed.
    case wereOpen(DataFolder.Findings)
    /// An older file is about to be rewritten; the backup that was made of it, or nil where none was wanted.
    case migrating(from: Int32, to: Int32, backup: String?)
    /// Reads are served, writes refused, until the files can be written: why.
    case readOnly(StoreError)
    /// Writes are served from now on.
    case writable
    /// A write kept all others waiting for longer than `SQLiteLimits.writerHold`: its request or task and what it changed.
    case heldWriter(HeldWriter)
}

/// A write that took longer than a write may.
package struct HeldWriter: Hashable, Sendable {
    /// The route of its request, or the kind of its task; empty: the server's own work.
    package var operation: String
    package var requestID: String
    /// Rows that it changed, those of indexes among them.
    package var rows: Int64
    /// The time of its body, without the commit.
    package var milliseconds: Int64
}
