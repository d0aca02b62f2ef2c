/// Statements for entries, logged operations and tasks.
extension Statement {
    static let entryByKey = Statement("SELECT name, value, expires, checksum FROM entries WHERE db_id = ?1 AND kind = ?2 AND name = ?3")

    static let entriesFromStart = Statement(
        "SELECT name, value, expires, checksum FROM entries WHERE db_id = ?1 AND kind = ?2 ORDER BY name LIMIT ?3")

    static let entriesAfterKey = Statement(
        "SELECT name, value, expires, checksum FROM entries WHERE db_id = ?1 AND kind = ?2 AND name > ?4 ORDER BY name LIMIT ?3")

    static let entryPut = Statement(
        """
        INSERT INTO entries (db_id, kind, name, value, expires, checksum) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
        ON CONFLICT (db_id, kind, name) DO UPDATE SET value = excluded.value, expires = excluded.expires, checksum = excluded.checksum
        """)

    static let entryRemove = Statement("DELETE FROM entries WHERE db_id = ?1 AND kind = ?2 AND name = ?3")

    static let entriesExpired = Statement(
        "SELECT db_id, kind, name FROM entries WHERE expires < ?1 ORDER BY expires, db_id, kind, name LIMIT ?2")

    static let operationByID = Statement("SELECT digest, result, expires, caller FROM operations WHERE db_id = ?1 AND operation_id = ?2")

    static let operationPut = Statement(
        """
        INSERT INTO operations (db_id, operation_id, caller, expires, digest, result) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
        ON CONFLICT (db_id, operation_id) DO UPDATE SET caller = excluded.caller, expires = excluded.expires, digest = excluded.digest,
            result = excluded.result
        """)

    static let operationRemove = Statement("DELETE FROM operations WHERE db_id = ?1 AND operation_id = ?2")

    static let operationsExpired = Statement(
        "SELECT db_id, operation_id FROM operations WHERE expires < ?1 ORDER BY expires, db_id, operation_id LIMIT ?2")

    /// A caller's newest operations, up to the first one beyond the caller's share. Results are not read for their
    /// length.
    static let operationsNewest = Statement(
        """
        SELECT length(result), expires, operation_id FROM operations
        WHERE db_id = ?1 AND caller = ?2 ORDER BY expires DESC, operation_id DESC LIMIT ?3
        """)

    static let operationsOldest = Statement(
        """
        SELECT operation_id, expires FROM operations
        WHERE db_id = ?1 AND caller = ?2 AND (expires, operation_id) <= (?3, ?4) AND expires <= ?5 ORDER BY expires, operation_id LIMIT ?6
        """)

    static let taskPut = Statement(
        """
        INSERT INTO tasks (db_id, kind, name, due, attempts, payload) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
        ON CONFLICT (db_id, kind, name) DO UPDATE SET due = excluded.due, attempts = excluded.attempts, payload = excluded.payload
        """)

    static let taskRemove = Statement("DELETE FROM tasks WHERE db_id = ?1 AND kind = ?2 AND name = ?3")

    static let taskByKey = Statement("SELECT due, attempts, payload FROM tasks WHERE db_id = ?1 AND kind = ?2 AND name = ?3")

    /// The tasks of a kind whose names are from ?3 up to ?4, in order. Payloads are not read for their length.
    static let tasksNamed = Statement(
        """
        SELECT length(payload) FROM tasks WHERE db_id = ?1 AND kind = ?2 AND name >= ?3 AND name < ?4 ORDER BY name LIMIT ?5
        """)

    /// The due tasks. ?2 has a bit for each wanted kind. Reads only the index.
    static let tasksDue = Statement(
        "SELECT db_id, kind, name, due FROM tasks WHERE due > ?4 AND due <= ?1 AND (?2 >> kind) & 1 ORDER BY due, db_id, kind, name LIMIT ?3")
}
