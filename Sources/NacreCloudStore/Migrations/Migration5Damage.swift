extension Migration {
    /// Counts logged operations for each caller, and adds checksums to the rows of databases, zones and entries. Rows
    /// of earlier versions get theirs when they are put again.
    static let damage = Migration(
        version: 5,
        statements: [
            // The key of an operation begins with its caller's name and a slash.
            Statement("ALTER TABLE operations ADD COLUMN caller TEXT NOT NULL DEFAULT ''"),
            Statement(
                """
                UPDATE operations SET caller = substr(operation_id, 1, instr(operation_id, '/') - 1) WHERE instr(operation_id, '/') > 0
                """),
            Statement("ALTER TABLE databases ADD COLUMN checksum INTEGER"),
            Statement("ALTER TABLE zones ADD COLUMN checksum INTEGER"),
            Statement("ALTER TABLE entries ADD COLUMN checksum INTEGER"),
            Statement("CREATE INDEX operations_by_caller ON operations (db_id, caller, expires, operation_id)"),
        ])
}
