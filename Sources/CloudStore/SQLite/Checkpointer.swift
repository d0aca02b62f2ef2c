import Locks

/// Copies the log into the database file, beside the writer, on a thread and a connection of its own.
///
/// It copies whenever enough pages have come together, and cuts the log to nothing after a while without commits. An idle store costs no wake-ups.
final class Checkpointer: Sendable {
    private struct State {
        /// Pages in the log, as the writer last said.
        var pages: Int32 = 0
        /// Pages that were copied, as far as is known.
        var copied: Int32 = 0
        var isAwake = false
        var isStopping = false
    }

    private let state = Locked(State())
    private let signal = Signal()
    private let statistics: SQLiteStatistics
    private let disk: DiskTrust
    private let pagesBeforeCheckpoint: Int32

    init(statistics: SQLiteStatistics, disk: DiskTrust, pagesBeforeCheckpoint: Int32) {
        self.statistics = statistics
        self.disk = disk
        self.pagesBeforeCheckpoint = pagesBeforeCheckpoint
    }

    /// Called by the writer after each commit. Cheap.
    func logGrew(to pages: Int32) {
        let isNews = state.withLock { state in
            if pages < state.pages { state.copied = 0 }
            state.pages = pages
            // Asleep it must hear of any commit, so that it will cut the log later; awake only of work.
            let isNews = !state.isAwake ? pages > 0 : pages - state.copied >= pagesBeforeCheckpoint
            state.isAwake = state.isAwake || isNews
            return isNews
        }
        if isNews { signal.notify() }
    }

    func stop() {
        state.withLock { $0.isStopping = true }
        signal.notify()
    }

    /// Serves until `stop`.
    func run(_ connection: Connection) {
        while true {
            let (isAwake, isStopping) = state.withLock { ($0.isAwake, $0.isStopping) }
            if isStopping { return }
            if !isAwake {
                signal.wait()
            } else if signal.wait(atMostSeconds: SQLiteLimits.idleSecondsBeforeTruncation) {
                copy(connection)
            } else {
                cut(connection)
            }
        }
    }

    private func copy(_ connection: Connection) {
        let isDue = state.withLock { $0.pages - $0.copied >= pagesBeforeCheckpoint }
        guard isDue, let done = attempt({ try connection.checkpoint(.passive) }) else { return }
        statistics.count(.checkpoints)
        state.withLock { $0.copied = done.copied }
    }

    /// Nothing was committed for a while. If a reader or a new writer is in the way, the next quiet while will do.
    private func cut(_ connection: Connection) {
        guard let done = attempt({ try connection.checkpoint(.truncate) }), !done.wasBlocked else { return }
        statistics.count(.truncations)
        state.withLock { state in
            state.pages = 0
            state.copied = 0
            state.isAwake = false
        }
    }

    /// No room, or a passing fault of the disk, means later: the log holds everything.
    private func attempt(_ checkpoint: () throws -> Connection.Checkpoint) -> Connection.Checkpoint? {
        do {
            return try checkpoint()
        } catch let error {
            _ = disk.isLost(to: error)
            return nil
        }
    }
}
