/// Statements for links between records, and for index rows.
extension Statement {
    static let linkPut = Statement(
        """
        INSERT INTO record_links (db_id, zone_id, target, kind, name) VALUES (?1, ?2, ?3, ?4, ?5)
        ON CONFLICT (db_id, zone_id, target, kind, name) DO NOTHING
        """)

    static let linkRemove = Statement(
        "DELETE FROM record_links WHERE db_id = ?1 AND zone_id = ?2 AND target = ?3 AND kind = ?4 AND name = ?5")

    static let linksToTarget = Statement(
        "SELECT name FROM record_links WHERE db_id = ?1 AND zone_id = ?2 AND target = ?3 AND kind = ?4 ORDER BY name")

    static let linksToReclaim = Statement(
        "SELECT target, kind, name FROM record_links WHERE db_id = ?1 AND zone_id = ?2 ORDER BY target, kind, name LIMIT ?3")

    static let indexPut = Statement(
        """
        INSERT INTO record_index (db_id, zone_id, index_id, key, name, id) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
        ON CONFLICT (db_id, zone_id, index_id, key, name) DO NOTHING
        """)

    static let indexRemove = Statement(
        "DELETE FROM record_index WHERE db_id = ?1 AND zone_id = ?2 AND index_id = ?3 AND key = ?4 AND name = ?5")

    static let indexRising = Statement(
        """
        SELECT key, name FROM record_index
        WHERE db_id = ?1 AND zone_id = ?2 AND (index_id, key, name) >= (?3, ?4, ?5) AND (index_id, key, name) < (?6, ?7, ?8)
        ORDER BY index_id, key, name
        """)

    static let indexFalling = Statement(
        """
        SELECT key, name FROM record_index
        WHERE db_id = ?1 AND zone_id = ?2 AND (index_id, key, name) >= (?3, ?4, ?5) AND (index_id, key, name) < (?6, ?7, ?8)
        ORDER BY index_id DESC, key DESC, name DESC
        """)

    /// The rows of one index with their records. The number leads to a record's row, and the row's key tells whether it
    /// is the right record: another record may have the number of a removed one. One index only, so that most bounds
    /// are on single columns. Bounds on several columns are compared with each row once more.
    static let indexRisingWithRecords = Statement(
        """
        SELECT i.key, i.name, r.type, r.incarnation, r.seq, r.is_tombstone, r.parent, r.body
        FROM record_index i LEFT JOIN records r ON r.id = i.id AND r.db_id = ?1 AND r.zone_id = ?2 AND r.name = i.name
        WHERE i.db_id = ?1 AND i.zone_id = ?2 AND i.index_id = ?3 AND (i.key, i.name) >= (?4, ?5) AND i.key < ?6
        ORDER BY i.key, i.name
        """)

    /// The rows of one index with their records, up to the index's end.
    static let indexRisingToEndWithRecords = Statement(
        """
        SELECT i.key, i.name, r.type, r.incarnation, r.seq, r.is_tombstone, r.parent, r.body
        FROM record_index i LEFT JOIN records r ON r.id = i.id AND r.db_id = ?1 AND r.zone_id = ?2 AND r.name = i.name
        WHERE i.db_id = ?1 AND i.zone_id = ?2 AND i.index_id = ?3 AND (i.key, i.name) >= (?4, ?5)
        ORDER BY i.key, i.name
        """)

    static let indexFallingWithRecords = Statement(
        """
        SELECT i.key, i.name, r.type, r.incarnation, r.seq, r.is_tombstone, r.parent, r.body
        FROM record_index i LEFT JOIN records r ON r.id = i.id AND r.db_id = ?1 AND r.zone_id = ?2 AND r.name = i.name
        WHERE i.db_id = ?1 AND i.zone_id = ?2 AND i.index_id = ?3 AND (i.key, i.name) < (?4, ?5) AND i.key >= ?6
        ORDER BY i.key DESC, i.name DESC
        """)

    /// The rows of one index with their records, from the index's end on.
    static let indexFallingFromEndWithRecords = Statement(
        """
        SELECT i.key, i.name, r.type, r.incarnation, r.seq, r.is_tombstone, r.parent, r.body
        FROM record_index i LEFT JOIN records r ON r.id = i.id AND r.db_id = ?1 AND r.zone_id = ?2 AND r.name = i.name
        WHERE i.db_id = ?1 AND i.zone_id = ?2 AND i.index_id = ?3 AND i.key >= ?4
        ORDER BY i.key DESC, i.name DESC
        """)
}
