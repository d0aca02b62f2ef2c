import CNacreSQLite
import FoundationEssentials
import NacreCloudTestSupport
import Testing

/// The file of a store in a temporary folder, as another program would use it.
extension TemporaryFolder {
    /// Makes a folder with a copy of a file of `Fixtures`.
    static func fixture(_ name: String) throws -> TemporaryFolder {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("Fixtures/\(name)")
        let folder = try TemporaryFolder()
        try FileManager.default.copyItem(atPath: file.path, toPath: folder.path + "/nacre.sqlite")
        return folder
    }

    /// Index rows that do not lead to the row of their record.
    static let rowsAstray = """
        SELECT i.name FROM record_index i LEFT JOIN records r ON r.id = i.id AND r.db_id = i.db_id AND r.zone_id = i.zone_id AND r.name = i.name
        WHERE r.id IS NULL
        """

    /// Runs SQL. Returns the last column of each row.
    @discardableResult
    func sql(_ text: String) throws -> [String] {
        var handle: OpaquePointer?
        defer { sqlite3_close_v2(handle) }
        try #require(sqlite3_open(path + "/nacre.sqlite", &handle) == SQLITE_OK)
        var statement: OpaquePointer?
        defer { sqlite3_finalize(statement) }
        try #require(sqlite3_prepare_v2(handle, text, -1, &statement, nil) == SQLITE_OK, "\(text)")
        var rows: [String] = []
        var result = sqlite3_step(statement)
        while result == SQLITE_ROW {
            rows.append(sqlite3_column_text(statement, sqlite3_column_count(statement) - 1).map { String(cString: $0) } ?? "")
            result = sqlite3_step(statement)
        }
        try #require(result == SQLITE_DONE, "\(text)")
        return rows
    }
}
