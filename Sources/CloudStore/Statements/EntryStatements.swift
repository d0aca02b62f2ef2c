/// Entries, logged operations and tasks.
extension Statement {
    static let entryByKey = Statement("SELECT name, value, expires FROM entries WHERE db_id = ?1 AND kind = ?2 AND name = ?3")

    static let entriesFromStart = Statement("SELECT name, value, expires FROM entries WHERE db_id = ?1 AND kind = ?2 ORDER BY name LIMIT ?3")

    static let entriesAfterKey = Statement(
        "SELECT name, value, expires FROM entries WHERE db_id = ?1 AND kind = ?2 AND name > ?4 ORDER BY name LIMIT ?3")

    static let entryPut = Statement(
        """
        INSERT INTO entries (db_id, kind, name, value, expires) VALUES (?1, ?2, ?3, ?4, ?5)
        ON CONFLICT (db_id, kind, name) DO UPDATE SET value = excluded.value, expires = excluded.expires
        """)

    static let entryRemove = Statement("DELETE FROM entries WHERE db_id = ?1 AND kind = ?2 AND name = ?3")

    static let entriesExpired = Statement(
        "SELECT db_id, kind, name FROM entries WHERE expires < ?1 ORDER BY expires, db_id, kind, name LIMIT ?2")

    static let operationByID = Statement("SELECT digest, result, expires FROM operations WHERE db_id = ?1 AND operation_id = ?2")

    static let operationPut = Statement(
        """
        INSERT INTO operations (db_id, operation_id, expires, digest, result) VALUES (?1, ?2, ?3, ?4, ?5)
        ON CONFLICT (db_id, operation_id) DO UPDATE SET expires = excluded.expires, digest = excluded.digest, result = excluded.result
        """)

    static let operationRemove = Statement("DELETE FROM operations WHERE db_id = ?1 AND operation_id = ?2")

    static let operationsExpired = Statement(
        "SELECT db_id, operation_id FROM operations WHERE expires < ?1 ORDER BY expires, db_id, operation_id LIMIT ?2")

    static let operationCount = Statement("SELECT count(*) FROM operations WHERE db_id = ?1")

    /// Sorts a database's operations: there are as many as its cap, and this is asked by a task, not by a request.
    static let operationsOldest = Statement(
        "SELECT operation_id FROM operations WHERE db_id = ?1 ORDER BY expires, operation_id LIMIT ?2")

    static let taskPut = Statement(
        """
        INSERT INTO tasks (db_id, kind, name, due, attempts, payload) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
        ON CONFLICT (db_id, kind, name) DO UPDATE SET due = excluded.due, attempts = excluded.attempts, payload = excluded.payload
        """)

    static let taskRemove = Statement("DELETE FROM tasks WHERE db_id = ?1 AND kind = ?2 AND name = ?3")

    static let tasksDue = Statement(
        "SELECT db_id, kind, name, attempts, payload FROM tasks WHERE due <= ?1 ORDER BY due, db_id, kind, name LIMIT ?2")

    static let taskLease = Statement("UPDATE tasks SET due = ?4, attempts = attempts + 1 WHERE db_id = ?1 AND kind = ?2 AND name = ?3")
}
