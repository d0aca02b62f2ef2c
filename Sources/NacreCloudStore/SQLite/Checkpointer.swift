import NacreLocks

/// Copies the log into the database file, beside the writer, on a thread and a connection of its own. It copies when
/// enough pages have come together, and truncates the log after a while without commits. An idle store causes no
/// wake-ups.
final class Checkpointer: Sendable {
    private struct State {
        /// Pages in the log, as the writer last reported.
        var pages: Int32 = 0
        /// Pages known to be copied.
        var copied: Int32 = 0
        /// Pages in the log at the last copy, whether it was complete or not.
        var tried: Int32 = 0
        var isAwake = false
        var isStopping = false
    }

    private let state = Locked(State())
    private let signal = Signal()
    private let statistics: SQLiteStatistics
    private let disk: DiskTrust
    private let pagesBeforeCheckpoint: Int32
    private let idleSeconds: Int
    private let bound: LogBound

    init(statistics: SQLiteStatistics, disk: DiskTrust, pagesBeforeCheckpoint: Int32, idleSeconds: Int, bound: LogBound) {
        self.statistics = statistics
        self.disk = disk
        self.pagesBeforeCheckpoint = pagesBeforeCheckpoint
        self.idleSeconds = idleSeconds
        self.bound = bound
    }

    /// Pages of the log known to be in the file.
    var copied: Int32 { state.withLock { $0.copied } }

    /// Reports the length of the log after each commit of the writer. Cheap.
    func logGrew(to pages: Int32) {
        let isNews = state.withLock { state in
            if pages < state.pages {
                state.copied = 0
                state.tried = 0
            }
            state.pages = pages
            // A sleeping thread must hear of any commit, so that it truncates the log later. An awake one only needs to
            // hear of due work.
            let isNews = !state.isAwake ? pages > 0 : isDue(state)
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
    /// - Parameter connection: Returns nil while the store is read-only. Then there is no work either.
    func run(_ connection: () -> Connection?) {
        while true {
            let (isAwake, isStopping) = state.withLock { ($0.isAwake, $0.isStopping) }
            if isStopping { return }
            guard isAwake, let connection = connection() else {
                signal.wait()
                continue
            }
            if signal.wait(atMostSeconds: idleSeconds) {
                copy(connection)
            } else {
                cut(connection)
            }
        }
    }

    /// Whether a copy is due. After a reader prevented a complete copy, it is due when the log has grown, and not after
    /// each commit. A log that is to begin anew is copied in smaller steps, so that little is left for the writer.
    private func isDue(_ state: State) -> Bool {
        guard pagesBeforeCheckpoint < .max else { return false }
        return state.pages - state.tried >= (state.pages >= bound.pages ? min(bound.step, pagesBeforeCheckpoint) : pagesBeforeCheckpoint)
    }

    private func copy(_ connection: Connection) {
        let pages = state.withLock { isDue($0) ? $0.pages : nil }
        guard let pages, let done = attempt({ try connection.checkpoint(.passive) }) else { return }
        statistics.count(.checkpoints)
        state.withLock { state in
            // The log may have begun anew meanwhile; then none of it is known to be copied.
            guard state.pages >= pages, done.copied >= 0 else { return }
            state.copied = done.copied
            state.tried = max(done.copied, pages)
        }
    }

    /// Truncates the log after a while without commits. If a reader or a new writer is in the way, the next quiet while
    /// will do.
    private func cut(_ connection: Connection) {
        // First copy without holding off writers; then they wait only for the little that is left.
        guard attempt({ try connection.checkpoint(.passive) }) != nil else { return }
        guard let done = attempt({ try connection.checkpoint(.truncate) }), !done.wasBlocked else { return }
        statistics.count(.truncations)
        state.withLock { state in
            state.pages = 0
            state.copied = 0
            state.tried = 0
            state.isAwake = false
        }
    }

    /// Runs a checkpoint. A full disk or a passing fault means a later try: the log holds all data.
    private func attempt(_ checkpoint: () throws -> Connection.Checkpoint) -> Connection.Checkpoint? {
        do {
            return try checkpoint()
        } catch let error {
            _ = disk.isLost(to: error)
            return nil
        }
    }
}
