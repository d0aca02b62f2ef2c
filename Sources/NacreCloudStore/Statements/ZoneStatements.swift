/// Statements for databases and their zones.
extension Statement {
    static let databaseByID = Statement(
        "SELECT db_id, container, environment, scope, owner, incarnation, last_seq, forgotten_seq, bytes, checksum FROM databases WHERE db_id = ?1")

    static let databasesOfContainer = Statement(
        """
        SELECT db_id, container, environment, scope, owner, incarnation, last_seq, forgotten_seq, bytes, checksum
        FROM databases WHERE container = ?1 AND environment = ?2 AND db_id >= ?3 ORDER BY db_id LIMIT ?4
        """)

    static let databasePut = Statement(
        """
        INSERT INTO databases (db_id, container, environment, scope, owner, incarnation, last_seq, forgotten_seq, bytes, checksum)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
        ON CONFLICT (db_id) DO UPDATE SET container = excluded.container, environment = excluded.environment, scope = excluded.scope,
            owner = excluded.owner, incarnation = excluded.incarnation, last_seq = excluded.last_seq, forgotten_seq = excluded.forgotten_seq,
            bytes = excluded.bytes, checksum = excluded.checksum
        """)

    /// The checksum counts along: it is that of the columns that stay, plus the counters, with bytes three times
    /// (`RowChecksum`).
    static let databaseAdvance = Statement(
        "UPDATE databases SET last_seq = last_seq + 1, bytes = bytes + ?2, checksum = checksum + 1 + 3 * ?2 WHERE db_id = ?1")

    static let databaseNumber = Statement("SELECT incarnation, last_seq FROM databases WHERE db_id = ?1")

    static let zoneAdvance = Statement("UPDATE zones SET last_seq = last_seq + 1, checksum = checksum + 1 WHERE db_id = ?1 AND zone_id = ?2")

    static let zoneByName = Statement(
        """
        SELECT db_id, zone_id, name, state, incarnation, last_seq, feed_seq, client_change_token, forgotten_incarnation, forgotten_seq,
            indexes_below, bytes, checksum
        FROM zones WHERE db_id = ?1 AND name = ?2 AND state = 0
        """)

    static let zoneByKey = Statement(
        """
        SELECT db_id, zone_id, name, state, incarnation, last_seq, feed_seq, client_change_token, forgotten_incarnation, forgotten_seq,
            indexes_below, bytes, checksum
        FROM zones WHERE db_id = ?1 AND zone_id = ?2
        """)

    static let zonesFromStart = Statement(
        """
        SELECT db_id, zone_id, name, state, incarnation, last_seq, feed_seq, client_change_token, forgotten_incarnation, forgotten_seq,
            indexes_below, bytes, checksum
        FROM zones WHERE db_id = ?1 AND state = 0 ORDER BY name LIMIT ?2
        """)

    static let zoneCount = Statement("SELECT COUNT(*) FROM zones WHERE db_id = ?1 AND state = 0")

    static let zonesAfterName = Statement(
        """
        SELECT db_id, zone_id, name, state, incarnation, last_seq, feed_seq, client_change_token, forgotten_incarnation, forgotten_seq,
            indexes_below, bytes, checksum
        FROM zones WHERE db_id = ?1 AND state = 0 AND name > ?3 ORDER BY name LIMIT ?2
        """)

    static let zoneFeedAfterSeq = Statement(
        """
        SELECT db_id, zone_id, name, state, incarnation, last_seq, feed_seq, client_change_token, forgotten_incarnation, forgotten_seq,
            indexes_below, bytes, checksum
        FROM zones WHERE db_id = ?1 AND feed_seq > ?3 ORDER BY feed_seq, name, zone_id LIMIT ?2
        """)

    static let zoneFeedAfterName = Statement(
        """
        SELECT db_id, zone_id, name, state, incarnation, last_seq, feed_seq, client_change_token, forgotten_incarnation, forgotten_seq,
            indexes_below, bytes, checksum
        FROM zones WHERE db_id = ?1 AND (feed_seq, name) > (?3, ?4) ORDER BY feed_seq, name, zone_id LIMIT ?2
        """)

    /// Puts a zone. Its position in the feed stays; only `zonePlace` changes it.
    static let zonePut = Statement(
        """
        INSERT INTO zones
            (db_id, zone_id, name, state, incarnation, last_seq, feed_seq, forgotten_incarnation, forgotten_seq, indexes_below, bytes, checksum,
            client_change_token)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, 0, ?7, ?8, ?9, ?10, ?11, ?12)
        ON CONFLICT (db_id, zone_id) DO UPDATE SET name = excluded.name, state = excluded.state, incarnation = excluded.incarnation,
            last_seq = excluded.last_seq, forgotten_incarnation = excluded.forgotten_incarnation, forgotten_seq = excluded.forgotten_seq,
            indexes_below = excluded.indexes_below, bytes = excluded.bytes, checksum = excluded.checksum + feed_seq,
            client_change_token = excluded.client_change_token
        """)

    static let zonePlace = Statement(
        """
        UPDATE zones SET checksum = checksum + ?3 - feed_seq + 3 * ?4, feed_seq = ?3, bytes = bytes + ?4 WHERE db_id = ?1 AND zone_id = ?2
        """)

    static let zoneGrow = Statement(
        "UPDATE zones SET bytes = bytes + ?3, checksum = checksum + 3 * ?3 WHERE db_id = ?1 AND zone_id = ?2")

    static let databaseGrow = Statement(
        "UPDATE databases SET bytes = bytes + ?2, checksum = checksum + 3 * ?2 WHERE db_id = ?1")

    static let zoneForget = Statement("DELETE FROM zones WHERE db_id = ?1 AND zone_id = ?2")
}
