extension Migration {
    /// Packs the rows of indexes that have many rows for each record: the words of texts.
    ///
    /// `index_waiting` has the changes that wait: a row for each index, record and round, with all index rows that are
    /// removed and added. They are packed into `index_blocks`. Each block holds the rows from its place to the next
    /// block's.
    ///
    /// Existing rows stay in `record_index` until their records change. See
    /// `docs/decisions/words-are-packed-beside-the-saves.md`.
    static let packedIndexes = Migration(
        version: 10,
        statements: [
            Statement(
                """
                CREATE TABLE index_waiting (
                    db_id INTEGER NOT NULL, zone_id INTEGER NOT NULL, index_id INTEGER NOT NULL, name TEXT NOT NULL, round INTEGER NOT NULL,
                    id INTEGER NOT NULL, checksum INTEGER NOT NULL, changes BLOB NOT NULL,
                    PRIMARY KEY (db_id, zone_id, index_id, name, round)) STRICT, WITHOUT ROWID
                """),
            Statement(
                """
                CREATE TABLE index_blocks (
                    db_id INTEGER NOT NULL, zone_id INTEGER NOT NULL, index_id INTEGER NOT NULL, key BLOB NOT NULL, name TEXT NOT NULL,
                    checksum INTEGER NOT NULL, rows BLOB NOT NULL,
                    PRIMARY KEY (db_id, zone_id, index_id, key, name)) STRICT, WITHOUT ROWID
                """),
        ])
}
