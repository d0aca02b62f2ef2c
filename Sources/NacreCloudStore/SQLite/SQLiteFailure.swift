import CNacreSQLite
import Glibc
import NacreCloudStorage

/// An error of SQLite. Its codes, never its text, decide what follows.
struct SQLiteFailure: Error {
    /// SQLite's extended result code.
    var code: Int32
    var message: String
    var statement: StaticString?
    /// The system's `errno`, if SQLite knows it; 0 otherwise.
    var systemError: Int32 = 0

    init(code: Int32, message: String, statement: StaticString? = nil) {
        self.code = code
        self.message = message
        self.statement = statement
    }

    /// Creates the error of a connection's last call, which returned `code`.
    init(code: Int32, of database: OpaquePointer, statement: StaticString? = nil) {
        self.init(code: code, message: String(cString: sqlite3_errmsg(database)), statement: statement)
        // SQLite sets it for these two codes, and leaves an older value for others.
        if primaryCode == SQLITE_IOERR || primaryCode == SQLITE_CANTOPEN { systemError = sqlite3_system_errno(database) }
    }

    private var primaryCode: Int32 { code & 0xff }

    /// Whether the disk failed to confirm a sync. The file's state is then unknown, and another sync would not tell:
    /// the kernel has dropped the pages and would report success.
    var isFsyncFailure: Bool { code == nacre_ioerr_fsync || code == nacre_ioerr_dir_fsync }

    /// The error of a transaction that SQLite ended without a reported reason.
    static let transactionLost = SQLiteFailure(code: SQLITE_ABORT, message: "the transaction was given up")

    var storeError: StoreError {
        var values = ["code": String(code), "message": message]
        if let statement { values["statement"] = String(describing: statement) }
        if systemError != 0 { values["reason"] = String(cString: strerror(systemError)) }
        switch primaryCode {
        case SQLITE_IOERR where [ENOSPC, EDQUOT].contains(systemError) && !isFsyncFailure:
            return StoreError(.full, "There is no room to write", values)
        case SQLITE_READONLY: return StoreError(.readOnly, "The data folder cannot be written", values)
        case SQLITE_CANTOPEN where [EROFS, EACCES, EPERM].contains(systemError):
            return StoreError(.readOnly, "The data folder cannot be written", values)
        case SQLITE_FULL: return StoreError(.full, "There is no room to write", values)
        case SQLITE_CORRUPT, SQLITE_NOTADB: return StoreError(.corrupt, "The database file is damaged", values)
        case SQLITE_CONSTRAINT where [nacre_constraint_primary_key, nacre_constraint_unique].contains(code):
            return .collision("a row of this key is there already", values)
        case SQLITE_CONSTRAINT: return .contradiction("a row lacks a value, or has one that cannot be", values)
        case SQLITE_BUSY, SQLITE_LOCKED: return StoreError(.unavailable, "The database file stayed locked", values)
        default: return StoreError(.unavailable, "The database file could not be read or written", values)
        }
    }
}

extension StoreError {
    /// Converts an error inside an engine to the one that its caller gets.
    init(_ error: any Error) {
        switch error {
        case let error as StoreError: self = error
        case let error as SQLiteFailure: self = error.storeError
        default: self.init(.unavailable, "The store failed", ["error": String(describing: error)])
        }
    }
}
