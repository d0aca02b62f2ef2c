/// Statements for databases, their zones, and the runs of their changes.
///
/// A plan's changes of rows that must be there divide by zero where they are not (`PostgresFailure.divisionByZero`):
/// the commit, which may be sent along, is then not done.
extension Statement {
    static let databasesByID = Statement(
        """
        SELECT db_id, container, environment, scope, owner, incarnation, last_seq, forgotten_seq, bytes
        FROM databases WHERE db_id = ANY ($1::bigint[])
        """)

    static let databaseByID = Statement(
        """
        SELECT db_id, container, environment, scope, owner, incarnation, last_seq, forgotten_seq, bytes FROM databases WHERE db_id = $1
        """)

    static let databaseLock = Statement(
        """
        SELECT db_id, container, environment, scope, owner, incarnation, last_seq, forgotten_seq, bytes
        FROM databases WHERE db_id = $1 FOR UPDATE
        """)

    /// On all shards.
    static let databasesOfContainer = Statement(
        """
        SELECT db_id, container, environment, scope, owner, incarnation, last_seq, forgotten_seq, bytes
        FROM databases WHERE container = $1 AND environment = $2 AND db_id >= $3 ORDER BY db_id LIMIT $4
        """)

    static let databaseInsert = Statement(
        """
        INSERT INTO databases (db_id, container, environment, scope, owner, incarnation, last_seq, forgotten_seq, bytes)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
        """)

    static let databasePut = Statement(
        """
        INSERT INTO databases (db_id, container, environment, scope, owner, incarnation, last_seq, forgotten_seq, bytes)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
        ON CONFLICT (db_id) DO UPDATE SET container = excluded.container, environment = excluded.environment, scope = excluded.scope,
            owner = excluded.owner, incarnation = excluded.incarnation, last_seq = excluded.last_seq, forgotten_seq = excluded.forgotten_seq,
            bytes = excluded.bytes
        """)

    static let databaseChange = Statement(
        """
        WITH changed AS (
            UPDATE databases SET last_seq = GREATEST(last_seq, $2), forgotten_seq = GREATEST(forgotten_seq, $3), bytes = bytes + $4
            WHERE db_id = $1 RETURNING 1)
        SELECT 1 / (count(*) = 1)::int FROM changed
        """)

    /// Takes the next position in the database's feed of zones.
    static let databaseAdvance = Statement(
        """
        WITH changed AS (UPDATE databases SET last_seq = last_seq + 1, bytes = bytes + $2 WHERE db_id = $1 RETURNING 1)
        SELECT 1 / (count(*) = 1)::int FROM changed
        """)

    static let databaseGrow = Statement("UPDATE databases SET bytes = bytes + $2 WHERE db_id = $1")

    /// Keeps the end of the run before, once the database's row has taken its first position in run $2.
    static let databaseRunEnd = Statement(
        """
        INSERT INTO run_ends (db_id, zone_id, run, seq)
        SELECT db_id, -1, incarnation, last_seq - 1 FROM databases WHERE db_id = $1 AND incarnation <> $2
        ON CONFLICT (db_id, zone_id, run) DO UPDATE SET seq = excluded.seq
        """)

    static let databaseEntersRun = Statement("UPDATE databases SET incarnation = $2 WHERE db_id = $1 AND incarnation <> $2")

    static let zonesByName = Statement(
        """
        SELECT zone_id, name, state, incarnation, last_seq, feed_seq, client_change_token, forgotten_incarnation, forgotten_seq,
            indexes_below, bytes
        FROM zones WHERE db_id = $1 AND name = ANY ($2::bytea[]) AND state = 0
        """)

    static let zonesFromName = Statement(
        """
        SELECT zone_id, name, state, incarnation, last_seq, feed_seq, client_change_token, forgotten_incarnation, forgotten_seq,
            indexes_below, bytes
        FROM zones WHERE db_id = $1 AND state = 0 AND name >= $2 ORDER BY name LIMIT $3
        """)

    static let zoneCount = Statement(
        "SELECT count(*) FROM (SELECT 1 FROM zones WHERE db_id = $1 AND state = 0 LIMIT $2) counted")

    static let zoneFeed = Statement(
        """
        SELECT zone_id, name, state, incarnation, last_seq, feed_seq, client_change_token, forgotten_incarnation, forgotten_seq,
            indexes_below, bytes
        FROM zones WHERE db_id = $1 AND (feed_seq, name) >= ($2, $3) ORDER BY feed_seq, name, zone_id LIMIT $4
        """)

