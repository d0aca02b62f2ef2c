/// Statements for records and their feeds.
extension Statement {
    static let recordByName = Statement(
        """
        SELECT name, type, incarnation, seq, is_tombstone, parent, body
        FROM records WHERE db_id = ?1 AND zone_id = ?2 AND name = ?3
        """)

    /// A record without its body. The rest of a large record is on pages of its own, which are not read.
    static let recordHeadByName = Statement(
        """
        SELECT name, type, incarnation, seq, is_tombstone, parent, x''
        FROM records WHERE db_id = ?1 AND zone_id = ?2 AND name = ?3
        """)

    static let recordID = Statement("SELECT id FROM records WHERE db_id = ?1 AND zone_id = ?2 AND name = ?3")

    static let recordsFromStart = Statement(
        """
        SELECT name, type, incarnation, seq, is_tombstone, parent, body
        FROM records WHERE db_id = ?1 AND zone_id = ?2 AND is_tombstone = 0 ORDER BY name LIMIT ?3
        """)

    static let recordsAfterName = Statement(
        """
        SELECT name, type, incarnation, seq, is_tombstone, parent, body
        FROM records WHERE db_id = ?1 AND zone_id = ?2 AND is_tombstone = 0 AND name > ?4 ORDER BY name LIMIT ?3
        """)

    static let recordChildren = Statement(
        """
        SELECT name, type, incarnation, seq, is_tombstone, parent, body
        FROM records WHERE db_id = ?1 AND zone_id = ?2 AND parent = ?5 AND is_tombstone = 0 AND name > ?4 ORDER BY name LIMIT ?3
        """)

    static let recordTombstones = Statement(
        """
        SELECT name, type, incarnation, seq, is_tombstone, parent, body
        FROM records WHERE db_id = ?1 AND zone_id = ?2 AND is_tombstone = 1 ORDER BY incarnation, seq, name LIMIT ?3
        """)

    static let recordInsert = Statement(
        """
        INSERT INTO records (db_id, zone_id, name, type, incarnation, seq, is_tombstone, parent, body)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
        """)

    static let recordPut = Statement(
        """
        INSERT INTO records (db_id, zone_id, name, type, incarnation, seq, is_tombstone, parent, body)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
        ON CONFLICT (db_id, zone_id, name) DO UPDATE SET type = excluded.type, incarnation = excluded.incarnation, seq = excluded.seq,
            is_tombstone = excluded.is_tombstone, parent = excluded.parent, body = excluded.body
        """)

    static let recordsOfParent = Statement(
        "SELECT name FROM records WHERE db_id = ?1 AND zone_id = ?2 AND parent = ?3 AND is_tombstone = 0")

    static let recordsToReclaim = Statement(
        "SELECT name FROM records WHERE db_id = ?1 AND zone_id = ?2 ORDER BY name LIMIT ?3")

    static let recordRemove = Statement("DELETE FROM records WHERE db_id = ?1 AND zone_id = ?2 AND name = ?3")

    static let feedPut = Statement(
        """
        INSERT INTO feed (db_id, zone_id, view_id, incarnation, seq, name, entered_incarnation, entered_seq, is_departure)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
        ON CONFLICT (db_id, zone_id, view_id, incarnation, seq, name) DO UPDATE SET entered_incarnation = excluded.entered_incarnation,
            entered_seq = excluded.entered_seq, is_departure = excluded.is_departure
        """)

    static let feedRemove = Statement(
        "DELETE FROM feed WHERE db_id = ?1 AND zone_id = ?2 AND view_id = ?3 AND incarnation = ?4 AND seq = ?5 AND name = ?6")

    static let feedToReclaim = Statement(
        """
        SELECT view_id, incarnation, seq, name FROM feed WHERE db_id = ?1 AND zone_id = ?2
        ORDER BY view_id, incarnation, seq, name LIMIT ?3
        """)

    /// The feed after a change number. CROSS JOIN makes the feed lead, and each record is looked up. Departures are
    /// left out before the lookup.
    static let feedAfterNumber = Statement(
        """
        SELECT f.incarnation, f.seq, f.name, f.entered_incarnation, f.entered_seq, f.is_departure,
            r.type, r.incarnation, r.seq, r.is_tombstone, r.parent, r.body
        FROM feed f CROSS JOIN records r
        WHERE f.db_id = ?1 AND f.zone_id = ?2 AND f.view_id = ?3 AND (f.incarnation, f.seq) > (?4, ?5) AND (f.incarnation, f.seq) <= (?6, ?7)
            AND (f.is_departure = 0 OR (f.incarnation, f.seq) > (?8, ?9))
            AND r.db_id = f.db_id AND r.zone_id = f.zone_id AND r.name = f.name
            AND (r.is_tombstone = 0 OR (f.incarnation, f.seq) > (?8, ?9))
        ORDER BY f.incarnation, f.seq, f.name LIMIT ?10
        """)

    /// The feed after a name within a change number.
    static let feedAfterName = Statement(
        """
        SELECT f.incarnation, f.seq, f.name, f.entered_incarnation, f.entered_seq, f.is_departure,
            r.type, r.incarnation, r.seq, r.is_tombstone, r.parent, r.body
        FROM feed f CROSS JOIN records r
        WHERE f.db_id = ?1 AND f.zone_id = ?2 AND f.view_id = ?3 AND (f.incarnation, f.seq, f.name) > (?4, ?5, ?11)
            AND (f.incarnation, f.seq) <= (?6, ?7)
            AND (f.is_departure = 0 OR (f.incarnation, f.seq) > (?8, ?9))
            AND r.db_id = f.db_id AND r.zone_id = f.zone_id AND r.name = f.name
            AND (r.is_tombstone = 0 OR (f.incarnation, f.seq) > (?8, ?9))
        ORDER BY f.incarnation, f.seq, f.name LIMIT ?10
        """)
}
