import CSQLite
import CloudContainer

/// What SQLite answered instead of doing it. Codes, never error text, decide what follows.
struct SQLiteFailure: Error {
    /// SQLite's extended result code.
    var code: Int32
    var message: String
    var statement: StaticString?

    private var primaryCode: Int32 { code & 0xff }

    /// The disk did not confirm that it keeps what it was given. What is on it now is unknown, and asking again would not tell:
    /// the kernel has dropped the pages and would say yes.
    var isFsyncFailure: Bool { code == nacre_ioerr_fsync || code == nacre_ioerr_dir_fsync }

    /// SQLite ended the transaction without our hearing why.
    static let transactionLost = SQLiteFailure(code: SQLITE_ABORT, message: "the transaction was given up")

    var storeError: StoreError {
        var values = ["code": String(code), "message": message]
        if let statement { values["statement"] = String(describing: statement) }
        switch primaryCode {
        case SQLITE_FULL: return StoreError(.full, "There is no room to write", values)
        case SQLITE_CORRUPT, SQLITE_NOTADB: return StoreError(.corrupt, "The database file is damaged", values)
        case SQLITE_CONSTRAINT: return .contradiction("a row is there already, or lacks a value", values)
        case SQLITE_BUSY, SQLITE_LOCKED: return StoreError(.unavailable, "The database file stayed locked", values)
        default: return StoreError(.unavailable, "The database file could not be read or written", values)
        }
    }
}

extension StoreError {
    /// What an engine's caller hears of an error inside it.
    init(_ error: any Error) {
        switch error {
        case let error as StoreError: self = error
        case let error as SQLiteFailure: self = error.storeError
        default: self.init(.unavailable, "The store failed", ["error": String(describing: error)])
        }
    }
}
