extension Migration {
    /// Version 1: databases, zones, records, feeds, indexes, entries, logged operations and tasks.
    ///
    /// `db_id` leads every key, so a tenant is one range of each table, to be moved or removed as a whole. Work that is
    /// due is the exception: its indexes are led by the time, because it is found across databases. The columns
    /// `incarnation` hold numbers of runs.
    static let firstTables = Migration(
        version: 1,
        statements: [
            // Rows of databases, zones and entries have checksums (`RowChecksum`).
            Statement(
                """
                CREATE TABLE databases (
                    db_id INTEGER NOT NULL PRIMARY KEY, container TEXT NOT NULL, environment TEXT NOT NULL, scope TEXT NOT NULL, owner TEXT NOT NULL,
                    incarnation INTEGER NOT NULL, last_seq INTEGER NOT NULL, forgotten_seq INTEGER NOT NULL, bytes INTEGER NOT NULL,
                    checksum INTEGER NOT NULL) STRICT
                """),
            Statement("CREATE INDEX databases_by_container ON databases (container, environment, db_id)"),

            // `state` is ZoneRow.State; `feed_seq` is the zone's position in its database's feed, 0 while it has none.
            // `indexes_below` says which indexes of its container's schema have their rows in it.
            Statement(
                """
                CREATE TABLE zones (
                    db_id INTEGER NOT NULL, zone_id INTEGER NOT NULL, name TEXT NOT NULL, state INTEGER NOT NULL, incarnation INTEGER NOT NULL,
                    last_seq INTEGER NOT NULL, feed_seq INTEGER NOT NULL, forgotten_incarnation INTEGER NOT NULL, forgotten_seq INTEGER NOT NULL,
                    indexes_below INTEGER NOT NULL, bytes INTEGER NOT NULL, checksum INTEGER NOT NULL, client_change_token BLOB,
                    PRIMARY KEY (db_id, zone_id)) STRICT, WITHOUT ROWID
                """),
            Statement("CREATE UNIQUE INDEX zones_by_name ON zones (db_id, name) WHERE state = 0"),
            Statement("CREATE INDEX zones_by_feed ON zones (db_id, feed_seq, name, zone_id)"),

            // One row: the newest run that this file knows. Each opening of the store is a run, by which changes are
            // numbered.
            Statement("CREATE TABLE runs (id INTEGER PRIMARY KEY CHECK (id = 1), run INTEGER NOT NULL) STRICT"),
            Statement("INSERT INTO runs (id, run) VALUES (1, 1)"),
            // The ends of a zone's earlier runs; under zone_id -1 those of the database's feed of zones, because the
            // numbers of zones are not negative.
            Statement(
                """
                CREATE TABLE run_ends (
                    db_id INTEGER NOT NULL, zone_id INTEGER NOT NULL, run INTEGER NOT NULL, seq INTEGER NOT NULL,
                    PRIMARY KEY (db_id, zone_id, run)) STRICT, WITHOUT ROWID
                """),

            // A table by row, with the key beside it: bodies are then written one after another, and a save of a random
            // name rewrites a page of names and not a page of bodies. Measured: a quarter of the bytes, less than half
            // of the time. The number by which index rows lead straight to a record's row is declared, because SQLite
            // may change row numbers that it gives by itself when it tidies a file.
            Statement(
                """
                CREATE TABLE records (
                    id INTEGER PRIMARY KEY, db_id INTEGER NOT NULL, zone_id INTEGER NOT NULL, name TEXT NOT NULL, type TEXT NOT NULL,
                    incarnation INTEGER NOT NULL, seq INTEGER NOT NULL, is_tombstone INTEGER NOT NULL, parent TEXT, body BLOB NOT NULL,
                    UNIQUE (db_id, zone_id, name)) STRICT
                """),
            Statement(
                """
                CREATE INDEX records_by_parent ON records (db_id, zone_id, parent, name) WHERE parent IS NOT NULL AND is_tombstone = 0
                """),
            Statement(
                """
                CREATE INDEX records_by_tombstone ON records (db_id, zone_id, incarnation, seq, name) WHERE is_tombstone = 1
                """),

            // A record appears once in each view, at its last change.
            Statement(
                """
                CREATE TABLE feed (
                    db_id INTEGER NOT NULL, zone_id INTEGER NOT NULL, view_id INTEGER NOT NULL,
                    incarnation INTEGER NOT NULL, seq INTEGER NOT NULL, name TEXT NOT NULL,
                    entered_incarnation INTEGER NOT NULL, entered_seq INTEGER NOT NULL, is_departure INTEGER NOT NULL,
                    PRIMARY KEY (db_id, zone_id, view_id, incarnation, seq, name)) STRICT, WITHOUT ROWID
                """),

            // The references to a record; `kind` is ReferenceLink.Kind.
            Statement(
                """
                CREATE TABLE record_links (
                    db_id INTEGER NOT NULL, zone_id INTEGER NOT NULL, target TEXT NOT NULL, kind INTEGER NOT NULL, name TEXT NOT NULL,
                    PRIMARY KEY (db_id, zone_id, target, kind, name)) STRICT, WITHOUT ROWID
                """),

            // One table for the indexes of all apps: a new field makes rows and no table. The name stands behind the
            // key: ties go by name, and pages go on from one.
            Statement(
                """
                CREATE TABLE record_index (
                    db_id INTEGER NOT NULL, zone_id INTEGER NOT NULL, index_id INTEGER NOT NULL, key BLOB NOT NULL, name TEXT NOT NULL,
                    id INTEGER NOT NULL,
                    PRIMARY KEY (db_id, zone_id, index_id, key, name)) STRICT, WITHOUT ROWID
                """),
            // Rows of an index of which records have many, the words of texts, are kept together: `index_waiting` has
            // the rows that a record's change takes away and brings, all in one row, until they are packed into
            // `index_blocks`, each of which holds rows from its key to the next block's. See
            // `docs/decisions/store-layout.md`.
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

            // A table by row for the same reason as records. `expires` stands before the bytes, so that sorting by it
            // does not read them.
            Statement(
                """
                CREATE TABLE operations (
                    db_id INTEGER NOT NULL, operation_id TEXT NOT NULL, caller TEXT NOT NULL, expires REAL NOT NULL, digest BLOB NOT NULL,
                    result BLOB NOT NULL, PRIMARY KEY (db_id, operation_id)) STRICT
                """),
            Statement("CREATE INDEX operations_by_expiry ON operations (expires, db_id, operation_id)"),
            Statement("CREATE INDEX operations_by_caller ON operations (db_id, caller, expires, operation_id)"),

            Statement(
                """
                CREATE TABLE entries (
                    db_id INTEGER NOT NULL, kind INTEGER NOT NULL, name TEXT NOT NULL, value BLOB NOT NULL, expires REAL, checksum INTEGER NOT NULL,
                    PRIMARY KEY (db_id, kind, name)) STRICT, WITHOUT ROWID
                """),
            Statement("CREATE INDEX entries_by_expiry ON entries (expires, db_id, kind, name) WHERE expires IS NOT NULL"),

            Statement(
                """
                CREATE TABLE tasks (
                    db_id INTEGER NOT NULL, kind INTEGER NOT NULL, name TEXT NOT NULL, due REAL NOT NULL, attempts INTEGER NOT NULL,
                    payload BLOB NOT NULL, PRIMARY KEY (db_id, kind, name)) STRICT, WITHOUT ROWID
                """),
            Statement("CREATE INDEX tasks_by_due ON tasks (due, db_id, kind, name)"),
        ])
}
