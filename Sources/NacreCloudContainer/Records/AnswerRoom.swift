import NacreCloudServerWire
package import NacreCloudStorage
package import NacreCloudWire

extension ReadTransaction {
    /// Reads the records of these names, live ones and tombstones, in no order, where one answer has room for all of
    /// them.
    /// - Throws: `ServerError.answerTooLarge`, never for a single name; the rest is not read then. `LongDecision`.
    package func stored(in zone: ZoneAddress, named names: [String], within bytes: Int, _ patience: inout Patience) throws -> [StoredRecord] {
        let rows = try records(in: zone, named: names, bytesMax: patience.bytes(upTo: bytes + 1))
        // Counted before the rows are decoded, which takes longer than to read them.
        try patience.take(rows)
        guard names.count > 1 else { return rows.map { StoredRecord($0, in: zone) } }
        if rows.bodyBytes > bytes { throw ServerError.answerTooLarge }
        var left = bytes
        return try rows.map { row in
            let stored = StoredRecord(row, in: zone)
            left -= stored.pageBytes
            if left < 0 { throw ServerError.answerTooLarge }
            return stored
        }
    }

    /// Reads the records of a lookup. Where it wants some fields, or the caller does not see everything, it reads a
    /// portion at a time. Unwanted fields and hidden records take no room and are not kept.
    /// - Returns: the records, and the bytes of bodies that were read and are not in the answer.
    /// - Throws: `ServerError.answerTooLarge` and `.looksAtTooMuch`, never for a single name.
    package func found(
        in zone: ZoneAddress, for request: RecordsLookupRequest, showing: ShownRecords, within bytes: Int
    ) throws -> (records: [FoundRecord], unanswered: Int) {
        let names = request.records.map(\.recordName)
        let keys = request.desiredKeys.map { FieldNames($0, withManifest: true) }
        guard !showing.showsAll || keys != nil || request.records.contains(where: { $0.desiredKeys != nil }) else {
            return (try whole(in: zone, named: names, showing: showing, within: bytes), 0)
        }
        let wanted = Dictionary(
            request.records.map { ($0.recordName, $0.desiredKeys.map { FieldNames($0, withManifest: true) } ?? keys) },
            uniquingKeysWith: { first, _ in first })
        var found: [FoundRecord] = []
        var (left, unanswered) = (bytes, 0)
        try eachPortion(of: names, in: zone) { rows in
            for row in rows {
                let only = wanted[row.name] ?? nil
                let record = StoredRecord(row, in: zone, only: only)
                guard showing.shows(record) else {
                    found.append(.read(StoredRecord(row, in: zone, only: FieldNames([]))))
                    unanswered += row.body.count
                    continue
                }
                found.append(.read(record))
                guard only != nil else {
                    left -= record.pageBytes
                    continue
                }
                let taken = max(record.content.fields.byteCount, record.content.fields.pageBytes) + (record.content.manifest?.count ?? 0)
                left -= taken
                unanswered += max(0, row.body.count - taken)
            }
            if names.count > 1, left < 0 { throw ServerError.answerTooLarge }
            if names.count > 1, unanswered > Limits.unansweredBytes { throw ServerError.looksAtTooMuch }
        }
        return (found, unanswered)
    }

    /// Reads the records of a lookup that wants all fields, for a caller who sees everything. Small records go into the
    /// answer as they are kept.
    private func whole(in zone: ZoneAddress, named names: [String], showing: ShownRecords, within bytes: Int) throws -> [FoundRecord] {
        let rows = try records(in: zone, named: names, bytesMax: bytes + 1)
        if names.count > 1, rows.bodyBytes > bytes { throw ServerError.answerTooLarge }
        let keeping = UnreadZone(showing)
        var left = bytes
        return try rows.map { row in
            let record = UnreadRecord(found: row, at: zone, of: keeping).map(FoundRecord.kept) ?? .read(StoredRecord(row, in: zone))
            left -= record.pageBytes
            if names.count > 1, left < 0 { throw ServerError.answerTooLarge }
            return record
        }
    }

    /// Reads the records of these names, 4 MB of bodies at a time. Each portion costs one call of the store.
    /// - Parameter body: takes the records of a portion that exist, in the names' order.
    /// - Throws: `LongDecision`.
    func eachPortion(of names: [String], in zone: ZoneAddress, _ patience: inout Patience, _ body: ([RecordRow]) throws -> Void) throws {
        var rest = names[...]
        while !rest.isEmpty {
            let rows = try records(in: zone, next: &rest, bytesMax: patience.bytes(upTo: QueryReader.portionBytes))
            try patience.take(rows)
            try body(rows)
        }
    }

    /// Reads the records of these names a portion at a time, without a bound on their bytes.
    func eachPortion(of names: [String], in zone: ZoneAddress, _ body: ([RecordRow]) throws -> Void) throws {
        var patience = Patience.endless
        try eachPortion(of: names, in: zone, &patience, body)
    }

    /// Reads the records of the first of these names, until their bodies take `bytesMax`, and removes those names.
    /// - Returns: the records that exist, in the names' order.
    package func records(in zone: ZoneAddress, next names: inout ArraySlice<String>, bytesMax: Int) throws -> [RecordRow] {
        let rows = try records(in: zone, named: Array(names), bytesMax: bytesMax)
        guard rows.bodyBytes >= bytesMax, let last = rows.last?.name else {
            names = []
            return rows
        }
        names = names.drop { $0 != last }.dropFirst()
        return rows
    }
}

/// A record that a lookup found.
package enum FoundRecord: Sendable {
    /// The record goes into the answer as it is kept. See `docs/decisions/records-answers.md`.
    case kept(UnreadRecord)
    case read(StoredRecord)

    package var name: String {
        switch self {
        case .kept(let record): record.row.name
        case .read(let record): record.row.name
        }
    }

    /// Bytes of the answer's room, as in `StoredRecord.pageBytes`.
    fileprivate var pageBytes: Int {
        switch self {
        case .kept(let record): record.row.body.count
        case .read(let record): record.pageBytes
        }
    }

    package var damaged: StoredRecord? {
        if case .read(let record) = self, record.isDamaged { record } else { nil }
    }
}

extension [RecordRow] {
    package var bodyBytes: Int { reduce(0) { $0 + $1.body.count } }
}

extension StoredRecord {
    /// Bytes that the record takes of `Limits.pageBytes` and `Limits.answerBytes`: its body, or half of its JSON where
    /// that is more. An answer takes at most 16 MB of JSON then.
    ///
    /// The JSON of a body up to `Limits.smallBodyBytes` is not counted: counting costs more than it could save.
    package var pageBytes: Int {
        row.body.count <= Limits.smallBodyBytes ? row.body.count : max(row.body.count, content.fields.pageBytes + (content.manifest?.count ?? 0))
    }
}

extension Record {
    /// Bytes of the room of a record that is answered with some of its fields.
    package var pageBytes: Int { fields.pageBytes + (manifest?.count ?? 0) }
}

extension RecordFields {
    /// Bytes of the room of fields that are answered alone, as in `StoredRecord.pageBytes`.
    package var pageBytes: Int { answerBytes / Limits.textPerAnswerByte }
}
