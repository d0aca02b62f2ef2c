import CNacreFileReads
import CNacreSQLite
import NacreCloudStorage

/// One connection to the database file, with its prepared statements.
final class Connection: @unchecked Sendable {
    // Sendable: one thread at a time uses a connection, which SQLITE_OPEN_NOMUTEX requires, too. The writer's and the
    // checkpointer's are handed once to their threads; a reader's is under a lock.

    /// SQLite's handle, for direct calls within this folder, on the connection's thread.
    let handle: OpaquePointer
    private var statements: [UnsafePointer<UInt8>: PreparedStatement] = [:]
    private let busyTimeoutMilliseconds: Int32
    /// The index rows that wait to be packed. Only the writer uses it.
    let packing = IndexPacking()
    /// The entries as the writer last read them.
    var knownEntries = KnownEntries()
    /// The watch that ends a reader's reads; nil for other connections.
    private(set) var watch: ReaderWatch?
    /// Pages in the write-ahead log after this connection's last commit.
    private(set) var pagesInLog: Int32 = 0
    private var wrote: (Int32) -> Void = { _ in }
    private var mustStop: () -> Bool = { false }
    /// Thousands of steps that the current read may still take; nil: no limit.
    private var stepsLeft: Int?
    /// Whether a transaction is being rolled back.
    private var isEnding = false

    /// The process-wide set-up before the first connection. If other code used SQLite before, SQLite refuses and goes
    /// on counting its memory.
    private static let isPrepared: Bool = {
        let hasNoMemoryStatistics = nacre_sqlite_without_memory_statistics() == SQLITE_OK
        nacre_file_reads_install()
        return hasNoMemoryStatistics
    }()

    /// The way in which a file is opened.
    enum Access {
        /// For reading and writing. The file is created if it is missing.
        case write
        /// Read-only, without its log, without locks, and without a file beside it. Valid only while the file is not
        /// written.
        case immutable

        fileprivate var flags: Int32 {
            switch self {
            case .write: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX
            case .immutable: SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX
            }
        }

        fileprivate func name(_ path: String) -> String {
            switch self {
            case .write: path
            case .immutable: "file:" + (path.hasPrefix("/") ? "//" : "") + Self.escaped(path) + "?immutable=1"
            }
        }

        /// Percent-encodes a path: all bytes except RFC 3986's unreserved ones and slashes.
        private static func escaped(_ path: String) -> String {
            path.utf8.map { byte in
                let isPlain =
                    (0x30...0x39).contains(byte) || (0x41...0x5a).contains(byte) || (0x61...0x7a).contains(byte) || "/-._~".utf8.contains(byte)
                return isPlain ? String(UnicodeScalar(byte)) : "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
            }.joined()
        }
    }

    init(path: String, vfs: String?, access: Access = .write, cacheKibibytes: Int, busyTimeoutMilliseconds: Int32) throws {
        var handle: OpaquePointer?
        _ = Self.isPrepared
        let result = sqlite3_open_v2(access.name(path), &handle, access.flags, vfs)
        guard result == SQLITE_OK, let handle else {
            let failure = handle.map { SQLiteFailure(code: sqlite3_extended_errcode($0), of: $0) }
            sqlite3_close_v2(handle)
            throw failure ?? SQLiteFailure(code: result, message: "out of memory")
        }
        self.handle = handle
        self.busyTimeoutMilliseconds = busyTimeoutMilliseconds
        sqlite3_extended_result_codes(handle, 1)
        sqlite3_busy_timeout(handle, busyTimeoutMilliseconds)
        do {
            // Temporary tables stay in memory, so that a full disk cannot fail a read. mmap stays off: a failing disk
            // would kill the process.
            try execute("PRAGMA temp_store = MEMORY")
            try execute("PRAGMA synchronous = FULL")
            try execute("PRAGMA wal_autocheckpoint = 0")
            try execute("PRAGMA cache_size = -\(cacheKibibytes)")
        } catch {
            sqlite3_close_v2(handle)
            throw error
        }
    }

