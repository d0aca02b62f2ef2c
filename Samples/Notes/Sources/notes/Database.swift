import CSQLite
import CloudKit

/// The part of SQLite that the cache needs: statements and rows of values. Not `Sendable`: an actor keeps it.
final class Database {
    enum Value: Equatable {
        case null
        case integer(Int64)
        case text(String)
        case blob(Data)

        var text: String? { if case .text(let text) = self { text } else { nil } }
        var blob: Data? { if case .blob(let blob) = self { blob } else { nil } }
        var isTrue: Bool { self == .integer(1) }

        init(_ text: String?) { self = text.map(Value.text) ?? .null }
        init(_ blob: Data?) { self = blob.map(Value.blob) ?? .null }
        init(_ truth: Bool) { self = .integer(truth ? 1 : 0) }
    }

    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    private var connection: OpaquePointer?

    /// Opens a database.
    /// - Parameter path: The file, which is made where it is missing; `:memory:` for none.
    init(path: String) throws {
        guard sqlite3_open(path, &connection) == SQLITE_OK else { throw failure("opening \(path)") }
    }

    deinit { sqlite3_close_v2(connection) }

    /// Runs one statement, and returns its rows.
    @discardableResult
    func run(_ sql: String, _ values: [Value] = []) throws -> [[Value]] {
        var statement: OpaquePointer?
        guard sqlite3_prepare_v2(connection, sql, -1, &statement, nil) == SQLITE_OK else { throw failure(sql) }
        defer { sqlite3_finalize(statement) }
        for (index, value) in values.enumerated() {
            guard bind(value, at: Int32(index) + 1, of: statement) == SQLITE_OK else { throw failure(sql) }
        }
        var rows: [[Value]] = []
        while true {
            switch sqlite3_step(statement) {
            case SQLITE_ROW: rows.append((0..<sqlite3_column_count(statement)).map { column($0, of: statement) })
            case SQLITE_DONE: return rows
            default: throw failure(sql)
            }
        }
    }

    private func bind(_ value: Value, at index: Int32, of statement: OpaquePointer?) -> Int32 {
        // SQLite copies the value before the call returns.
        let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
        return switch value {
        case .null: sqlite3_bind_null(statement, index)
        case .integer(let integer): sqlite3_bind_int64(statement, index, integer)
        case .text(let text): sqlite3_bind_text(statement, index, text, Int32(text.utf8.count), copied)
        case .blob(let data): data.withUnsafeBytes { sqlite3_bind_blob(statement, index, $0.baseAddress, Int32($0.count), copied) }
        }
    }

    private func column(_ index: Int32, of statement: OpaquePointer?) -> Value {
        switch sqlite3_column_type(statement, index) {
        case SQLITE_INTEGER: .integer(sqlite3_column_int64(statement, index))
        case SQLITE_TEXT: .text(sqlite3_column_text(statement, index).map { String(cString: $0) } ?? "")
        case SQLITE_BLOB:
            .blob(sqlite3_column_blob(statement, index).map { Data(bytes: $0, count: Int(sqlite3_column_bytes(statement, index))) } ?? Data())
        default: .null
        }
    }

    private func failure(_ what: String) -> Failure {
        Failure(description: "\(what): \(sqlite3_errmsg(connection).map { String(cString: $0) } ?? "no memory")")
    }
}
