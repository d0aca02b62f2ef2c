extension Migration {
    /// Adds references to records, index rows of a schema, and the forgotten part of each feed.
    static let referencesAndIndexes = Migration(
        version: 2,
        statements: [
            // `kind` is ReferenceLink.Kind.
            Statement(
                """
                CREATE TABLE record_links (
                    db_id INTEGER NOT NULL, zone_id INTEGER NOT NULL, target TEXT NOT NULL, kind INTEGER NOT NULL, name TEXT NOT NULL,
                    PRIMARY KEY (db_id, zone_id, target, kind, name)) STRICT, WITHOUT ROWID
                """),

            // One table for the indexes of all apps: a new field makes rows and no table.
            Statement(
                """
                CREATE TABLE record_index (
                    db_id INTEGER NOT NULL, zone_id INTEGER NOT NULL, index_id INTEGER NOT NULL, key BLOB NOT NULL, name TEXT NOT NULL,
                    PRIMARY KEY (db_id, zone_id, index_id, key, name)) STRICT, WITHOUT ROWID
                """),

            Statement(
                """
                CREATE INDEX records_by_tombstone ON records (db_id, zone_id, incarnation, seq, name) WHERE is_tombstone = 1
                """),
            Statement("CREATE INDEX databases_by_container ON databases (container, environment, db_id)"),

            Statement("ALTER TABLE zones ADD COLUMN forgotten_incarnation INTEGER NOT NULL DEFAULT 0"),
            Statement("ALTER TABLE zones ADD COLUMN forgotten_seq INTEGER NOT NULL DEFAULT 0"),
            Statement("ALTER TABLE databases ADD COLUMN forgotten_seq INTEGER NOT NULL DEFAULT 0"),
        ])
}
