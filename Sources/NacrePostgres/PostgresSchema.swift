import NacreCloudStorage

/// The tables on PostgreSQL.
///
/// `db_id` leads every key, so that a database's rows are found together and a cluster can place them. Due work is the
/// exception. Names are `bytea`: they hold every text, and no key depends on the database's locale or encoding. Rows
/// have no checksums of their own, because PostgreSQL's pages have them (`initdb --data-checksums`). The columns are
/// those of SQLite's tables.
package enum PostgresSchema {
    /// The version that this build reads and writes.
    package static let version: Int64 = 1

    /// The statements that bring a database to a version, in their order.
    static let steps: [(version: Int64, statements: [Statement])] = [(1, firstTables)]

    private static let firstTables: [Statement] = [
        // One row. `identity` tells whether the data are still where run `run` was begun.
        Statement(
            """
            CREATE TABLE nacre (
                id bigint NOT NULL PRIMARY KEY CHECK (id = 1), version bigint NOT NULL, run bigint NOT NULL, identity bytea NOT NULL)
            """),
        Statement("INSERT INTO nacre (id, version, run, identity) VALUES (1, 1, 1, '')"),
        Statement(
            """
            CREATE TABLE databases (
                db_id bigint NOT NULL PRIMARY KEY, container bytea NOT NULL, environment bytea NOT NULL, scope bytea NOT NULL,
                owner bytea NOT NULL, incarnation bigint NOT NULL, last_seq bigint NOT NULL, forgotten_seq bigint NOT NULL,
                bytes bigint NOT NULL) WITH (fillfactor = 80)
            """),
        Statement("CREATE INDEX databases_by_container ON databases (container, environment, db_id)"),
        // Each save changes the row of its zone: room on the page keeps the next version beside it.
        Statement(
            """
            CREATE TABLE zones (
                db_id bigint NOT NULL, zone_id bigint NOT NULL, name bytea NOT NULL, state bigint NOT NULL, incarnation bigint NOT NULL,
                last_seq bigint NOT NULL, feed_seq bigint NOT NULL, forgotten_incarnation bigint NOT NULL, forgotten_seq bigint NOT NULL,
                indexes_below bigint NOT NULL, bytes bigint NOT NULL, client_change_token bytea,
                PRIMARY KEY (db_id, zone_id)) WITH (fillfactor = 80)
            """),
        Statement("CREATE UNIQUE INDEX zones_by_name ON zones (db_id, name) WHERE state = 0"),
        Statement("CREATE INDEX zones_by_feed ON zones (db_id, feed_seq, name, zone_id)"),
        Statement(
            """
            CREATE TABLE run_ends (
                db_id bigint NOT NULL, zone_id bigint NOT NULL, run bigint NOT NULL, seq bigint NOT NULL, PRIMARY KEY (db_id, zone_id, run))
            """),
        Statement(
            """
            CREATE TABLE records (
                db_id bigint NOT NULL, zone_id bigint NOT NULL, incarnation bigint NOT NULL, seq bigint NOT NULL,
                is_tombstone boolean NOT NULL, name bytea NOT NULL, type bytea NOT NULL, parent bytea, body bytea NOT NULL,
                PRIMARY KEY (db_id, zone_id, name))
            """),
        Statement("CREATE INDEX records_by_parent ON records (db_id, zone_id, parent, name) WHERE parent IS NOT NULL AND NOT is_tombstone"),
        Statement("CREATE INDEX records_by_tombstone ON records (db_id, zone_id, incarnation, seq, name) WHERE is_tombstone"),
        Statement(
            """
            CREATE TABLE feed (
                db_id bigint NOT NULL, zone_id bigint NOT NULL, view_id bigint NOT NULL, incarnation bigint NOT NULL, seq bigint NOT NULL,
                entered_incarnation bigint NOT NULL, entered_seq bigint NOT NULL, is_departure boolean NOT NULL, name bytea NOT NULL,
                PRIMARY KEY (db_id, zone_id, view_id, incarnation, seq, name))
            """),
        Statement(
            """
            CREATE TABLE record_links (
                db_id bigint NOT NULL, zone_id bigint NOT NULL, kind bigint NOT NULL, target bytea NOT NULL, name bytea NOT NULL,
                PRIMARY KEY (db_id, zone_id, target, kind, name))
            """),
        Statement(
            """
            CREATE TABLE record_index (
                db_id bigint NOT NULL, zone_id bigint NOT NULL, index_id bigint NOT NULL, key bytea NOT NULL, name bytea NOT NULL,
                PRIMARY KEY (db_id, zone_id, index_id, key, name))
            """),
        Statement(
            """
            CREATE TABLE operations (
                db_id bigint NOT NULL, expires float8 NOT NULL, operation_id bytea NOT NULL, caller bytea NOT NULL, digest bytea NOT NULL,
                result bytea NOT NULL, PRIMARY KEY (db_id, operation_id))
            """),
        Statement("CREATE INDEX operations_by_expiry ON operations (expires, db_id, operation_id)"),
        Statement("CREATE INDEX operations_by_caller ON operations (db_id, caller, expires, operation_id)"),
        Statement(
            """
            CREATE TABLE entries (
                db_id bigint NOT NULL, kind bigint NOT NULL, expires float8, name bytea NOT NULL, value bytea NOT NULL,
                PRIMARY KEY (db_id, kind, name))
            """),
        Statement("CREATE INDEX entries_by_expiry ON entries (expires, db_id, kind, name) WHERE expires IS NOT NULL"),
        Statement(
            """
            CREATE TABLE tasks (
                db_id bigint NOT NULL, kind bigint NOT NULL, due float8 NOT NULL, attempts bigint NOT NULL, name bytea NOT NULL,
                payload bytea NOT NULL, PRIMARY KEY (db_id, kind, name))
            """),
        Statement("CREATE INDEX tasks_by_due ON tasks (due, db_id, kind, name)"),
    ]

    /// Brings the database to the version of this build, in one transaction, and blocks until it is done.
    /// - Parameter isDryRun: Whether everything is undone at the end.
    /// - Returns: The texts of the statements that it ran; none: the database is of this version.
    static func migrate(_ url: String, isDryRun: Bool) throws -> [String] {
        let connection = try PostgresConnection.to(url, preparesStatements: false)
        connection.begin(.begin)
        defer { connection.rollBack() }
        let isThere = try connection.ask(.isThere).first { try $0.bool() } ?? false
        let version = isThere ? try connection.ask(.versionLock).first { try $0.integer() } ?? 0 : 0
        if version > Self.version {
            throw StoreError(
                .newerVersion, "The database's tables are of a newer version of nacre",
                ["database": String(version), "nacre": String(Self.version), "remedy": "Use that version of nacre."])
        }
        let missing = steps.filter { $0.version > version }
        for step in missing {
            // Each before the next is prepared, which names the table of the one before.
            for statement in step.statements { _ = try connection.ask(statement) }
            _ = try connection.ask(.versionPut, [.number(step.version)])
        }
        if !isDryRun { _ = try connection.ask(.commit) }
        return missing.flatMap { $0.statements.map { "\($0.text)" } }
    }
}

extension Statement {
    static let isThere = Statement("SELECT to_regclass('nacre') IS NOT NULL")
    static let versionLock = Statement("SELECT version FROM nacre WHERE id = 1 FOR UPDATE")
    static let versionPut = Statement("UPDATE nacre SET version = $1 WHERE id = 1")
}
