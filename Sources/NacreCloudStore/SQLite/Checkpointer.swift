import NacreLocks

/// Copies the log into the database file, beside the writer, on a thread and a connection of its own.
///
/// It copies whenever enough pages have come together, and cuts the log to nothing after a while without commits. An idle store costs no wake-ups.
final class Checkpointer: Sendable {
    private struct State {
        /// Pages in the log, as the writer last said.
        var pages: Int32 = 0
        /// Pages that were copied, as far as is known.
        var copied: Int32 = 0
        /// Pages in the log when they were last copied, all or some.
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

    /// Pages of the log that the file has, as far as is known.
    var copied: Int32 { state.withLock { $0.copied } }

    /// Called by the writer after each commit. Cheap.
    func logGrew(to pages: Int32) {
        let isNews = state.withLock { state in
            if pages < state.pages {
                state.copied = 0
                state.tried = 0
            }
            state.pages = pages
            // Asleep it must hear of any commit, so that it will cut the log later; awake only of work.
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
    /// - Parameter connection: nil while nothing is written, and then nothing is asked for either.
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

    /// A reader may keep it from copying all that there is: it tries again when the log has grown, and not after each commit. A log that is to begin
    /// anew is followed closely, so that what is left for the writer is little.
    private func isDue(_ state: State) -> Bool {
        guard pagesBeforeCheckpoint < .max else { return false }
        return state.pages - state.tried >= (state.pages >= bound.pages ? min(bound.step, pagesBeforeCheckpoint) : pagesBeforeCheckpoint)
    }

    private func copy(_ connection: Connection) {
        let pages = state.withLock { isDue($0) ? $0.pages : nil }
        guard let pages, let done = attempt({ try connection.checkpoint(.passive) }) else { return }
        statistics.count(.checkpoints)
        state.withLock { state in
            // The log may have begun anew meanwhile: then nothing of it is known to be copied.
            guard state.pages >= pages, done.copied >= 0 else { return }
            state.copied = done.copied
            state.tried = max(done.copied, pages)
        }
    }

    /// Nothing was committed for a while. If a reader or a new writer is in the way, the next quiet while will do.
    private func cut(_ connection: Connection) {
        // First the part that no writer waits for; then writers wait for the little that is left.
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
