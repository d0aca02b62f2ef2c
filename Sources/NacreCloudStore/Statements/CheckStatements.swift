/// Walks over whole tables in the order of their keys, for the check. Each selects its key first, and then the columns
/// of a row.
extension Statement {
    static let databasesWalk = Statement(
        """
        SELECT db_id, db_id, container, environment, scope, owner, incarnation, last_seq, forgotten_seq, bytes, checksum
        FROM databases WHERE db_id > ?1 ORDER BY db_id LIMIT ?2
        """)

    static let zonesWalk = Statement(
        """
        SELECT db_id, zone_id, db_id, zone_id, name, state, incarnation, last_seq, feed_seq, client_change_token,
            forgotten_incarnation, forgotten_seq, indexes_below, bytes, checksum
        FROM zones WHERE (db_id, zone_id) > (?1, ?2) ORDER BY db_id, zone_id LIMIT ?3
        """)

    static let recordsWalk = Statement(
        """
        SELECT db_id, zone_id, name, type, incarnation, seq, is_tombstone, parent, body
        FROM records WHERE (db_id, zone_id, name) > (?1, ?2, ?3) ORDER BY db_id, zone_id, name LIMIT ?4
        """)

    static let feedWalk = Statement(
        """
        SELECT db_id, zone_id, view_id, incarnation, seq, name, entered_incarnation, entered_seq, is_departure
        FROM feed WHERE (db_id, zone_id, view_id, incarnation, seq, name) > (?1, ?2, ?3, ?4, ?5, ?6)
        ORDER BY db_id, zone_id, view_id, incarnation, seq, name LIMIT ?7
        """)

    static let linksWalk = Statement(
        """
        SELECT db_id, zone_id, target, kind, name FROM record_links
        WHERE (db_id, zone_id, target, kind, name) > (?1, ?2, ?3, ?4, ?5) ORDER BY db_id, zone_id, target, kind, name LIMIT ?6
        """)

    static let indexWalk = Statement(
        """
        SELECT db_id, zone_id, index_id, key, name FROM record_index
        WHERE (db_id, zone_id, index_id, key, name) > (?1, ?2, ?3, ?4, ?5) ORDER BY db_id, zone_id, index_id, key, name LIMIT ?6
        """)

    static let entriesWalk = Statement(
        """
        SELECT db_id, kind, name, name, value, expires, checksum
        FROM entries WHERE (db_id, kind, name) > (?1, ?2, ?3) ORDER BY db_id, kind, name LIMIT ?4
        """)

    static let operationsWalk = Statement(
        """
        SELECT db_id, operation_id, digest, result, expires, caller
        FROM operations WHERE (db_id, operation_id) > (?1, ?2) ORDER BY db_id, operation_id LIMIT ?3
        """)

    static let tasksWalk = Statement(
        """
        SELECT db_id, kind, name, due, attempts, payload
        FROM tasks WHERE (db_id, kind, name) > (?1, ?2, ?3) ORDER BY db_id, kind, name LIMIT ?4
        """)

    /// SQLite does not read a body for its length.
    static let bytesOfZone = Statement(
        "SELECT COALESCE(SUM(LENGTH(body)), 0) FROM records WHERE db_id = ?1 AND zone_id = ?2 AND is_tombstone = 0")

    static let feedHas = Statement(
        """
        SELECT entered_incarnation, entered_seq, is_departure FROM feed
        WHERE db_id = ?1 AND zone_id = ?2 AND view_id = ?3 AND incarnation = ?4 AND seq = ?5 AND name = ?6
        """)

    static let linkHas = Statement(
        "SELECT 1 FROM record_links WHERE db_id = ?1 AND zone_id = ?2 AND target = ?3 AND kind = ?4 AND name = ?5")

    static let indexHas = Statement(
        "SELECT 1 FROM record_index WHERE db_id = ?1 AND zone_id = ?2 AND index_id = ?3 AND key = ?4 AND name = ?5")
}
