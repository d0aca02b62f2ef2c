extension Migration {
    /// Gives each record a number. Index rows lead straight to a record's row by it, like SQLite's own indexes. The
    /// number is declared, because SQLite may change its implicit row numbers when it vacuums a file.
    static let recordIDs = Migration(
        version: 3,
        statements: [
            Statement(
                """
                CREATE TABLE records_with_id (
                    id INTEGER PRIMARY KEY, db_id INTEGER NOT NULL, zone_id INTEGER NOT NULL, name TEXT NOT NULL, type TEXT NOT NULL,
                    incarnation INTEGER NOT NULL, seq INTEGER NOT NULL, is_tombstone INTEGER NOT NULL, parent TEXT, body BLOB NOT NULL,
                    UNIQUE (db_id, zone_id, name)) STRICT
                """),
            Statement(
                """
                INSERT INTO records_with_id (id, db_id, zone_id, name, type, incarnation, seq, is_tombstone, parent, body)
                SELECT rowid, db_id, zone_id, name, type, incarnation, seq, is_tombstone, parent, body FROM records ORDER BY rowid
                """),
            Statement("DROP TABLE records"),
            Statement("ALTER TABLE records_with_id RENAME TO records"),
            Statement(
                """
                CREATE INDEX records_by_parent ON records (db_id, zone_id, parent, name) WHERE parent IS NOT NULL AND is_tombstone = 0
                """),
            Statement(
                """
                CREATE INDEX records_by_tombstone ON records (db_id, zone_id, incarnation, seq, name) WHERE is_tombstone = 1
                """),

            // `id` is not in the key: ties are ordered by name, and pages continue after a name.
            Statement(
                """
                CREATE TABLE record_index_with_id (
                    db_id INTEGER NOT NULL, zone_id INTEGER NOT NULL, index_id INTEGER NOT NULL, key BLOB NOT NULL, name TEXT NOT NULL,
                    id INTEGER NOT NULL,
                    PRIMARY KEY (db_id, zone_id, index_id, key, name)) STRICT, WITHOUT ROWID
                """),
            // Rows without a record belong to zones that are being reclaimed, and are dropped.
            Statement(
                """
                INSERT INTO record_index_with_id (db_id, zone_id, index_id, key, name, id)
                SELECT i.db_id, i.zone_id, i.index_id, i.key, i.name, r.id
                FROM record_index i CROSS JOIN records r
                WHERE r.db_id = i.db_id AND r.zone_id = i.zone_id AND r.name = i.name
                ORDER BY i.db_id, i.zone_id, i.index_id, i.key, i.name
                """),
            Statement("DROP TABLE record_index"),
            Statement("ALTER TABLE record_index_with_id RENAME TO record_index"),
        ])
}
