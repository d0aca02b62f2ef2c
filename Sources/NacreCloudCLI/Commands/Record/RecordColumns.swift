import Foundation
import NacreCloudWire

/// The columns of records in CSV (RFC 4180). Fields stand under their names and types, such as `stars:INT64`.
///
/// A cell holds text, a number, a time or base64 as such, and any other value as a field of CloudKit's web API. A cell
/// without a character is an absent field; one with `""` is empty text.
struct RecordColumns: Equatable {
    enum Column: Hashable {
        case recordName
        case recordType
        case parent
        case field(String, FieldType)
    }

    struct Cell: Equatable {
        var text: String
        var isQuoted: Bool
    }

    private(set) var columns: [Column]

    /// - Parameters:
    ///   - fields: the types of the fields, by their names.
    ///   - leftOut: fields without a column: an empty cell would remove the value that a record has.
    init(_ fields: [String: FieldType], without leftOut: Set<String> = []) {
        let kept = fields.filter { !leftOut.contains($0.key) }
        columns = [.recordName, .recordType, .parent] + kept.sorted { $0.key < $1.key }.map { .field($0.key, $0.value) }
    }

    // MARK: Writing

    var header: String {
        columns.map { column in
            switch column {
            case .recordName: "recordName"
            case .recordType: "recordType"
            case .parent: "parent"
            case .field(let name, let type): "\(name):\(type.rawValue)"
            }
        }.joined(separator: ",")
    }

    func line(of row: RecordRow) -> String {
        columns.map { column in
            switch column {
            case .recordName: Self.quoted(row.name)
            case .recordType: Self.quoted(row.type)
            case .parent: row.parent.map(Self.quoted) ?? ""
            case .field(let name, let type):
                (row.files.first { $0.field == name }.map(Self.text) ?? row.fields[name].map { Self.text($0, type) })
                    .map(Self.quoted) ?? ""
            }
        }.joined(separator: ",")
    }

    private static func quoted(_ text: String) -> String {
        let quote = UInt8(ascii: "\"")
        let isPlain = !text.isEmpty && !text.utf8.contains { [UInt8(ascii: ","), quote, 10, 13].contains($0) }
        // Bytes, since a quote may be one character with what follows it.
        return isPlain ? text : "\"\(String(decoding: text.utf8.flatMap { $0 == quote ? [quote, quote] : [$0] }, as: UTF8.self))\""
    }

    private static func text(_ files: RecordRow.Files) -> String {
        guard files.isList else { return files.paths.first ?? "" }
        var writer = JSONWriter()
        writer.array(files.paths) { $0.string($1) }
        return String(decoding: writer.finish(), as: UTF8.self)
    }

    private static func text(_ value: FieldValue, _ type: FieldType) -> String {
        if value.type == type {
            switch value {
            case .string(let text): return text
            case .int64(let number): return String(number)
            case .double(let number): return "\(number)"
            case .timestamp(let time): return text(time)
            case .bytes(let bytes): return Data(bytes).base64EncodedString()
            default: break
            }
        }
        var writer = JSONWriter()
        value.write(to: &writer, form: ValueForm(details: true, numbersAsStrings: false))
        return String(decoding: writer.finish(), as: UTF8.self)
    }

    private static let time = Date.ISO8601FormatStyle(includingFractionalSeconds: true)

    /// A time of whole milliseconds as ISO 8601, any other as its seconds since 2001.
    private static func text(_ time: Timestamp) -> String {
        let text = Date(timeIntervalSinceReferenceDate: time.secondsSince2001).formatted(Self.time)
        return timestamp(text) == time ? text : "\(time.secondsSince2001)"
    }

    private static func timestamp(_ text: String) -> Timestamp? {
        if let seconds = Double(text) { return seconds.isFinite ? Timestamp(secondsSince2001: seconds) : nil }
        guard let date = (try? Self.time.parse(text)) ?? (try? Date.ISO8601FormatStyle().parse(text)) else { return nil }
        return Timestamp(millisecondsSince1970: Int64((date.timeIntervalSince1970 * 1000).rounded()))
    }

    // MARK: Reading

