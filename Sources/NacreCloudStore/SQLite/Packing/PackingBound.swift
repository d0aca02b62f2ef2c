/// The bounds of packing index rows, and of the writes that wait for it. Values only, so that the bounds can be derived
/// and tested.
package struct PackingBound: Sendable, Equatable {
    /// The most rows of a record in one index that stay unpacked, as long as no record of the zone has more there.
    package var rowsApart: Int
    /// Bytes of a block beyond which it is split. Four blocks and their keys fit into one of SQLite's pages.
    package var blockBytes: Int
    /// Bytes of changes that may wait while no write does: what a search reads in a tenth of a millisecond.
    package var idleBytes: Int
    /// Bytes of changes that may wait while writes do, too. The more changes wait, the more of them belong to one
    /// block.
    package var busyBytes: Int
    /// Bytes of changes from which on large writes wait until there are fewer.
    package var fullBytes: Int
    /// The most index rows of a write that is not large.
    package var smallWriteRows: Int

    package init(rowsApart: Int, blockBytes: Int, idleBytes: Int, busyBytes: Int, fullBytes: Int, smallWriteRows: Int) {
        self.rowsApart = rowsApart
        self.blockBytes = blockBytes
        self.idleBytes = idleBytes
        self.busyBytes = busyBytes
        self.fullBytes = fullBytes
        self.smallWriteRows = smallWriteRows
    }

    /// The bounds of the server, measured like `SQLiteLimits`.
    package static let standard = PackingBound(
        rowsApart: 4, blockBytes: 880, idleBytes: 64 * 1024, busyBytes: 1024 * 1024, fullBytes: 4 * 1024 * 1024, smallWriteRows: 1000)

    /// Whether the writer packs some more now.
    /// - Parameters:
    ///   - waiting: Bytes of the changes that wait.
    ///   - isUnderWay: Whether an index was begun and is not finished.
    ///   - isIdle: Whether no write waits.
    func packs(waiting: Int, isUnderWay: Bool, isIdle: Bool) -> Bool {
        isUnderWay || waiting >= (isIdle ? idleBytes : busyBytes)
    }

    /// Whether due packing is put off once more. A write that waited for a long one does not wait for packing, too, but
    /// the next one does.
    static func isPutOff(wasLong: Bool, writesWait: Bool, wasPutOff: Bool) -> Bool { wasLong && writesWait && !wasPutOff }

    /// Whether a write with `rows` index rows may run now. The waiting changes have at most the bytes of two full lists
    /// and of one write.
    func admits(rows: Int, waiting: Int) -> Bool {
        waiting < fullBytes || rows == 0 || (rows <= smallWriteRows && waiting < 2 * fullBytes)
    }
}