    /// Frees everything. The last connection that closes copies the log into the file.
    func close() {
        for statement in statements.values {
            statement.finalize()
        }
        statements = [:]
        sqlite3_close_v2(handle)
    }

    /// Whether a commit waits until it is on the disk.
    private(set) var isSynced = true

    /// Sets whether later commits wait until they are on the disk. Call it outside of a transaction.
    func sync(_ waits: Bool) throws {
        guard waits != isSynced else { return }
        // With a write-ahead log, NORMAL syncs when the log is copied into the file, and not at a commit.
        try execute("PRAGMA synchronous = \(waits ? "FULL" : "NORMAL")")
        isSynced = waits
    }

    /// Runs a statement of the catalogue, which is prepared once.
    func use<Result>(_ statement: Statement, _ body: (PreparedStatement) throws -> Result) throws -> Result {
        let prepared = try prepared(statement)
        defer { prepared.reset() }
        return try body(prepared)
    }

    /// Runs a text that is put together from constants and numbers.
    func use<Result>(assembled text: String, as kind: StaticString, _ body: (PreparedStatement) throws -> Result) throws -> Result {
        let prepared = try PreparedStatement(assembled: text, as: kind, on: handle)
        defer { prepared.finalize() }
        return try body(prepared)
    }

    /// Runs a statement without parameters, and ignores its rows.
    func run(_ statement: Statement) throws {
        try use(statement) { while try $0.step() {} }
    }

    private func prepared(_ statement: Statement) throws -> PreparedStatement {
        let key = statement.text.utf8Start
        if let known = statements[key] { return known }
        let prepared = try PreparedStatement(statement, on: handle)
        statements[key] = prepared
        return prepared
    }

    /// Runs SQL that is put together from constants at run time, for example settings. Returns the first column of its
    /// last row.
    @discardableResult
    func execute(_ text: String) throws -> String? {
        try lines(text).last
    }

    /// Returns the first columns of all rows, as text.
    func lines(_ text: String) throws -> [String] {
        var statement: OpaquePointer?
        var result = sqlite3_prepare_v2(handle, text, -1, &statement, nil)
        defer { sqlite3_finalize(statement) }
        var lines: [String] = []
        while result == SQLITE_OK || result == SQLITE_ROW {
            result = sqlite3_step(statement)
            if result == SQLITE_ROW, let value = sqlite3_column_text(statement, 0) { lines.append(String(cString: value)) }
        }
        guard result == SQLITE_DONE else { throw failure(result) }
        return lines
    }

    private func failure(_ code: Int32) -> SQLiteFailure {
        SQLiteFailure(code: code, of: handle)
    }

    // MARK: Transactions

