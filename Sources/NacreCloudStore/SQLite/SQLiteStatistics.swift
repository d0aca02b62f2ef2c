import NacreLocks

/// The engine's counters since it was opened.
package final class SQLiteStatistics: Sendable {
    package enum Counter: String, Sendable, CaseIterable {
        /// Writes that were answered, whether they succeeded or not.
        case writes
        /// Committed transactions of writes. Each is one sync of the disk, except those of writes that are done again
        /// after a power cut.
        case commits
        /// Groups that were replayed one write at a time.
        case replays
        /// Checkpoints beside the writer (`checkpoints`), and by the writer because the log had grown too long
        /// (`forcedCheckpoints`).
        case checkpoints
        case forcedCheckpoints
        /// Reads that ran on the calling thread.
        case readsAtOnce
        /// Reads that were ended because they held up the log.
        case readsEnded
        /// Transactions that packed index rows.
        case packings
        /// Writes that waited because too many index rows were not packed yet.
        case packingWaits
        /// Truncations of the idle log.
        case truncations
    }

    private let counts = Locked([Counter: Int]())

    init() {}

    func count(_ counter: Counter, _ amount: Int = 1) {
        counts.withLock { $0[counter, default: 0] += amount }
    }

    package subscript(counter: Counter) -> Int {
        counts.withLock { $0[counter] ?? 0 }
    }
}
