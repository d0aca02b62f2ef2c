/// Statements for the file of telemetry, which has tables of its own.
extension Statement {
    static let telemetryRow = Statement("SELECT state, bytes FROM sums WHERE tier = ?1 AND slot = ?2 AND series = ?3")

    static let telemetryRowPut = Statement(
        """
        INSERT INTO sums (tier, slot, series, state, bytes) VALUES (?1, ?2, ?3, ?4, ?5)
        ON CONFLICT (tier, slot, series) DO UPDATE SET state = excluded.state, bytes = excluded.bytes
        """)

    static let telemetryRows = Statement(
        "SELECT slot, series, state, bytes FROM sums WHERE tier = ?1 AND slot BETWEEN ?2 AND ?3 ORDER BY slot, series")

    static let telemetryOpenRows = Statement(
        "SELECT slot, series, bytes FROM sums WHERE state = 0 AND tier = ?1 AND slot < ?2 ORDER BY slot, series")

    /// Makes a slot, behind those that were made before.
    static let telemetrySlotMake = Statement(
        """
        INSERT INTO slots (tier, slot, made, series, bytes)
        VALUES (?1, ?2, (SELECT coalesce(max(made), 0) + 1 FROM slots), 0, 0) ON CONFLICT (tier, slot) DO NOTHING
        """)

    static let telemetrySlotGrow = Statement("UPDATE slots SET series = series + ?3, bytes = bytes + ?4 WHERE tier = ?1 AND slot = ?2")

    static let telemetrySeriesCount = Statement("SELECT series FROM slots WHERE tier = ?1 AND slot = ?2")

    static let telemetryUsage = Statement("SELECT count(*), coalesce(sum(bytes), 0) FROM slots WHERE tier = ?1")

    static let telemetryFirstSlot = Statement("SELECT slot FROM slots WHERE tier = ?1 ORDER BY made LIMIT 1")

    static let telemetryRowsRemove = Statement("DELETE FROM sums WHERE tier = ?1 AND slot = ?2")
    static let telemetrySlotRemove = Statement("DELETE FROM slots WHERE tier = ?1 AND slot = ?2")

    static let telemetrySalts = Statement("SELECT period, id, key FROM salts")
    static let telemetrySaltsRemove = Statement("DELETE FROM salts")
    static let telemetrySaltPut = Statement("INSERT INTO salts (period, id, key) VALUES (?1, ?2, ?3)")
}
