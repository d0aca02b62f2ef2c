/// Statements for links between records, and for index rows.
extension Statement {
    static let linksPut = Statement(
        """
        INSERT INTO record_links (db_id, zone_id, target, kind, name)
        SELECT $1::bigint, $2::bigint, x.* FROM unnest($3::bytea[], $4::bigint[], $5::bytea[]) x
        ON CONFLICT (db_id, zone_id, target, kind, name) DO NOTHING
        """)

    static let linksRemove = Statement(
        """
        DELETE FROM record_links l USING unnest($3::bytea[], $4::bigint[], $5::bytea[]) x (target, kind, name)
        WHERE l.db_id = $1 AND l.zone_id = $2 AND l.target = x.target AND l.kind = x.kind AND l.name = x.name
        """)

    static let linksReclaim = Statement(
        """
        DELETE FROM record_links WHERE db_id = $1 AND zone_id = $2 AND (target, kind, name) IN (
            SELECT target, kind, name FROM record_links WHERE db_id = $1 AND zone_id = $2 ORDER BY target, kind, name LIMIT $3)
        """)

    /// The dependents of each name outside the names of $4. The kinds are those of `ReferenceLink.Kind`.
    static let dependents = Statement(
        """
        SELECT n.name,
            EXISTS (SELECT 1 FROM records r WHERE r.db_id = $1 AND r.zone_id = $2 AND r.parent = n.name AND NOT r.is_tombstone
                AND r.name <> ALL ($4::bytea[])),
            EXISTS (SELECT 1 FROM record_links l WHERE l.db_id = $1 AND l.zone_id = $2 AND l.target = n.name AND l.kind = 2
                AND l.name <> ALL ($4::bytea[])),
            ARRAY (SELECT l.name FROM record_links l WHERE l.db_id = $1 AND l.zone_id = $2 AND l.target = n.name AND l.kind = 1
                AND l.name <> ALL ($4::bytea[]) ORDER BY l.name LIMIT $5),
            ARRAY (SELECT l.name FROM record_links l WHERE l.db_id = $1 AND l.zone_id = $2 AND l.target = n.name AND l.kind = 3
                AND l.name <> ALL ($4::bytea[]) ORDER BY l.name LIMIT $5)
        FROM unnest($3::bytea[]) n (name)
        """)

    static let indexPut = Statement(
        """
        INSERT INTO record_index (db_id, zone_id, index_id, key, name)
        SELECT $1::bigint, $2::bigint, x.* FROM unnest($3::bigint[], $4::bytea[], $5::bytea[]) x
        ON CONFLICT (db_id, zone_id, index_id, key, name) DO NOTHING
        """)

    static let indexRemove = Statement(
        """
        DELETE FROM record_index i USING unnest($3::bigint[], $4::bytea[], $5::bytea[]) x (index_id, key, name)
        WHERE i.db_id = $1 AND i.zone_id = $2 AND i.index_id = x.index_id AND i.key = x.key AND i.name = x.name
        """)

    static let indexReclaim = Statement(
        """
        DELETE FROM record_index WHERE db_id = $1 AND zone_id = $2 AND (index_id, key, name) IN (
            SELECT index_id, key, name FROM record_index WHERE db_id = $1 AND zone_id = $2 ORDER BY index_id, key, name LIMIT $3)
        """)