    static let zoneLock = Statement(
        """
        SELECT zone_id, name, state, incarnation, last_seq, feed_seq, client_change_token, forgotten_incarnation, forgotten_seq,
            indexes_below, bytes
        FROM zones WHERE db_id = $1 AND name = $2 AND state = 0 FOR UPDATE
        """)

    /// Takes the next change number of a live zone. The run of its newest change stays until `zoneEntersRun`.
    static let zoneAdvance = Statement(
        """
        UPDATE zones SET last_seq = last_seq + 1 WHERE db_id = $1 AND name = $2 AND state = 0
        RETURNING zone_id, name, state, incarnation, last_seq, feed_seq, client_change_token, forgotten_incarnation, forgotten_seq,
            indexes_below, bytes
        """)

    static let zoneEntersRun = Statement("UPDATE zones SET incarnation = $3 WHERE db_id = $1 AND zone_id = $2")

    static let zoneChange = Statement(
        """
        WITH changed AS (
            UPDATE zones SET state = COALESCE($3, state), client_change_token = COALESCE($4, client_change_token),
                forgotten_incarnation = CASE WHEN ($5, $6) > (forgotten_incarnation, forgotten_seq) THEN $5 ELSE forgotten_incarnation END,
                forgotten_seq = CASE WHEN ($5, $6) > (forgotten_incarnation, forgotten_seq) THEN $6 ELSE forgotten_seq END,
                indexes_below = GREATEST(indexes_below, $7), bytes = bytes + $8
            WHERE db_id = $1 AND zone_id = $2 RETURNING 1)
        SELECT 1 / (count(*) = 1)::int FROM changed
        """)

    /// Puts a zone. Its position in the feed stays; only `zonesPlace` changes it.
    static let zonePut = Statement(
        """
        INSERT INTO zones
            (db_id, zone_id, name, state, incarnation, last_seq, feed_seq, client_change_token, forgotten_incarnation, forgotten_seq,
            indexes_below, bytes)
        VALUES ($1, $2, $3, $4, $5, $6, 0, $7, $8, $9, $10, $11)
        ON CONFLICT (db_id, zone_id) DO UPDATE SET name = excluded.name, state = excluded.state, incarnation = excluded.incarnation,
            last_seq = excluded.last_seq, client_change_token = excluded.client_change_token,
            forgotten_incarnation = excluded.forgotten_incarnation, forgotten_seq = excluded.forgotten_seq,
            indexes_below = excluded.indexes_below, bytes = excluded.bytes
        """)

    /// Gives zones the newest position in their database's feed, and adds the growth of their records.
    static let zonesPlace = Statement(
        """
        WITH changed AS (
            UPDATE zones z SET feed_seq = (SELECT last_seq FROM databases WHERE db_id = $1), bytes = z.bytes + x.bytes
            FROM unnest($2::bigint[], $3::bigint[]) x (zone_id, bytes) WHERE z.db_id = $1 AND z.zone_id = x.zone_id RETURNING 1)
        SELECT 1 / (count(*) = cardinality($2::bigint[]))::int FROM changed
        """)

    static let zonesGrow = Statement(
        """
        UPDATE zones z SET bytes = z.bytes + x.bytes
        FROM unnest($2::bigint[], $3::bigint[]) x (zone_id, bytes) WHERE z.db_id = $1 AND z.zone_id = x.zone_id
        """)

    static let zonesForget = Statement("DELETE FROM zones WHERE db_id = $1 AND zone_id = ANY ($2::bigint[])")

    static let runEndsForget = Statement("DELETE FROM run_ends WHERE db_id = $1 AND zone_id = ANY ($2::bigint[])")

    static let runEndsByRun = Statement(
        "SELECT run, seq FROM run_ends WHERE db_id = $1 AND zone_id = $2 AND run = ANY ($3::bigint[])")

    static let runEndPut = Statement(
        """
        INSERT INTO run_ends (db_id, zone_id, run, seq) VALUES ($1, $2, $3, $4)
        ON CONFLICT (db_id, zone_id, run) DO UPDATE SET seq = excluded.seq
        """)

    /// Removes all but the newest $3 ends.
    static let runEndsTrim = Statement(
        """
        DELETE FROM run_ends WHERE db_id = $1 AND zone_id = $2 AND run <= (
            SELECT run FROM run_ends WHERE db_id = $1 AND zone_id = $2 ORDER BY run DESC LIMIT 1 OFFSET $3)
        """)
}
