/// Statements for the check. Those that walk a table or read all of it are on all shards, and select the key first.
extension Statement {
    static let databasesWalk = Statement(
        """
        SELECT db_id, container, environment, scope, owner, incarnation, last_seq, forgotten_seq, bytes
        FROM databases WHERE db_id > $1 ORDER BY db_id LIMIT $2
        """)

    static let zonesWalk = Statement(
        """
        SELECT db_id, zone_id, name, state, incarnation, last_seq, feed_seq, client_change_token,
            forgotten_incarnation, forgotten_seq, indexes_below, bytes
        FROM zones WHERE (db_id, zone_id) > ($1, $2) ORDER BY db_id, zone_id LIMIT $3
        """)

    /// A page has $5 bytes at most, or one record.
    static let recordsWalk = Statement(
        """
        SELECT db_id, zone_id, name, type, incarnation, seq, is_tombstone, parent, body FROM (
            SELECT r.*, sum(octet_length(body)) OVER (ORDER BY db_id, zone_id, name) - octet_length(body) AS before FROM (
                SELECT db_id, zone_id, name, type, incarnation, seq, is_tombstone, parent, body
                FROM records WHERE (db_id, zone_id, name) > ($1, $2, $3) ORDER BY db_id, zone_id, name LIMIT $4) r) found
        WHERE before < $5 ORDER BY db_id, zone_id, name
        """)

    static let feedWalk = Statement(
        """
        SELECT db_id, zone_id, view_id, incarnation, seq, name, entered_incarnation, entered_seq, is_departure
        FROM feed WHERE (db_id, zone_id, view_id, incarnation, seq, name) > ($1, $2, $3, $4, $5, $6)
        ORDER BY db_id, zone_id, view_id, incarnation, seq, name LIMIT $7
        """)

    static let linksWalk = Statement(
        """
        SELECT db_id, zone_id, target, kind, name FROM record_links
        WHERE (db_id, zone_id, target, kind, name) > ($1, $2, $3, $4, $5) ORDER BY db_id, zone_id, target, kind, name LIMIT $6
        """)

    static let indexWalk = Statement(
        """
        SELECT db_id, zone_id, index_id, key, name FROM record_index
        WHERE (db_id, zone_id, index_id, key, name) > ($1, $2, $3, $4, $5) ORDER BY db_id, zone_id, index_id, key, name LIMIT $6
        """)

    static let entriesWalk = Statement(
        """
        SELECT db_id, kind, name, value, expires
        FROM entries WHERE (db_id, kind, name) > ($1, $2, $3) ORDER BY db_id, kind, name LIMIT $4
        """)

    static let operationsWalk = Statement(
        """
        SELECT db_id, operation_id, digest, result, expires, caller
        FROM operations WHERE (db_id, operation_id) > ($1, $2) ORDER BY db_id, operation_id LIMIT $3
        """)

    static let tasksWalk = Statement(
        """
        SELECT db_id, kind, name, due, attempts, payload
        FROM tasks WHERE (db_id, kind, name) > ($1, $2, $3) ORDER BY db_id, kind, name LIMIT $4
        """)

    static let bytesOfZone = Statement(
        """
        SELECT COALESCE(sum(octet_length(body)), 0)::bigint FROM records WHERE db_id = $1 AND zone_id = $2 AND NOT is_tombstone
        """)

    static let feedMissing = Statement(
        """
        SELECT x.place FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bytea[], $8::bigint[],
            $9::bigint[], $10::boolean[])
            x (place, zone_id, view_id, incarnation, seq, name, entered_incarnation, entered_seq, is_departure)
        WHERE NOT EXISTS (SELECT 1 FROM feed f WHERE f.db_id = $1 AND f.zone_id = x.zone_id AND f.view_id = x.view_id
            AND f.incarnation = x.incarnation AND f.seq = x.seq AND f.name = x.name AND f.entered_incarnation = x.entered_incarnation
            AND f.entered_seq = x.entered_seq AND f.is_departure = x.is_departure)
        """)

    static let linksMissing = Statement(
        """
        SELECT x.place FROM unnest($2::bigint[], $3::bigint[], $4::bytea[], $5::bigint[], $6::bytea[]) x (place, zone_id, target, kind, name)
        WHERE NOT EXISTS (SELECT 1 FROM record_links l WHERE l.db_id = $1 AND l.zone_id = x.zone_id AND l.target = x.target
            AND l.kind = x.kind AND l.name = x.name)
        """)

    static let indexMissing = Statement(
        """
        SELECT x.place FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::bytea[], $6::bytea[]) x (place, zone_id, index_id, key, name)
        WHERE NOT EXISTS (SELECT 1 FROM record_index i WHERE i.db_id = $1 AND i.zone_id = x.zone_id AND i.index_id = x.index_id
            AND i.key = x.key AND i.name = x.name)
        """)

    // PostgreSQL compares a page with its checksum when it reads it. The digest reads what is kept beside a row, too.
    static let databasesRead = Statement("SELECT count(md5(container || owner)) FROM databases")
    static let zonesRead = Statement("SELECT count(md5(name || COALESCE(client_change_token, ''))) FROM zones")
    static let recordsRead = Statement("SELECT count(md5(name || body)) FROM records")
    static let feedRead = Statement("SELECT count(md5(name)) FROM feed")
    static let linksRead = Statement("SELECT count(md5(target || name)) FROM record_links")
    static let indexRead = Statement("SELECT count(md5(key || name)) FROM record_index")
    static let entriesRead = Statement("SELECT count(md5(name || value)) FROM entries")
    static let operationsRead = Statement("SELECT count(md5(operation_id || digest || result)) FROM operations")
    static let tasksRead = Statement("SELECT count(md5(name || payload)) FROM tasks")
}