    /// Rows of scans without their records. A nested loop keeps the order of the scans, their spans and their rows, and
    /// reads no span behind the limit of its scan.
    static let indexScans = Statement(
        """
        SELECT s.scan - 1, h.span, h.key, h.name
        FROM unnest($2::bigint[], $3::bigint[]) WITH ORDINALITY s (zone_id, most, scan)
        CROSS JOIN LATERAL (
            SELECT p.span, i.key, i.name
            FROM unnest($4::bigint[], $5::bigint[], $6::boolean[], $7::bigint[], $8::bytea[], $9::bytea[], $10::bigint[], $11::bytea[],
                $12::bytea[]) p (scan, span, falls, from_index, from_key, from_name, to_index, to_key, to_name)
            CROSS JOIN LATERAL (
                (SELECT key, name FROM record_index WHERE NOT p.falls AND db_id = $1 AND zone_id = s.zone_id
                    AND (index_id, key, name) >= (p.from_index, p.from_key, p.from_name)
                    AND (index_id, key, name) < (p.to_index, p.to_key, p.to_name)
                    ORDER BY index_id, key, name LIMIT s.most)
                UNION ALL
                (SELECT key, name FROM record_index WHERE p.falls AND db_id = $1 AND zone_id = s.zone_id
                    AND (index_id, key, name) >= (p.from_index, p.from_key, p.from_name)
                    AND (index_id, key, name) < (p.to_index, p.to_key, p.to_name)
                    ORDER BY index_id DESC, key DESC, name DESC LIMIT s.most)) i
            WHERE p.scan = s.scan - 1 LIMIT s.most) h
        """)

    /// Rows of scans, up to $16 bytes of their records. The mode of a scan is that of `IndexScan.mode`; $14 and $15
    /// are the names of the only records that come in mode 2.
    static let indexScansWithRecords = Statement(
        """
        SELECT scan, span, key, name, type, incarnation, seq, is_tombstone, parent, body FROM (
            SELECT s.scan - 1 AS scan, h.*, sum(COALESCE(octet_length(h.body), 0)) OVER (ORDER BY s.scan, h.place)
                - COALESCE(octet_length(h.body), 0) AS before
            FROM unnest($2::bigint[], $3::bigint[], $13::bigint[]) WITH ORDINALITY s (zone_id, most, mode, scan)
            CROSS JOIN LATERAL (
                SELECT p.span, i.*, row_number() OVER () AS place
                FROM unnest($4::bigint[], $5::bigint[], $6::boolean[], $7::bigint[], $8::bytea[], $9::bytea[], $10::bigint[], $11::bytea[],
                    $12::bytea[]) p (scan, span, falls, from_index, from_key, from_name, to_index, to_key, to_name)
                CROSS JOIN LATERAL (
                    (SELECT i.key, i.name, r.type, r.incarnation, r.seq, r.is_tombstone, r.parent, r.body
                        FROM record_index i LEFT JOIN records r ON s.mode <> 0 AND r.db_id = $1 AND r.zone_id = s.zone_id AND r.name = i.name
                            AND (s.mode = 1 OR (s.scan - 1, i.name) IN (SELECT * FROM unnest($14::bigint[], $15::bytea[])))
                        WHERE NOT p.falls AND i.db_id = $1 AND i.zone_id = s.zone_id
                            AND (i.index_id, i.key, i.name) >= (p.from_index, p.from_key, p.from_name)
                            AND (i.index_id, i.key, i.name) < (p.to_index, p.to_key, p.to_name)
                            AND (s.mode <> 1 OR r.name IS NOT NULL)
                        ORDER BY i.index_id, i.key, i.name LIMIT s.most)
                    UNION ALL
                    (SELECT i.key, i.name, r.type, r.incarnation, r.seq, r.is_tombstone, r.parent, r.body
                        FROM record_index i LEFT JOIN records r ON s.mode <> 0 AND r.db_id = $1 AND r.zone_id = s.zone_id AND r.name = i.name
                            AND (s.mode = 1 OR (s.scan - 1, i.name) IN (SELECT * FROM unnest($14::bigint[], $15::bytea[])))
                        WHERE p.falls AND i.db_id = $1 AND i.zone_id = s.zone_id
                            AND (i.index_id, i.key, i.name) >= (p.from_index, p.from_key, p.from_name)
                            AND (i.index_id, i.key, i.name) < (p.to_index, p.to_key, p.to_name)
                            AND (s.mode <> 1 OR r.name IS NOT NULL)
                        ORDER BY i.index_id DESC, i.key DESC, i.name DESC LIMIT s.most)) i
                WHERE p.scan = s.scan - 1 LIMIT s.most) h) found
        WHERE before < $16 ORDER BY scan, place
        """)
}
