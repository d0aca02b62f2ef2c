import CNacrePostgres
import NacreCloudStorage
import NacreCloudWire

/// The rows that a statement returned, in binary form.
final class Answer {
    private let result: OpaquePointer

    /// - Parameter result: a result of libpq, which the answer frees.
    init(_ result: OpaquePointer) {
        self.result = result
    }

    deinit {
        PQclear(result)
    }

    /// The number of rows that the statement returned.
    var count: Int { Int(PQntuples(result)) }

    /// The number of rows that the statement wrote, removed or returned.
    var changed: Int { Int(String(cString: PQcmdTuples(result))) ?? 0 }

    func rows<Row>(_ read: (inout Cells) throws -> Row) throws -> [Row] {
        var rows: [Row] = []
        rows.reserveCapacity(count)
        for index in 0..<PQntuples(result) {
            var cells = Cells(result: result, row: index)
            rows.append(try read(&cells))
        }
        return rows
    }

    func first<Row>(_ read: (inout Cells) throws -> Row) throws -> Row? {
        guard count > 0 else { return nil }
        var cells = Cells(result: result, row: 0)
        return try read(&cells)
    }
}

/// The columns of one row, read from the first to the last.
struct Cells {
    fileprivate let result: OpaquePointer
    fileprivate let row: Int32
    private var column: Int32 = 0

    fileprivate init(result: OpaquePointer, row: Int32) {
        (self.result, self.row) = (result, row)
    }

    /// Whether the next column is NULL.
    var isNull: Bool { PQgetisnull(result, row, column) != 0 }

    private mutating func next() -> UnsafeRawBufferPointer? {
        defer { column += 1 }
        guard column < PQnfields(result), PQgetisnull(result, row, column) == 0 else { return nil }
        return UnsafeRawBufferPointer(start: PQgetvalue(result, row, column), count: Int(PQgetlength(result, row, column)))
    }

    private mutating func fixed<Number: FixedWidthInteger>(_ type: Number.Type) throws -> Number {
        guard let cell = next(), cell.count == MemoryLayout<Number>.size else {
            throw StoreError(.corrupt, "A column of PostgreSQL's answer has another type", ["column": String(column)])
        }
        return Number(bigEndian: cell.loadUnaligned(as: Number.self))
    }

    mutating func integer() throws -> Int64 { try fixed(Int64.self) }
    mutating func bool() throws -> Bool { try fixed(UInt8.self) != 0 }
    mutating func timestamp() throws -> Timestamp {
        Timestamp(secondsSince2001: Double(bitPattern: UInt64(bitPattern: try integer())))
    }

    mutating func optionalTimestamp() throws -> Timestamp? {
        guard isNull else { return try timestamp() }
        column += 1
        return nil
    }

    mutating func number() throws -> ChangeNumber { ChangeNumber(run: try integer(), seq: try integer()) }

    mutating func optionalBytes() -> [UInt8]? { next().map { Array($0) } }
    mutating func bytes() -> [UInt8] { optionalBytes() ?? [] }
    mutating func optionalString() -> String? { next().map { String(decoding: $0, as: UTF8.self) } }
    mutating func string() -> String { optionalString() ?? "" }

    /// Reads an array of names, of one dimension and without NULLs.
    mutating func strings() throws -> [String] {
        guard let cell = next() else { return [] }
        var place = 0
        func number() throws -> Int {
            guard cell.count - place >= 4 else { throw StoreError(.corrupt, "An array of PostgreSQL's answer ends early") }
            defer { place += 4 }
            return Int(Int32(bigEndian: cell.loadUnaligned(fromByteOffset: place, as: Int32.self)))
        }
        let dimensions = try number()
        _ = try (number(), number())
        guard dimensions == 1 else { return [] }
        let count = try number()
        _ = try number()
        var found: [String] = []
        for _ in 0..<count {
            let length = try number()
            guard length >= 0, cell.count - place >= length else { throw StoreError(.corrupt, "An array of PostgreSQL's answer ends early") }
            found.append(String(decoding: cell[place..<(place + length)], as: UTF8.self))
            place += length
        }
        return found
    }
}
