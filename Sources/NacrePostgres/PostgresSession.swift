import CNacrePostgres
import NacreCloudStorage

extension PostgresConnection {
    /// Connects to a server that takes writes.
    /// - Parameter url: What libpq takes: `postgres://…` or `host=… dbname=…`. It may hold a password.
    static func to(_ url: String, preparesStatements: Bool = true) throws -> PostgresConnection {
        // libpq's text about a fault would quote the URL.
        guard let parsed = PQconninfoParse(url, nil) else {
            throw StoreError(.unavailable, "The database's URL cannot be read", ["remedy": "postgres://USER@HOST/DATABASE"])
        }
        PQconninfoFree(parsed)
        let connection = try PostgresConnection(
            [
                ("fallback_application_name", "nacre"), ("connect_timeout", String(PostgresLimits.connectSeconds)),
                ("tcp_user_timeout", String(PostgresLimits.silenceMilliseconds)), ("keepalives_idle", "10"), ("keepalives_interval", "5"),
                ("keepalives_count", "3"), ("target_session_attrs", "read-write"), ("options", PostgresLimits.settings), ("dbname", url),
            ], preparesStatements: preparesStatements)
        guard connection.serverVersion >= PostgresLimits.serverVersion else {
            throw StoreError(.unavailable, "PostgreSQL is older than 15", ["version": String(connection.serverVersion)])
        }
        return connection
    }

    /// Requires that the tables are of this version, and finds out the run.
    func join(_ options: PostgresOptions) throws {
        let found: (version: Int64, run: Int64, identity: String, now: String)?
        do {
            found = try ask(.state).first { (try $0.integer(), try $0.integer(), $0.string(), $0.string()) }
        } catch let failure as PostgresFailure where failure.code == "42P01" {
            throw StoreError(.unavailable, "The database has no tables of nacre", ["remedy": "Run nacre migrate with this database."])
        }
        guard let found else { throw StoreError(.corrupt, "The database does not say of which version its tables are") }
        let versions = ["database": String(found.version), "nacre": String(PostgresSchema.version)]
        if found.version > PostgresSchema.version {
            throw StoreError(
                .newerVersion, "The database's tables are of a newer version of nacre",
                versions.merging(["remedy": "Use that version of nacre."]) { first, _ in first })
        }
        if found.version < PostgresSchema.version {
            throw StoreError(
                .unavailable, "The database's tables are of an older version of nacre",
                versions.merging(["remedy": "Run nacre migrate with this database."]) { first, _ in first })
        }
        run = try options.run ?? (found.identity == found.now ? found.run : beginRun())
    }

    /// Begins a run: the data are another server's, or a copy, or of another history of the same server. Servers that
    /// find that out together begin one run.
    private func beginRun() throws -> Int64 {
        begin(.begin)
        let found = try ask(.stateLock).first { (run: try $0.integer(), identity: $0.string(), now: $0.string()) }
        guard let found, found.identity != found.now else {
            rollBack()
            return found?.run ?? Run.none
        }
        let next = Run.number(after: found.run, random: .random(in: .min ... .max))
        try send(.statePut, [.number(next), .name(found.now)])
        try send(.commit)
        _ = try flush()
        return next
    }
}

extension Statement {
    // The identity of the data: the cluster, its history (a promoted standby begins another), the database and the
    // table, which a restored dump makes anew.
    static let state = Statement(
        """
        SELECT version, run, identity, convert_to(concat_ws('/', (SELECT system_identifier FROM pg_control_system()),
            substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8),
            (SELECT oid FROM pg_database WHERE datname = current_database()), 'nacre'::regclass::oid), 'UTF8')
        FROM nacre WHERE id = 1
        """)

    static let stateLock = Statement(
        """
        SELECT run, identity, convert_to(concat_ws('/', (SELECT system_identifier FROM pg_control_system()),
            substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8),
            (SELECT oid FROM pg_database WHERE datname = current_database()), 'nacre'::regclass::oid), 'UTF8')
        FROM nacre WHERE id = 1 FOR UPDATE
        """)

    static let statePut = Statement("UPDATE nacre SET run = $1, identity = $2 WHERE id = 1")
}
