import Foundation
import Glibc

/// Prints JSON objects of one kind: as a table for a person, or as one line of JSON each for a program.
struct RowOutput {
    static let format = Option.value(
        "format", "format", oneOf: ["table", "json"], "table, or json: a line for each. By default a table where a terminal shows it.")

    /// Characters of a text shown in a table at most.
    static let widthMax = 40

    private let isTable: Bool

    init(_ call: Call) {
        isTable = call.value(Self.format).map { $0 == "table" } ?? (isatty(STDOUT_FILENO) == 1)
    }

    /// Prints objects.
    /// - Parameter cells: The cells of an object in a table, in the order of the columns.
    func print(_ objects: [[String: Any]], cells: ([String: Any]) -> [(column: String, text: String)]) throws {
        guard isTable else {
            for object in objects {
                let json = try JSONSerialization.data(withJSONObject: object, options: [.sortedKeys, .withoutEscapingSlashes])
                try Output.data(String(decoding: json, as: UTF8.self))
            }
            return
        }
        for line in Self.table(objects.map(cells)) { try Output.data(line) }
    }

    /// Returns the lines of a table with a head, its columns in the order in which they first occur. Control
    /// characters become spaces, so that no value breaks a line.
    static func table(_ rows: [[(column: String, text: String)]]) -> [String] {
        guard !rows.isEmpty else { return [] }
        var columns: [String] = []
        for row in rows { for cell in row where !columns.contains(cell.column) { columns.append(cell.column) } }
        let lines =
            [columns]
            + rows.map { row in
                columns.map { column in row.first { $0.column == column }.map { shown($0.text) } ?? "" }
            }
        let widths = columns.indices.map { index in lines.map { $0[index].count }.max() ?? 0 }
        return lines.map { line in
            let padded = zip(line, widths).map { $0 + String(repeating: " ", count: $1 - $0.count) }.joined(separator: "  ")
            return String(padded.reversed().drop { $0 == " " }.reversed())
        }
    }

    private static func shown(_ text: String) -> String {
        let line = Output.withoutControls(text)
        return line.count <= widthMax ? line : line.prefix(widthMax - 1) + "…"
    }
}