    /// Whether a transaction is open. SQLite may end one by itself when a statement in it fails.
    var isInTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }

    /// Rolls back the open transaction, if there is one.
    func abandonTransaction() {
        guard isInTransaction else { return }
        isEnding = true
        defer { isEnding = false }
        // A failed rollback means that there is nothing to roll back.
        try? run(.rollback)
    }

    /// Rows changed since the connection was opened.
    var changedRows: Int64 { sqlite3_total_changes64(handle) }

    // MARK: Reads that are ended

    /// Makes statements stop with `SQLITE_INTERRUPT` once `watch` reports the end of the read.
    func obey(_ watch: ReaderWatch) {
        self.watch = watch
        stop(when: { watch.isEnded })
    }

    /// Makes statements stop with `SQLITE_INTERRUPT` once `condition` holds.
    func stop(when condition: @escaping () -> Bool) {
        mustStop = condition
        // Called on this connection's thread, and never after `close`. A thousand steps of SQLite's machine take some
        // 50 µs.
        sqlite3_progress_handler(
            handle, 1000,
            { context in
                guard let context else { return 0 }
                return Unmanaged<Connection>.fromOpaque(context).takeUnretainedValue().mustStopNow() ? 1 : 0
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    private func mustStopNow() -> Bool {
        // The end of a read must not be stopped; otherwise the next one could not begin.
        if isEnding { return false }
        if let left = stepsLeft {
            stepsLeft = left - 1
            if left <= 0 { return true }
        }
        return mustStop()
    }

    // MARK: Reads

    /// Runs `body` on one snapshot. The snapshot begins with the body's first read and ends with the body, so that the
    /// log can be emptied after it.
    func read<Value>(_ body: (any ReadTransaction) throws -> Value) throws -> Value {
        defer { abandonTransaction() }
        do {
            try run(.beginRead)
        } catch let error {
            throw StoreError(error)
        }
        let snapshot = SQLiteSnapshot(self)
        defer { snapshot.end() }
        let value = try body(snapshot)
        if let failure = snapshot.failure { throw failure }
        return value
    }

    /// Runs `body` on one snapshot, on a thread that must not wait. Returns nil if the read would wait for a disk,
    /// takes long, or fails: then a thread that may wait does it. Errors of the body itself are its result. Takes at
    /// most `SQLiteLimits.stepsAtOnce` steps and `SQLiteLimits.bytesAtOnce` bytes.
    func readAtOnce<Value>(_ body: (any ReadTransaction) throws -> Value) -> Result<Value, any Error>? {
        guard nacre_file_reads_begin(SQLiteLimits.bytesAtOnce) else { return nil }
        stepsLeft = SQLiteLimits.stepsAtOnce / 1000
        defer {
            nacre_file_reads_end()
            stepsLeft = nil
        }
        do {
            return .success(try read(body))
        } catch is StoreError {
            return nil
        } catch {
            return .failure(error)
        }
    }

    // MARK: The write-ahead log

    /// Sets `pagesInLog` after each commit from now on, and calls `wrote` with the pages that the commit added.
    func watchLog(_ wrote: @escaping (Int32) -> Void) {
        self.wrote = wrote
        let context = Unmanaged.passUnretained(self).toOpaque()
        // The hook is called on this connection's thread, and never after `close`.
        _ = sqlite3_wal_hook(
            handle,
            { context, _, _, pages in
                guard let context else { return SQLITE_OK }
                let connection = Unmanaged<Connection>.fromOpaque(context).takeUnretainedValue()
                connection.wrote(pages < connection.pagesInLog ? pages : pages - connection.pagesInLog)
                connection.pagesInLog = pages
                return SQLITE_OK
            }, context)
    }

    /// Notes that the log began anew, without a commit since.
    func logBeganAnew() {
        pagesInLog = 0
    }

    /// Makes `close` leave the log as it is, even if this connection is the last.
    func keepLogWhenClosing() {
        nacre_keep_log_when_closing(handle)
    }

    enum CheckpointMode {
        /// Copies as much as possible, without making readers or writers wait.
        case passive
        /// Copies all pages and lets the log begin anew. Waits for readers, and holds off writers.
        case restart
        /// Does the same, and truncates the log.
        case truncate
    }

    struct Checkpoint {
        /// Pages in the log.
        var pages: Int32
        /// Pages of the log that the file has; -1 if another checkpoint was under way.
        var copied: Int32
        /// Whether a reader or writer was in the way, so that the checkpoint is incomplete.
        var wasBlocked: Bool
    }

    /// - Parameter patience: Milliseconds to wait for readers and for another checkpoint; nil: as long as the
    ///   connection waits for any lock.
    func checkpoint(_ mode: CheckpointMode, patienceMilliseconds patience: Int32? = nil) throws -> Checkpoint {
        if let patience { sqlite3_busy_timeout(handle, patience) }
        defer { if patience != nil { sqlite3_busy_timeout(handle, busyTimeoutMilliseconds) } }
        var pages: Int32 = 0
        var copied: Int32 = 0
        let code =
            switch mode {
            case .passive: SQLITE_CHECKPOINT_PASSIVE
            case .restart: SQLITE_CHECKPOINT_RESTART
            case .truncate: SQLITE_CHECKPOINT_TRUNCATE
            }
        let result = sqlite3_wal_checkpoint_v2(handle, nil, code, &pages, &copied)
        guard result == SQLITE_OK || result & 0xff == SQLITE_BUSY else { throw failure(result) }
        return Checkpoint(pages: pages, copied: copied, wasBlocked: result != SQLITE_OK)
    }
}
