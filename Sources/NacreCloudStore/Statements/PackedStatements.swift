/// Statements for packed index rows, and for the changes that wait to be packed.
extension Statement {
    static let packedHas = Statement(
        """
        SELECT 1 FROM index_waiting WHERE db_id = ?1 AND zone_id = ?2 AND index_id = ?3
        UNION ALL SELECT 1 FROM index_blocks WHERE db_id = ?1 AND zone_id = ?2 AND index_id = ?3 LIMIT 1
        """)

    static let waitingOfIndex = Statement(
        """
        SELECT name, round, id, checksum, changes FROM index_waiting
        WHERE db_id = ?1 AND zone_id = ?2 AND index_id = ?3 ORDER BY name, round
        """)

    static let waitingOfRecord = Statement(
        """
        SELECT name, round, id, checksum, changes FROM index_waiting
        WHERE db_id = ?1 AND zone_id = ?2 AND index_id = ?3 AND name = ?4 ORDER BY round
        """)

    static let waitingPut = Statement(
        """
        INSERT INTO index_waiting (db_id, zone_id, index_id, name, round, id, checksum, changes) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
        ON CONFLICT (db_id, zone_id, index_id, name, round) DO UPDATE SET id = excluded.id, checksum = excluded.checksum, changes = excluded.changes
        """)

    static let waitingRemove = Statement(
        "DELETE FROM index_waiting WHERE db_id = ?1 AND zone_id = ?2 AND index_id = ?3 AND name = ?4 AND round = ?5")

    /// The last block of an index before a row's key.
    static let blockBefore = Statement(
        """
        SELECT key, name, checksum, rows FROM index_blocks
        WHERE db_id = ?1 AND zone_id = ?2 AND (index_id, key, name) < (?3, ?4, ?5) AND (index_id, key, name) >= (?6, x'', '')
        ORDER BY index_id DESC, key DESC, name DESC LIMIT 1
        """)

    /// The first block of an index after a row's key.
    static let blockAfter = Statement(
        """
        SELECT key, name, checksum, rows FROM index_blocks
        WHERE db_id = ?1 AND zone_id = ?2 AND (index_id, key, name) > (?3, ?4, ?5) AND (index_id, key, name) < (?6, x'', '')
        ORDER BY index_id, key, name LIMIT 1
        """)

    static let blockPut = Statement(
        """
        INSERT INTO index_blocks (db_id, zone_id, index_id, key, name, checksum, rows) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
        ON CONFLICT (db_id, zone_id, index_id, key, name) DO UPDATE SET checksum = excluded.checksum, rows = excluded.rows
        """)

    static let blockRemove = Statement(
        "DELETE FROM index_blocks WHERE db_id = ?1 AND zone_id = ?2 AND index_id = ?3 AND key = ?4 AND name = ?5")

    static let blocksRemoveAll = Statement("DELETE FROM index_blocks WHERE db_id = ?1 AND zone_id = ?2 AND index_id = ?3")

    /// The next index that has rows, in each of the three tables.
    static let waitingNext = Statement(
        """
        SELECT db_id, zone_id, index_id FROM index_waiting WHERE (db_id, zone_id, index_id) > (?1, ?2, ?3)
        ORDER BY db_id, zone_id, index_id LIMIT 1
        """)

    static let blocksNext = Statement(
        """
        SELECT db_id, zone_id, index_id FROM index_blocks WHERE (db_id, zone_id, index_id) > (?1, ?2, ?3)
        ORDER BY db_id, zone_id, index_id LIMIT 1
        """)

    static let indexNext = Statement(
        """
        SELECT db_id, zone_id, index_id FROM record_index WHERE (db_id, zone_id, index_id) > (?1, ?2, ?3)
        ORDER BY db_id, zone_id, index_id LIMIT 1
        """)

    /// The record that an index row's number leads to, if its key is the right one.
    static let recordByID = Statement(
        """
        SELECT type, incarnation, seq, is_tombstone, parent, body FROM records WHERE id = ?4 AND +db_id = ?1 AND +zone_id = ?2 AND +name = ?3
        """)
}
