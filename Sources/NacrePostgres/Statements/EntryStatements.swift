/// Statements for entries, logged operations and tasks.
extension Statement {
    static let entriesByKey = Statement(
        """
        SELECT e.kind, e.name, e.value, e.expires
        FROM unnest($2::bigint[], $3::bytea[]) x (kind, name) JOIN entries e ON e.db_id = $1 AND e.kind = x.kind AND e.name = x.name
        """)

    static let entriesFromName = Statement(
        "SELECT kind, name, value, expires FROM entries WHERE db_id = $1 AND kind = $2 AND name >= $3 ORDER BY name LIMIT $4")

    static let entriesPut = Statement(
        """
        INSERT INTO entries (db_id, kind, name, value, expires)
        SELECT $1::bigint, x.* FROM unnest($2::bigint[], $3::bytea[], $4::bytea[], $5::float8[]) x
        ON CONFLICT (db_id, kind, name) DO UPDATE SET value = excluded.value, expires = excluded.expires
        """)

    static let entriesRemove = Statement(
        """
        DELETE FROM entries e USING unnest($2::bigint[], $3::bytea[]) x (kind, name)
        WHERE e.db_id = $1 AND e.kind = x.kind AND e.name = x.name
        """)

    /// On all shards.
    static let entriesExpired = Statement(
        "SELECT db_id, kind, name FROM entries WHERE expires < $1 ORDER BY expires, db_id, kind, name LIMIT $2")

    /// Removes those that are still expired.
    static let entriesRemoveExpired = Statement(
        """
        DELETE FROM entries e USING unnest($2::bigint[], $3::bytea[]) x (kind, name)
        WHERE e.db_id = $1 AND e.kind = x.kind AND e.name = x.name AND e.expires < $4
        """)

    static let operationByID = Statement("SELECT digest, result, expires, caller FROM operations WHERE db_id = $1 AND operation_id = $2")

    static let operationPut = Statement(
        """
        INSERT INTO operations (db_id, operation_id, caller, expires, digest, result) VALUES ($1, $2, $3, $4, $5, $6)
        ON CONFLICT (db_id, operation_id) DO UPDATE SET caller = excluded.caller, expires = excluded.expires, digest = excluded.digest,
            result = excluded.result
        """)

    /// On all shards.
    static let operationsExpired = Statement(
        "SELECT db_id, operation_id FROM operations WHERE expires < $1 ORDER BY expires, db_id, operation_id LIMIT $2")

    static let operationsRemoveExpired = Statement(
        "DELETE FROM operations WHERE db_id = $1 AND operation_id = ANY ($2::bytea[]) AND expires < $3")

    /// Removes a caller's operations from the first one beyond the caller's share on, oldest first.
    static let operationsTrim = Statement(
        """
        WITH newest AS (
            SELECT expires, operation_id, row_number() OVER ordered AS place, sum(length) OVER ordered AS total FROM (
                SELECT expires, operation_id, octet_length(result) AS length FROM operations
                WHERE db_id = $1 AND caller = $2 ORDER BY expires DESC, operation_id DESC LIMIT $3::bigint + 1) o
            WINDOW ordered AS (ORDER BY expires DESC, operation_id DESC)),
        beyond AS (SELECT expires, operation_id FROM newest WHERE place > $3 OR total > $4 ORDER BY place LIMIT 1),
        gone AS (
            DELETE FROM operations WHERE db_id = $1 AND operation_id IN (
                SELECT o.operation_id FROM operations o JOIN beyond b ON (o.expires, o.operation_id) <= (b.expires, b.operation_id)
                WHERE o.db_id = $1 AND o.caller = $2 AND o.expires <= $5 ORDER BY o.expires, o.operation_id LIMIT $6)
            RETURNING expires)
        SELECT count(*), max(expires) FROM gone
        """)

    static let tasksPut = Statement(
        """
        INSERT INTO tasks (db_id, kind, name, due, attempts, payload)
        SELECT $1::bigint, x.* FROM unnest($2::bigint[], $3::bytea[], $4::float8[], $5::bigint[], $6::bytea[]) x
        ON CONFLICT (db_id, kind, name) DO UPDATE SET due = excluded.due, attempts = excluded.attempts, payload = excluded.payload
        """)

    static let tasksRemove = Statement(
        """
        DELETE FROM tasks t USING unnest($2::bigint[], $3::bytea[]) x (kind, name)
        WHERE t.db_id = $1 AND t.kind = x.kind AND t.name = x.name
        """)

    static let tasksLock = Statement(
        """
        SELECT t.kind, t.name, t.due, t.attempts, t.payload
        FROM tasks t JOIN unnest($2::bigint[], $3::bytea[]) x (kind, name) ON t.kind = x.kind AND t.name = x.name
        WHERE t.db_id = $1 ORDER BY t.kind, t.name FOR UPDATE OF t
        """)

    /// Counts the tasks of a kind whose names are from $3 up to $4, without reading a payload.
    static let tasksNamed = Statement(
        """
        SELECT count(*), COALESCE(sum(length), 0)::bigint FROM (
            SELECT octet_length(payload) AS length FROM tasks
            WHERE db_id = $1 AND kind = $2 AND name >= $3 AND name < $4 ORDER BY name LIMIT $5) named
        """)

    /// On all shards.
    static let tasksDue = Statement(
        """
        SELECT db_id, kind, name, due FROM tasks
        WHERE due > $1 AND due <= $2 AND kind = ANY ($3::bigint[]) ORDER BY due, db_id, kind, name LIMIT $4
        """)
}
