import Foundation

/// Reads a file of records row by row. It holds one row and a portion of the file in memory.
struct RowFile {
    /// Bytes of a row at most: a record's megabyte, as base64 with each quote doubled, fits.
    static let rowBytesMax = 4 << 20
    private static let portionBytes = 64 << 10

    struct Row {
        /// The number of its first line, from 1 on.
        var line: Int
        /// nil: it is not UTF-8.
        var text: String?
    }

    private let path: String
    private let file: FileHandle
    /// Whether a line feed between quotes belongs to the row, as in CSV.
    private let hasQuotes: Bool
    private var buffer: [UInt8] = []
    private var start = 0
    private var line = 0
    private var isAtEnd = false

    init(_ path: String, hasQuotes: Bool) throws {
        guard let file = FileHandle(forReadingAtPath: path) else {
            throw CommandFailure(.failure, "\(path) cannot be read", remedy: "Name a file that is there.")
        }
        (self.path, self.file, self.hasQuotes) = (path, file, hasQuotes)
    }

    /// Returns the next row that is not empty; nil at the end.
    /// - Throws: `CommandFailure` for a row that is too long, or where the file cannot be read.
    mutating func next() throws -> Row? {
        var (scanned, isQuoted, first) = (start, false, line + 1)
        while true {
            while scanned < buffer.count {
                let byte = buffer[scanned]
                scanned += 1
                if hasQuotes, byte == UInt8(ascii: "\"") { isQuoted.toggle() }
                guard byte == UInt8(ascii: "\n") else { continue }
                line += 1
                if isQuoted { continue }
                if let row = take(through: scanned, from: first) { return row }
                first = line + 1
            }
            if isAtEnd {
                line += 1
                return take(through: buffer.count, from: first)
            }
            guard buffer.count - start <= Self.rowBytesMax else {
                throw CommandFailure(.failure, "\(path) has a row of more than \(Self.rowBytesMax) bytes at line \(first)")
            }
            buffer.removeFirst(start)
            scanned -= start
            start = 0
            let portion = try file.read(upToCount: Self.portionBytes) ?? Data()
            isAtEnd = portion.isEmpty
            buffer += portion
        }
    }

    private mutating func take(through end: Int, from first: Int) -> Row? {
        var bytes = buffer[start..<end]
        start = end
        while let last = bytes.last, last == 10 || last == 13 { bytes.removeLast() }
        return bytes.isEmpty ? nil : Row(line: first, text: String(validating: bytes, as: UTF8.self))
    }
}
