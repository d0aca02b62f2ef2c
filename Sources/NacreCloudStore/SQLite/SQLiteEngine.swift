import Glibc
import NacreCloudStorage
import NacreLocks

/// The running parts of an open store: threads, connections, queues, and the lock on the folder.
final class SQLiteEngine: Sendable {
    let writes = WorkQueue<any PendingWrite>(.unbounded, room: SQLiteLimits.waitingWrites)
    private let shortReads = WorkQueue<any PendingRead>(SQLiteLimits.shortPlaces, room: SQLiteLimits.waitingReads)
    private let longReads = WorkQueue<any PendingRead>(SQLiteLimits.longPlaces, room: SQLiteLimits.waitingReads)
    let statistics = SQLiteStatistics()

    private let lock: FolderLock
    private let disk: DiskTrust
    private let checkpointer: Checkpointer
    private let readers = LogReaders(count: SQLiteLimits.readers + 1)
    private let bound: LogBound
    private let connections: OpenConnections
    private let report: @Sendable (StoreEvent) -> Void
    private let hold: Duration
    private let state = Locked(State.open([]))
    private let backup = Locked(BackupState.none)

    private enum State {
        case open([BlockingThread])
        case closing([CheckedContinuation<Void, Never>])
        case closed
    }

    /// Locks the folder, migrates the file and starts the threads. Blocks: do not call it on the cooperative pool.
    init(folder: String, options: SQLiteOptions) throws {
        lock = try FolderLock(folder: folder)
        disk = DiskTrust(onLoss: options.onFsyncFailure)
        bound = LogBound(pages: options.pagesInLog)
        checkpointer = Checkpointer(
            statistics: statistics, disk: disk, pagesBeforeCheckpoint: options.pagesBeforeCheckpoint,
            idleSeconds: options.idleSecondsBeforeTruncation, bound: bound)
        report = options.report
        hold = options.writerHold
        if lock.findings != DataFolder.Findings() { report(.wereOpen(lock.findings)) }
        do {
            try FolderRestore.checkFinished(folder)
            connections = try OpenConnections(Self.file(folder, options), readers, drawRun: options.drawRun, packing: options.packing)
        } catch let error {
            lock.release()
            throw Self.withBackup(StoreError(error), [folder] + options.backupFolders)
        }
        do {
            if connections.refusal == nil { try FolderLock.syncFolder(folder) }
            try start()
        } catch let error {
            close(nil)
            throw error
        }
        if let refusal = connections.refusal { report(.readOnly(refusal)) }
    }

    private static func file(_ folder: String, _ options: SQLiteOptions) -> DatabaseFile {
        DatabaseFile(folder: folder, vfs: options.vfs, migrations: options.migrations) {
            [report = options.report, nacre = options.backsUpBeforeMigrationAs] file, connection, version in
            let backup = try nacre.map { try file.backUpBeforeMigration(connection, nacre: $0) }
            report(.migrating(from: version, to: file.currentVersion, backup: backup))
        }
    }

    /// Adds the path of a backup that this older version can restore.
    private static func withBackup(_ error: StoreError, _ folders: [String]) -> StoreError {
        guard error.code == .newerVersion, let backup = FolderBackup.newest(in: folders) else { return error }
        var error = error
        error.values["backup"] = backup.path
        return error
    }

    private func start() throws {
        try startThread { [self] in write() }
        try startThread { [checkpointer, connections] in checkpointer.run { connections.checkpointer } }
        for index in 0..<SQLiteLimits.readers { try startReader(index) }
    }

    /// Starts a reader. The first ones serve short reads, the others long reads at a lower priority. Otherwise long
    /// reads would keep the threads that answer small requests from the processor for some milliseconds each time.
    private func startReader(_ index: Int) throws {
        let isForLong = index >= SQLiteLimits.shortReaders
        let reads = isForLong ? longReads : shortReads
        try startThread { [connections] in
            if isForLong { BlockingThread.yieldToOthers(BlockingThread.longWorkPriority) }
            var served: Turn?
            while let read = reads.next(after: served) {
                connections.read(index, read.request)
                served = read.turn
            }
        }
    }

    /// Returns the queue for reads of this turn.
    func reads(of turn: Turn) -> WorkQueue<any PendingRead> { turn.kind == .short ? shortReads : longReads }

    /// Runs the writer's thread.
    private func write() {
        while let first = writes.next() {
            guard let writer = writer(for: first) else { continue }
            return Writer(
                connection: writer.connection, queue: writes, checkpointer: checkpointer, statistics: statistics, disk: disk, openRun: writer.run,
                bound: bound,
                readers: readers, hold: hold, report: report
            ).run(first: first)
        }
    }

