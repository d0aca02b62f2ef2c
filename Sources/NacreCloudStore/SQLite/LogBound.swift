/// How long the write-ahead log may become, and what is done on the way there. Values only, so that the bound can be derived and tested.
///
/// `docs/storage.md` derives the bound from these rules.
struct LogBound: Sendable, Equatable {
    /// Pages from which the log is to begin anew.
    let pages: Int32

    /// The most that the writer copies by itself, because it waits meanwhile: about what a large group writes. Where a reader was in the way, it
    /// tries again when the log has grown by so much.
    var step: Int32 { max(1, pages / 16) }

    /// Pages written during a read from which it is too old, once the log is to begin anew.
    var readerAge: Int32 { pages / 2 }

    /// Pages from which whatever is in the way is ended, however young, and the writer copies whatever is left.
    var hardPages: Int32 { pages * 2 }

    enum Move: Equatable {
        /// The log is short enough, or a backup needs it, or nothing would help now.
        case wait
        /// Reads of this age are to be ended; the rest is the checkpointer's work.
        case endReads(olderThan: Int32)
        /// The same, and the writer finishes what the checkpointer left. Where that `insists` and a read is in
        /// the way, it is ended if anything was written during it.
        case finish(endingReadsOlderThan: Int32, insists: Bool)
        /// The backup under way is given up.
        case endBackup
    }

    /// What the writer does after a group.
    /// - Parameters:
    ///   - length: pages in the log.
    ///   - copied: those of them that the file has, as far as is known.
    ///   - lastTry: how long the log was when the writer last failed to make it begin anew; nil if it did not.
    ///   - backupPages: how long the log may become for the backup under way; nil while there is none.
    func move(length: Int32, copied: Int32, lastTry: Int32?, backupPages: Int32?) -> Move {
        if let backupPages { return length >= max(backupPages, hardPages) ? .endBackup : .wait }
        guard length >= pages else { return .wait }
        let mayTry = lastTry.map { length - $0 >= step } ?? true
        if length >= hardPages { return mayTry ? .finish(endingReadsOlderThan: step, insists: true) : .wait }
        return mayTry && length - copied <= step ? .finish(endingReadsOlderThan: readerAge, insists: false) : .endReads(olderThan: readerAge)
    }
}
