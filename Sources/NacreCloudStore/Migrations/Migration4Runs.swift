extension Migration {
    /// Makes each opening of the store a run, by which changes are numbered. The columns `incarnation` hold its number.
    /// Existing changes are of run 1.
    static let runs = Migration(
        version: 4,
        statements: [
            // One row: the newest run that this file knows.
            Statement("CREATE TABLE runs (id INTEGER PRIMARY KEY CHECK (id = 1), run INTEGER NOT NULL) STRICT"),
            Statement("INSERT INTO runs (id, run) VALUES (1, 1)"),
            // The ends of a zone's earlier runs. The database's feed of zones has zone_id -1, because zones' numbers
            // are not negative.
            Statement(
                """
                CREATE TABLE run_ends (
                    db_id INTEGER NOT NULL, zone_id INTEGER NOT NULL, run INTEGER NOT NULL, seq INTEGER NOT NULL,
                    PRIMARY KEY (db_id, zone_id, run)) STRICT, WITHOUT ROWID
                """),
        ])
}
