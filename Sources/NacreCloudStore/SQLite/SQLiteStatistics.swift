import NacreLocks

/// What the engine has done since it was opened.
package final class SQLiteStatistics: Sendable {
    package enum Counter: String, Sendable, CaseIterable {
        /// Writes that were answered, however they ended.
        case writes
        /// Transactions committed: each one sync of the disk.
        case commits
        /// Groups that were replayed one write at a time.
        case replays
        /// Checkpoints beside the writer, and by the writer because the log had grown too long.
        case checkpoints
        case forcedCheckpoints
        /// Reads that ran on the thread of who asked.
        case readsAtOnce
        /// Reads that were ended because they held up the log.
        case readsEnded
        /// Times that rows of indexes were packed for a while, each one transaction.
        case packings
        /// Times that a write waited because too many of them were not packed yet.
        case packingWaits
        /// Times that the idle log was cut to nothing.
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
