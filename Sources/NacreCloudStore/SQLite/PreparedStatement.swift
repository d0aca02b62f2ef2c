import CNacreSQLite
import NacreCloudStorage
import NacreCloudWire

/// A statement in use: parameters are bound in order, then rows are stepped, then columns are read in order.
///
/// Confined to its connection's thread. Valid only inside `Connection.use`.
///
/// ```swift
/// let number = try connection.use(.databaseNumber) { statement in
///     statement.bind(id.rawValue)
///     return try statement.step() ? statement.number() : nil
/// }
/// ```
final class PreparedStatement {
    private let handle: OpaquePointer
    private let database: OpaquePointer
    private let text: StaticString
    private var parameter: Int32 = 0
    private var column: Int32 = -1
    private var bindResult = SQLITE_OK
    private var hasBorrowedBytes = false

    init(_ statement: Statement, on database: OpaquePointer) throws {
        var handle: OpaquePointer?
        let text = statement.text
        let result = text.withUTF8Buffer { utf8 in
            utf8.withMemoryRebound(to: CChar.self) { text in
                sqlite3_prepare_v3(database, text.baseAddress, Int32(text.count), UInt32(SQLITE_PREPARE_PERSISTENT), &handle, nil)
            }
        }
        guard result == SQLITE_OK, let handle else {
            throw SQLiteFailure(code: result, of: database, statement: text)
        }
        self.handle = handle
        self.database = database
        self.text = text
    }

    /// Prepares a text that is put together from constants and numbers, for one use.
    /// - Parameter kind: The text that its errors name.
    init(assembled text: String, as kind: StaticString, on database: OpaquePointer) throws {
        var handle: OpaquePointer?
        let result = sqlite3_prepare_v2(database, text, -1, &handle, nil)
        guard result == SQLITE_OK, let handle else { throw SQLiteFailure(code: result, of: database, statement: kind) }
        (self.handle, self.database, self.text) = (handle, database, kind)
    }

    func finalize() {
        sqlite3_finalize(handle)
    }

    /// Makes the statement ready for another use, whether this one succeeded or not.
    func reset() {
        // The result repeats the last step's, which was handled already.
        sqlite3_reset(handle)
        if hasBorrowedBytes {
            sqlite3_clear_bindings(handle)
            hasBorrowedBytes = false
        }
        parameter = 0
        bindResult = SQLITE_OK
    }

    /// Returns true if there is a row to read, false if the statement is done.
    func step() throws -> Bool {
        let result = bindResult == SQLITE_OK ? sqlite3_step(handle) : bindResult
        switch result {
        case SQLITE_ROW:
            column = -1
            return true
        case SQLITE_DONE:
            return false
        default:
            throw SQLiteFailure(code: result, of: database, statement: text)
        }
    }

    /// Steps to the end. Returns the first column of each row.
    @inline(never)
    func integers() throws -> [Int64] {
        var integers: [Int64] = []
        while try step() { integers.append(integer()) }
        return integers
    }

    // MARK: Parameters

    private func bound(_ result: Int32) {
        if result != SQLITE_OK { bindResult = result }
    }

    func bind(_ value: Int64) {
        parameter += 1
        bound(sqlite3_bind_int64(handle, parameter, value))
    }

    func bind(_ value: Int) {
        bind(Int64(value))
    }

    func bind(_ value: Bool) {
        bind(value ? 1 as Int64 : 0)
    }

    func bind(_ value: Timestamp?) {
        parameter += 1
        bound(value.map { sqlite3_bind_double(handle, parameter, $0.secondsSince2001) } ?? sqlite3_bind_null(handle, parameter))
    }

    func bind(_ value: String?) {
        parameter += 1
        guard var value else { return bound(sqlite3_bind_null(handle, parameter)) }
        value.withUTF8 { utf8 in
            guard let start = utf8.baseAddress, utf8.count > 0 else {
                return bound(nacre_bind_copied_text(handle, parameter, "", 0))
            }
            guard let count = Int32(exactly: utf8.count) else { return bound(SQLITE_TOOBIG) }
            start.withMemoryRebound(to: CChar.self, capacity: utf8.count) {
                bound(nacre_bind_copied_text(handle, parameter, $0, count))
            }
        }
    }

    /// Binds bytes without a copy. They must stay in place until the last step.
    func bind(borrowed bytes: UnsafeBufferPointer<UInt8>) {
        parameter += 1
        hasBorrowedBytes = true
        guard let start = bytes.baseAddress, bytes.count > 0 else { return bound(sqlite3_bind_zeroblob(handle, parameter, 0)) }
        guard let count = Int32(exactly: bytes.count) else { return bound(SQLITE_TOOBIG) }
        bound(nacre_bind_borrowed_blob(handle, parameter, start, count))
    }

    func bind(copied bytes: [UInt8]) {
        parameter += 1
        bytes.withUnsafeBufferPointer { bytes in
            guard let start = bytes.baseAddress, bytes.count > 0 else { return bound(sqlite3_bind_zeroblob(handle, parameter, 0)) }
            guard let count = Int32(exactly: bytes.count) else { return bound(SQLITE_TOOBIG) }
            bound(nacre_bind_copied_blob(handle, parameter, start, count))
        }
    }

    func bindNull() {
        parameter += 1
        bound(sqlite3_bind_null(handle, parameter))
    }

    func bind(_ zone: ZoneAddress) {
        bind(zone.database.rawValue)
        bind(zone.zone)
    }

    func bind(_ number: ChangeNumber) {
        bind(number.run)
        bind(number.seq)
    }

    // MARK: Columns

    func integer() -> Int64 {
        column += 1
        return sqlite3_column_int64(handle, column)
    }

    func bool() -> Bool {
        integer() != 0
    }

    func number() -> ChangeNumber {
        let run = integer()
        return ChangeNumber(run: run, seq: integer())
    }

    func timestamp() -> Timestamp {
        column += 1
        return Timestamp(secondsSince2001: sqlite3_column_double(handle, column))
    }

    func optionalTimestamp() -> Timestamp? {
        isNull ? skip() : timestamp()
    }

    func string() -> String {
        column += 1
        guard let start = sqlite3_column_text(handle, column) else { return "" }
        return String(decoding: UnsafeBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, column))), as: UTF8.self)
    }

    func optionalString() -> String? {
        isNull ? skip() : string()
    }

    func bytes() -> [UInt8] {
        column += 1
        guard let start = sqlite3_column_blob(handle, column) else { return [] }
        return [UInt8](UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, column))))
    }

    func optionalBytes() -> [UInt8]? {
        isNull ? skip() : bytes()
    }

    /// Whether the next column is NULL.
    var isNull: Bool { sqlite3_column_type(handle, column + 1) == SQLITE_NULL }

    private func skip<Value>() -> Value? {
        column += 1
        return nil
    }
}
