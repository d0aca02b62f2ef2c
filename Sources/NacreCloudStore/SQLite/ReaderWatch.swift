import NacreCloudStorage
import NacreLocks

/// The state of one reader's snapshot, so that a read which holds up the log can be ended. The reader's thread and the
/// writer's share it. The age of a read is counted in pages written to the log meanwhile, never in time. These pages
/// are its cost, because it keeps the log from beginning anew.
final class ReaderWatch: Sendable {
    private struct State {
        /// The pages ever written to the log when the snapshot began; nil without a snapshot.
        var began: Int64?
        var isEnded = false
        /// The cancellation of the task that asked for the read.
        var cancellation: ReadCancellation?
    }

    private let state = Locked(State())

    func begin(atPage page: Int64, _ cancellation: ReadCancellation? = nil) {
        state.withLock { $0 = State(began: page, cancellation: cancellation) }
    }

    func end() {
        state.withLock { $0 = State() }
    }

    /// Whether the writer ended the read, or its caller has gone. The current query is interrupted, and the next one
    /// fails.
    var isEnded: Bool { state.withLock { $0.isEnded || $0.cancellation?.isCancelled == true } }

    /// Ends the read if it began at `page` or before. Returns true if it was not ended before.
    func endIfBegun(byPage page: Int64) -> Bool {
        state.withLock { state in
            guard let began = state.began, began <= page, !state.isEnded else { return false }
            state.isEnded = true
            return true
        }
    }

    /// The error that the caller of an ended read gets.
    static let ended = StoreError(.outpaced, "The read was ended: it held up the log while others wrote. Ask for less at a time, or again")
}

/// The watches of all readers of a store, and the pages written to its log.
final class LogReaders: Sendable {
    private let watches: [ReaderWatch]
    private let written = Locked<Int64>(0)
    private let backup = Locked<(watch: ReaderWatch, pages: Int32)?>(nil)

    init(count: Int) {
        watches = (0..<count).map { _ in ReaderWatch() }
    }

    subscript(index: Int) -> ReaderWatch { watches[index] }

    /// Pages written to the log since the store was opened.
    var pagesWritten: Int64 { written.withLock { $0 } }

    func wrote(pages: Int32) {
        written.withLock { $0 += Int64(pages) }
    }

    /// Ends the reads during which `age` pages or more were written. Returns their number.
    func end(olderThan age: Int32) -> Int {
        let page = pagesWritten - Int64(age)
        return watches.count { $0.endIfBegun(byPage: page) }
    }

    // MARK: The backup

    /// The length that the log may reach for the backup under way; nil without a backup.
    var backupPages: Int32? { backup.withLock { $0?.pages } }

    /// Notes a backup, whose snapshot keeps the log from beginning anew until `backupIsOver`.
    /// - Returns: The watch that tells the backup when it is given up; nil if another one is under way.
    func beginBackup(pages: Int32) -> ReaderWatch? {
        backup.withLock { backup in
            guard backup == nil else { return nil }
            let watch = ReaderWatch()
            watch.begin(atPage: 0)
            backup = (watch, pages)
            return watch
        }
    }

    func endBackup() {
        _ = backup.withLock { $0?.watch }?.endIfBegun(byPage: .max)
    }

    func backupIsOver() {
        backup.withLock { $0 = nil }
    }
}
