/// Statements for the current run, and for the ends of earlier ones.
extension Statement {
    static let runPut = Statement("UPDATE runs SET run = ?1 WHERE id = 1")

    static let runEndPut = Statement(
        """
        INSERT INTO run_ends (db_id, zone_id, run, seq) VALUES (?1, ?2, ?3, ?4)
        ON CONFLICT (db_id, zone_id, run) DO UPDATE SET seq = excluded.seq
        """)

    static let runEndByRun = Statement("SELECT run, seq FROM run_ends WHERE db_id = ?1 AND zone_id = ?2 AND run = ?3")

    /// Removes all but the newest ?3 ends.
    static let runEndsTrim = Statement(
        """
        DELETE FROM run_ends WHERE db_id = ?1 AND zone_id = ?2 AND run <= (
            SELECT run FROM run_ends WHERE db_id = ?1 AND zone_id = ?2 ORDER BY run DESC LIMIT 1 OFFSET ?3)
        """)

    static let runEndsOfZoneRemove = Statement("DELETE FROM run_ends WHERE db_id = ?1 AND zone_id = ?2")

    static let zoneEntersRun = Statement("UPDATE zones SET incarnation = ?3, checksum = ?4 WHERE db_id = ?1 AND zone_id = ?2")

    static let databaseEntersRun = Statement("UPDATE databases SET incarnation = ?2, checksum = ?3 WHERE db_id = ?1")
}
