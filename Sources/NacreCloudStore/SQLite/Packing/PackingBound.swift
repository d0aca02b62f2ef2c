/// When rows of indexes are packed, and who waits for it. Values only, so that the bounds can be derived and tested.
package struct PackingBound: Sendable, Equatable {
    /// So many rows of a record in one index are kept by themselves, as long as no record of the zone has more there.
    package var rowsApart: Int
    /// Bytes of a block beyond which it becomes two. Four of them and their keys are in one of SQLite's pages.
    package var blockBytes: Int
    /// Bytes of changes that may wait while nobody has anything else written: what a search reads in a tenth of a millisecond.
    package var idleBytes: Int
    /// The same while others write: the more wait, the more of them are of one block.
    package var busyBytes: Int
    /// From here on large writes wait until fewer do.
    package var fullBytes: Int
    /// Rows of indexes of a write that is not large.
    package var smallWriteRows: Int

    package init(rowsApart: Int, blockBytes: Int, idleBytes: Int, busyBytes: Int, fullBytes: Int, smallWriteRows: Int) {
        self.rowsApart = rowsApart
        self.blockBytes = blockBytes
        self.idleBytes = idleBytes
        self.busyBytes = busyBytes
        self.fullBytes = fullBytes
        self.smallWriteRows = smallWriteRows
    }

    /// Measured as `SQLiteLimits` are.
    package static let standard = PackingBound(
        rowsApart: 4, blockBytes: 880, idleBytes: 64 * 1024, busyBytes: 1024 * 1024, fullBytes: 4 * 1024 * 1024, smallWriteRows: 1000)

    /// Whether the writer packs a little more now.
    /// - Parameters:
    ///   - waiting: bytes of changes.
    ///   - isUnderWay: an index was begun and has not come to its end.
    ///   - isIdle: no write waits.
    func packs(waiting: Int, isUnderWay: Bool, isIdle: Bool) -> Bool {
        isUnderWay || waiting >= (isIdle ? idleBytes : busyBytes)
    }

    /// Whether packing that is due is put off once more: a write that waited for a long one does not wait for packing too, and the next one does.
    static func isPutOff(wasLong: Bool, writesWait: Bool, wasPutOff: Bool) -> Bool { wasLong && writesWait && !wasPutOff }

    /// Whether a write with so many rows of indexes may be done now. What waits has the bytes of two full lists at most, and of one write.
    func admits(rows: Int, waiting: Int) -> Bool {
        waiting < fullBytes || rows == 0 || (rows <= smallWriteRows && waiting < 2 * fullBytes)
    }
}
