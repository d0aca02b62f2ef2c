extension Migration {
    /// Counts the bytes of records in zones and databases. Reads each record of a live zone once, without its body. The
    /// rows' checksums grow by three times the bytes.
    static let bytes = Migration(
        version: 7,
        statements: [
            Statement("ALTER TABLE zones ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0"),
            Statement("ALTER TABLE databases ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0"),
            Statement(
                """
                UPDATE zones SET bytes = (
                    SELECT COALESCE(SUM(LENGTH(r.body)), 0) FROM records r
                    WHERE r.db_id = zones.db_id AND r.zone_id = zones.zone_id AND r.is_tombstone = 0)
                WHERE state = 0
                """),
            Statement(
                """
                UPDATE databases SET bytes = (SELECT COALESCE(SUM(z.bytes), 0) FROM zones z WHERE z.db_id = databases.db_id)
                """),
            Statement("UPDATE zones SET checksum = checksum + 3 * bytes WHERE bytes > 0"),
            Statement("UPDATE databases SET checksum = checksum + 3 * bytes WHERE bytes > 0"),
        ])
}