    /// Returns the writer's connection, and opens it now if there is none. If that fails, this write and all waiting
    /// ones are refused.
    private func writer(for first: Writer.Write) -> OpenConnections.Writer? {
        if let writer = connections.writer { return writer }
        do {
            let writer = try connections.becomeWritable()
            report(.writable)
            return writer
        } catch let error {
            let refusal = StoreError(error)
            var waiting = [first]
            while let next = writes.nextNow() { waiting.append(next) }
            defer { writes.end(waiting) }
            for write in waiting {
                write.request.fail(refusal)
                write.request.answer()
            }
            return nil
        }
    }

    private func startThread(_ body: @escaping @Sendable () -> Void) throws {
        let thread = try BlockingThread(body)
        state.withLock { state in
            if case .open(let threads) = state { state = .open(threads + [thread]) }
        }
    }

    /// Whether the calling thread should run a read of this turn itself.
    func mayReadAtOnce(_ turn: Turn) -> Bool {
        turn.isSmall && (!turn.isAmongMany || shortReads.count >= SQLiteLimits.handedOn)
    }

    /// Runs `OpenConnections.readAtOnce`, and counts it.
    func readAtOnce<Value: Sendable>(_ body: (any ReadTransaction) throws -> Value) -> Result<Value, any Error>? {
        let outcome = connections.readAtOnce(body)
        if outcome != nil { statistics.count(.readsAtOnce) }
        return outcome
    }

    /// Serves the accepted requests, empties the log into the file, releases the folder, and then resumes `waiter`.
    func close(_ waiter: CheckedContinuation<Void, Never>?) {
        let (threads, isOver): ([BlockingThread]?, Bool) = state.withLock { state in
            switch state {
            case .open(let threads):
                state = .closing(waiter.map { [$0] } ?? [])
                return (threads, false)
            case .closing(let waiters):
                state = .closing(waiters + (waiter.map { [$0] } ?? []))
                return (nil, false)
            case .closed:
                return (nil, true)
            }
        }
        if isOver { waiter?.resume() }
        guard let threads else { return }
        let finish: @Sendable () -> Void = { self.finish(threads) }
        do {
            try BlockingThread(finish).detach()
        } catch {
            // No further thread can be started: block this one for a moment.
            finish()
        }
    }

    // MARK: Backups

    private enum BackupState: Sendable {
        case none
        case running(BackupControl, Signal)
        case closed
    }

    /// The least log length that a backup is granted: what a busy server writes in a minute. A larger database is
    /// granted as many pages as it has, so that a backup which is faster than the writes ends.
    static let backupLogPagesMinimum: Int32 = 262_144

    /// Makes a backup beside reads and writes, on a thread of its own. One at a time.
    func backUp(_ order: BackupOrder, _ control: BackupControl, _ done: @escaping @Sendable (Result<BackupManifest, any Error>) -> Void) throws {
        let over = Signal()
        try backup.withLock { state in
            switch state {
            case .none: state = .running(control, over)
            case .running: throw StoreError(.inUse, "A backup is under way", ["remedy": "wait until it is done"])
            case .closed: throw StoreError.closed
            }
        }
        let work: @Sendable () -> Void = {
            BlockingThread.yieldToOthers()
            let result = Result { try self.copy(order, control) }
            self.backup.withLock { state in
                if case .running = state { state = .none }
            }
            over.notify()
            done(result)
        }
        do {
            try BlockingThread(work).detach()
        } catch {
            backup.withLock { $0 = .none }
            throw error
        }
    }

    private func copy(_ order: BackupOrder, _ control: BackupControl) throws -> BackupManifest {
        guard connections.writer != nil else {
            throw StoreError(
                .readOnly, "The data cannot be written now, and so not be copied beside the server",
                ["remedy": "stop the server and make the backup then: nacre backup create"])
        }
        let source = try connections.file.connect(cacheKibibytes: SQLiteLimits.checkpointerCacheKibibytes)
        defer { source.close() }
        let pages = Int32(clamping: Int(try source.execute("PRAGMA page_count") ?? "") ?? 0)
        let watch = readers.beginBackup(pages: max(Self.backupLogPagesMinimum, pages))
        return try BackupCopy(order: order, control: control, seconds: time(nil)).run(from: source, watch) { readers.backupIsOver() }
    }

    private func endBackup() {
        let last = backup.withLock { state in
            defer { state = .closed }
            return state
        }
        guard case .running(let control, let over) = last else { return }
        control.cancel()
        over.wait()
    }

    private func finish(_ threads: [BlockingThread]) {
        endBackup()
        writes.close()
        shortReads.close()
        longReads.close()
        checkpointer.stop()
        for thread in threads {
            thread.join()
        }
        // The next opening does what fails here. Data in the log are as durable as those in the file.
        let isLogEmpty = disk.lost == nil && (try? connections.writer?.connection.checkpoint(.truncate).wasBlocked) == false
        connections.close(isLogEmpty: isLogEmpty)
        lock.release()
        let waiters: [CheckedContinuation<Void, Never>] = state.withLock { state in
            defer { state = .closed }
            if case .closing(let waiters) = state { return waiters }
            return []
        }
        for waiter in waiters {
            waiter.resume()
        }
    }
}