    /// Reads the first line.
    init(header: String) throws(RecordRow.Fault) {
        guard let cells = Self.cells(of: header) else { throw RecordRow.Fault(text: "the first line is not CSV") }
        columns = []
        for cell in cells {
            let parts = cell.text.split(separator: ":", maxSplits: 1).map(String.init)
            switch (cell.text, parts.count) {
            case ("recordName", _): columns.append(.recordName)
            case ("recordType", _): columns.append(.recordType)
            case ("parent", _): columns.append(.parent)
            case (_, 2):
                guard let type = FieldType(rawValue: parts[1]) else {
                    throw RecordRow.Fault(text: "\(parts[1]) is no type: take \(FieldType.allCases.map(\.rawValue).joined(separator: ", "))")
                }
                columns.append(.field(parts[0], type))
            default: throw RecordRow.Fault(text: "the column \(cell.text) has no type: write it as \(cell.text):STRING")
            }
        }
        let names = columns.map { if case .field(let name, _) = $0 { name } else { "\($0)" } }
        guard Set(names).count == names.count else { throw RecordRow.Fault(text: "two columns have one name") }
        guard columns.contains(.recordName), columns.contains(.recordType) else {
            throw RecordRow.Fault(text: "the columns recordName and recordType are missing")
        }
    }

    /// Reads a further line.
    func row(_ line: String) throws(RecordRow.Fault) -> RecordRow {
        guard let cells = Self.cells(of: line), cells.count == columns.count else {
            throw RecordRow.Fault(text: "it has not \(columns.count) cells of CSV")
        }
        var row = RecordRow(name: "", type: "", fields: RecordFields())
        for (column, cell) in zip(columns, cells) {
            switch column {
            case .recordName: row.name = cell.text
            case .recordType: row.type = cell.text
            case .parent: row.parent = cell.text.isEmpty ? nil : cell.text
            case .field(let name, _) where cell.text.isEmpty && !cell.isQuoted: row.cleared.append(name)
            case .field(let name, .asset): row.files.append(.init(field: name, paths: [try RecordRow.checked(cell.text)], isList: false))
            case .field(let name, .assetList):
                guard case .stringList(let paths)? = FieldValue(filterValue: #"{"type":"STRING_LIST","value":\#(cell.text)}"#) else {
                    throw RecordRow.Fault(text: "\(name) is no list of paths in JSON")
                }
                var checked: [String] = []
                for path in paths { checked.append(try RecordRow.checked(path)) }
                row.files.append(.init(field: name, paths: checked, isList: true))
            case .field(let name, let type):
                guard let value = Self.value(cell.text, type) else { throw RecordRow.Fault(text: "\(name) is no \(type.rawValue)") }
                row.fields[name] = try RecordRow.unsealed(value, of: name)
            }
        }
        guard !row.name.isEmpty, !row.type.isEmpty else { throw RecordRow.Fault(text: "it has no recordName or no recordType") }
        return row
    }

    private static func value(_ text: String, _ type: FieldType) -> FieldValue? {
        switch type {
        case .string: .string(text)
        case .int64 where !text.hasPrefix("{"): Int64(text).map(FieldValue.int64)
        case .double where !text.hasPrefix("{"): Double(text).flatMap { $0.isFinite ? .double($0) : nil }
        case .timestamp where !text.hasPrefix("{"): timestamp(text).map(FieldValue.timestamp)
        case .bytes where !text.hasPrefix("{"): Data(base64Encoded: text).map { .bytes([UInt8]($0)) }
        default: FieldValue(filterValue: text)
        }
    }

    /// Returns the cells of a line; nil where quotes stand wrong.
    static func cells(of line: String) -> [Cell]? {
        var (cells, bytes, isQuoted, isOpen) = ([Cell](), [UInt8](), false, false)
        let line = Array(line.utf8)
        var index = 0
        func end() { cells.append(Cell(text: String(decoding: bytes, as: UTF8.self), isQuoted: isQuoted)) }
        while index < line.count {
            let byte = line[index]
            index += 1
            switch byte {
            case UInt8(ascii: "\"") where isOpen:
                if index < line.count, line[index] == byte {
                    bytes.append(byte)
                    index += 1
                } else {
                    isOpen = false
                }
            case UInt8(ascii: "\"") where bytes.isEmpty && !isQuoted: (isOpen, isQuoted) = (true, true)
            case UInt8(ascii: ",") where !isOpen:
                end()
                (bytes, isQuoted) = ([], false)
            default:
                // Nothing but a comma stands behind a closing quote, and no quote in plain text.
                if !isOpen, isQuoted || byte == UInt8(ascii: "\"") { return nil }
                bytes.append(byte)
            }
        }
        if isOpen { return nil }
        end()
        return cells
    }
}
