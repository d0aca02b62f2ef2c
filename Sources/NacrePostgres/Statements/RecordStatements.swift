/// Statements for records and their feeds. A limit of bytes is kept by the sum of the lengths before a row: a length is
/// known without reading the body.
extension Statement {
    static let recordsByName = Statement(
        """
        SELECT name, type, incarnation, seq, is_tombstone, parent, body
        FROM records WHERE db_id = $1 AND zone_id = $2 AND name = ANY ($3::bytea[])
        """)

    /// The records of names in the order of the names, up to $4 bytes.
    static let recordsByNameUpTo = Statement(
        """
        SELECT name, type, incarnation, seq, is_tombstone, parent, body FROM (
            SELECT r.*, n.place, sum(octet_length(r.body)) OVER (ORDER BY n.place) - octet_length(r.body) AS before
            FROM unnest($3::bytea[]) WITH ORDINALITY n (name, place)
            JOIN records r ON r.db_id = $1 AND r.zone_id = $2 AND r.name = n.name) found
        WHERE before < $4 ORDER BY place
        """)

    static let recordHeads = Statement(
        """
        SELECT name, type, incarnation, seq, is_tombstone, parent, ''::bytea
        FROM records WHERE db_id = $1 AND zone_id = $2 AND name = ANY ($3::bytea[])
        """)

    static let recordsFromName = Statement(
        """
        SELECT name, type, incarnation, seq, is_tombstone, parent, body FROM (
            SELECT r.*, sum(octet_length(body)) OVER (ORDER BY name) - octet_length(body) AS before FROM (
                SELECT name, type, incarnation, seq, is_tombstone, parent, body
                FROM records WHERE db_id = $1 AND zone_id = $2 AND NOT is_tombstone AND name >= $3 ORDER BY name LIMIT $4) r) found
        WHERE before < $5 ORDER BY name
        """)

    static let recordChildren = Statement(
        """
        SELECT name, type, incarnation, seq, is_tombstone, parent, body FROM (
            SELECT r.*, sum(octet_length(body)) OVER (ORDER BY name) - octet_length(body) AS before FROM (
                SELECT name, type, incarnation, seq, is_tombstone, parent, body
                FROM records WHERE db_id = $1 AND zone_id = $2 AND parent = $6 AND NOT is_tombstone AND name > $3 ORDER BY name LIMIT $4) r) found
        WHERE before < $5 ORDER BY name
        """)

    static let recordTombstones = Statement(
        """
        SELECT name, type, incarnation, seq, is_tombstone, parent, body
        FROM records WHERE db_id = $1 AND zone_id = $2 AND is_tombstone ORDER BY incarnation, seq, name LIMIT $3
        """)

    static let recordsInsert = Statement(
        """
        INSERT INTO records (db_id, zone_id, name, type, incarnation, seq, is_tombstone, parent, body)
        SELECT $1::bigint, $2::bigint, x.*
        FROM unnest($3::bytea[], $4::bytea[], $5::bigint[], $6::bigint[], $7::boolean[], $8::bytea[], $9::bytea[]) x
        """)

    static let recordsPut = Statement(
        """
        INSERT INTO records (db_id, zone_id, name, type, incarnation, seq, is_tombstone, parent, body)
        SELECT $1::bigint, $2::bigint, x.*
        FROM unnest($3::bytea[], $4::bytea[], $5::bigint[], $6::bigint[], $7::boolean[], $8::bytea[], $9::bytea[]) x
        ON CONFLICT (db_id, zone_id, name) DO UPDATE SET type = excluded.type, incarnation = excluded.incarnation, seq = excluded.seq,
            is_tombstone = excluded.is_tombstone, parent = excluded.parent, body = excluded.body
        """)

    static let recordsRemove = Statement("DELETE FROM records WHERE db_id = $1 AND zone_id = $2 AND name = ANY ($3::bytea[])")

    static let recordsReclaim = Statement(
        """
        DELETE FROM records WHERE db_id = $1 AND zone_id = $2
            AND name IN (SELECT name FROM records WHERE db_id = $1 AND zone_id = $2 ORDER BY name LIMIT $3)
        """)

    static let feedPut = Statement(
        """
        INSERT INTO feed (db_id, zone_id, view_id, incarnation, seq, name, entered_incarnation, entered_seq, is_departure)
        SELECT $1::bigint, $2::bigint, x.*
        FROM unnest($3::bigint[], $4::bigint[], $5::bigint[], $6::bytea[], $7::bigint[], $8::bigint[], $9::boolean[]) x
        ON CONFLICT (db_id, zone_id, view_id, incarnation, seq, name) DO UPDATE SET entered_incarnation = excluded.entered_incarnation,
            entered_seq = excluded.entered_seq, is_departure = excluded.is_departure
        """)

    static let feedRemove = Statement(
        """
        DELETE FROM feed f USING unnest($3::bigint[], $4::bigint[], $5::bigint[], $6::bytea[]) x (view_id, incarnation, seq, name)
        WHERE f.db_id = $1 AND f.zone_id = $2 AND f.view_id = x.view_id AND f.incarnation = x.incarnation AND f.seq = x.seq AND f.name = x.name
        """)

    static let feedReclaim = Statement(
        """
        DELETE FROM feed WHERE db_id = $1 AND zone_id = $2 AND (view_id, incarnation, seq, name) IN (
            SELECT view_id, incarnation, seq, name FROM feed WHERE db_id = $1 AND zone_id = $2 ORDER BY view_id, incarnation, seq, name LIMIT $3)
        """)

    /// Portions of feeds, in the order of the scans. A scan begins with its first position, which is included.
    static let feedScans = Statement(
        """
        SELECT scan, incarnation, seq, name, entered_incarnation, entered_seq, is_departure,
            type, of_incarnation, of_seq, is_tombstone, parent, body
        FROM (
            SELECT s.scan - 1 AS scan, h.*, sum(octet_length(h.body)) OVER (ORDER BY s.scan, h.incarnation, h.seq, h.name)
                - octet_length(h.body) AS before
            FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bytea[], $7::bigint[], $8::bigint[], $9::bigint[],
                $10::bigint[], $11::bigint[]) WITH ORDINALITY s (zone_id, view_id, from_incarnation, from_seq, from_name,
                through_incarnation, through_seq, base_incarnation, base_seq, most, scan)
            CROSS JOIN LATERAL (
                SELECT f.incarnation, f.seq, f.name, f.entered_incarnation, f.entered_seq, f.is_departure,
                    r.type, r.incarnation AS of_incarnation, r.seq AS of_seq, r.is_tombstone, r.parent, r.body
                FROM feed f JOIN records r ON r.db_id = $1 AND r.zone_id = s.zone_id AND r.name = f.name
                WHERE f.db_id = $1 AND f.zone_id = s.zone_id AND f.view_id = s.view_id
                    AND (f.incarnation, f.seq, f.name) >= (s.from_incarnation, s.from_seq, s.from_name)
                    AND (f.incarnation, f.seq) <= (s.through_incarnation, s.through_seq)
                    AND (NOT f.is_departure AND NOT r.is_tombstone OR (f.incarnation, f.seq) > (s.base_incarnation, s.base_seq))
                ORDER BY f.incarnation, f.seq, f.name LIMIT s.most) h) found
        WHERE before < $12 ORDER BY scan, incarnation, seq, name
        """)
}
