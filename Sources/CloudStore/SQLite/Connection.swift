import CSQLite
import CloudContainer

/// One connection to the database file, with its prepared statements.
final class Connection: @unchecked Sendable {
    // Sendable: made on the opening thread, handed once to the thread that uses it, and after that thread was joined to the one that
    // closes it. Never shared, which is also what SQLITE_OPEN_NOMUTEX asks for.

    private let handle: OpaquePointer
    private var statements: [UnsafePointer<UInt8>: PreparedStatement] = [:]
    /// Pages in the write-ahead log after this connection's last commit.
    private(set) var pagesInLog: Int32 = 0

    /// For the whole process, before its first connection. Where somebody else was first, SQLite says no and counts its memory on.
    private static let hasNoMemoryStatistics = nacre_sqlite_without_memory_statistics() == SQLITE_OK

    /// Opens the file, making it if it is not there.
    init(path: String, vfs: String?, cacheKibibytes: Int, busyTimeoutMilliseconds: Int32) throws {
        var handle: OpaquePointer?
        _ = Self.hasNoMemoryStatistics
        let result = sqlite3_open_v2(path, &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, vfs)
        guard result == SQLITE_OK, let handle else {
            let message = handle.map { String(cString: sqlite3_errmsg($0)) } ?? "out of memory"
            let code = handle.map { sqlite3_extended_errcode($0) } ?? result
            sqlite3_close_v2(handle)
            throw SQLiteFailure(code: code, message: message, statement: nil)
        }
        self.handle = handle
        sqlite3_extended_result_codes(handle, 1)
        sqlite3_busy_timeout(handle, busyTimeoutMilliseconds)
        do {
            // Temporary tables stay off the disk, so a full disk cannot fail a read. mmap stays off: a failing disk would kill the process.
            try execute("PRAGMA temp_store = MEMORY")
            try execute("PRAGMA synchronous = FULL")
            try execute("PRAGMA wal_autocheckpoint = 0")
            try execute("PRAGMA cache_size = -\(cacheKibibytes)")
        } catch {
            sqlite3_close_v2(handle)
            throw error
        }
    }

    /// Frees everything. The last connection to close empties the log into the file.
    func close() {
        for statement in statements.values {
            statement.finalize()
        }
        statements = [:]
        sqlite3_close_v2(handle)
    }

    /// Runs a text of the catalogue, prepared once.
    func use<Result>(_ statement: Statement, _ body: (PreparedStatement) throws -> Result) throws -> Result {
        let prepared = try prepared(statement)
        defer { prepared.reset() }
        return try body(prepared)
    }

    /// Runs a text that takes no parameters and whose rows do not matter.
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

    /// Runs a text that is made of constants at run time: settings, on opening. Returns the first column of its last row.
    @discardableResult
    func execute(_ text: String) throws -> String? {
        var statement: OpaquePointer?
        var result = sqlite3_prepare_v2(handle, text, -1, &statement, nil)
        defer { sqlite3_finalize(statement) }
        var value: String?
        while result == SQLITE_OK || result == SQLITE_ROW {
            result = sqlite3_step(statement)
            if result == SQLITE_ROW {
                value = sqlite3_column_text(statement, 0).map { String(cString: $0) }
            }
        }
        guard result == SQLITE_DONE else { throw failure(result) }
        return value
    }

    private func failure(_ code: Int32) -> SQLiteFailure {
        SQLiteFailure(code: code, message: String(cString: sqlite3_errmsg(handle)), statement: nil)
    }

    // MARK: Transactions

    /// SQLite can end a transaction by itself when a statement in it fails.
    var isInTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }

    /// Leaves no transaction open, whatever happened before.
    func abandonTransaction() {
        guard isInTransaction else { return }
        // A rollback that fails has nothing left to roll back.
        try? run(.rollback)
    }

    /// Rows changed since the connection was opened.
    var changedRows: Int64 { sqlite3_total_changes64(handle) }

    // MARK: The write-ahead log

    /// From now on `pagesInLog` tells how long the log is after each commit.
    func watchLog() {
        let context = Unmanaged.passUnretained(self).toOpaque()
        // The hook is called on this connection's thread, and never after `close`.
        _ = sqlite3_wal_hook(
            handle,
            { context, _, _, pages in
                guard let context else { return SQLITE_OK }
                Unmanaged<Connection>.fromOpaque(context).takeUnretainedValue().pagesInLog = pages
                return SQLITE_OK
            }, context)
    }

    /// The log was made to begin anew, and nothing was committed since.
    func logBeganAnew() {
        pagesInLog = 0
    }

    enum CheckpointMode {
        /// Copies what it can without making anybody wait.
        case passive
        /// Copies all and lets the log begin anew: waits for readers, holds off writers.
        case restart
        /// The same, and cuts the log to nothing.
        case truncate
    }

    struct Checkpoint {
        /// Pages in the log.
        var pages: Int32
        /// Those of them that the file has.
        var copied: Int32
        /// Somebody was in the way, and not all that the mode asks was done.
        var wasBlocked: Bool
    }

    func checkpoint(_ mode: CheckpointMode) throws -> Checkpoint {
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
