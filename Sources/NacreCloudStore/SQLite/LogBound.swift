/// The bound of the write-ahead log, and the steps that keep it. Values only, so that the bound can be derived and
/// tested. `docs/storage.md` derives the bound from these rules.
struct LogBound: Sendable, Equatable {
    /// Pages from which on the log should begin anew.
    let pages: Int32

    /// The most pages that the writer copies by itself, because it waits meanwhile: about what a large group writes. If
    /// a reader was in the way, the writer tries again when the log has grown by as many.
    var step: Int32 { max(1, pages / 16) }

    /// Pages written during a read that make it too old, once the log should begin anew.
    var readerAge: Int32 { pages / 2 }

    /// Pages from which on every read in the way is ended, however young, and the writer copies all that is left.
    var hardPages: Int32 { pages * 2 }

    enum Move: Equatable {
        /// Do nothing: the log is short enough, a backup needs it, or no step would help now.
        case wait
        /// End the reads of this age; the checkpointer does the rest.
        case endReads(olderThan: Int32)
        /// End the reads of this age, and let the writer finish the copy. If it `insists`, a read in the way is ended
        /// once anything was written during it.
        case finish(endingReadsOlderThan: Int32, insists: Bool)
        case endBackup
    }

    /// Returns the writer's step after a group.
    /// - Parameters:
    ///   - length: Pages in the log.
    ///   - copied: Pages of the log known to be in the file.
    ///   - lastTry: The length of the log when the writer last failed to make it begin anew; nil if it did not fail.
    ///   - backupPages: The length that the log may reach for the backup under way; nil without a backup.
    func move(length: Int32, copied: Int32, lastTry: Int32?, backupPages: Int32?) -> Move {
        if let backupPages { return length >= max(backupPages, hardPages) ? .endBackup : .wait }
        guard length >= pages else { return .wait }
        let mayTry = lastTry.map { length - $0 >= step } ?? true
        if length >= hardPages { return mayTry ? .finish(endingReadsOlderThan: step, insists: true) : .wait }
        return mayTry && length - copied <= step ? .finish(endingReadsOlderThan: readerAge, insists: false) : .endReads(olderThan: readerAge)
    }
}
