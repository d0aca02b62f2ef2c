import NacreCloudServerWire
import NacreCloudWire

extension ReadTransaction {
    /// Records of these names, live ones and tombstones, in no order, where one answer has room for all of them. What has no room is not kept, and the
    /// rest is not read.
    /// - Throws: `ServerError.answerTooLarge`; for one record never. `LongDecision`.
    func stored(in zone: ZoneAddress, named names: [String], within bytes: Int, _ patience: inout Patience) throws -> [StoredRecord] {
        let rows = try records(in: zone, named: names, bytesMax: patience.bytes(upTo: bytes + 1))
        // Before they are decoded, which takes longer than to read them.
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

    /// The same for a lookup, where it wants some fields, or not all is for its caller: what it does not want or may not see is looked at a portion at a
    /// time, takes no room and is not kept.
    /// - Returns: also how many bytes of bodies were looked at and are not in the answer.
    /// - Throws: `ServerError.answerTooLarge`, and `.looksAtTooMuch`; for one record never.
    func stored(
        in zone: ZoneAddress, for request: RecordsLookupRequest, showing: ShownRecords, within bytes: Int
    ) throws -> (records: [StoredRecord], unanswered: Int) {
        let names = request.records.map(\.recordName)
        let keys = request.desiredKeys.map { FieldNames($0) }
        guard !showing.showsAll || keys != nil || request.records.contains(where: { $0.desiredKeys != nil }) else {
            var patience = Patience.endless
            return (try stored(in: zone, named: names, within: bytes, &patience), 0)
        }
        let wanted = Dictionary(
            request.records.map { ($0.recordName, $0.desiredKeys.map { FieldNames($0) } ?? keys) }, uniquingKeysWith: { first, _ in first })
        var found: [StoredRecord] = []
        var (left, unanswered) = (bytes, 0)
        try eachPortion(of: names, in: zone) { rows in
            for row in rows {
                let only = wanted[row.name] ?? nil
                let record = StoredRecord(row, in: zone, only: only)
                guard showing.shows(record) else {
                    found.append(StoredRecord(row, in: zone, only: FieldNames([])))
                    unanswered += row.body.count
                    continue
                }
                found.append(record)
                guard only != nil else {
                    left -= record.pageBytes
                    continue
                }
                let taken = max(record.content.fields.byteCount, record.content.fields.pageBytes)
                left -= taken
                unanswered += max(0, row.body.count - taken)
            }
            if names.count > 1, left < 0 { throw ServerError.answerTooLarge }
            if names.count > 1, unanswered > Limits.unansweredBytes { throw ServerError.looksAtTooMuch }
        }
        return (found, unanswered)
    }

    /// Reads the records of these names, 4 MB of bodies at a time, one call of the store each.
    /// - Parameter body: takes those that are there, in the names' order.
    /// - Throws: `LongDecision`.
    func eachPortion(of names: [String], in zone: ZoneAddress, _ patience: inout Patience, _ body: ([RecordRow]) throws -> Void) throws {
        var rest = names[...]
        while !rest.isEmpty {
            let rows = try records(in: zone, next: &rest, bytesMax: patience.bytes(upTo: QueryReader.portionBytes))
            try patience.take(rows)
            try body(rows)
        }
    }

    /// The same for who may look at all of them.
    func eachPortion(of names: [String], in zone: ZoneAddress, _ body: ([RecordRow]) throws -> Void) throws {
        var patience = Patience.endless
        try eachPortion(of: names, in: zone, &patience, body)
    }

    /// Reads the records of the first of these names, until their bodies take so many bytes, and takes their names off.
    /// - Returns: those that are there, in the names' order.
    func records(in zone: ZoneAddress, next names: inout ArraySlice<String>, bytesMax: Int) throws -> [RecordRow] {
        let rows = try records(in: zone, named: Array(names), bytesMax: bytesMax)
        guard rows.bodyBytes >= bytesMax, let last = rows.last?.name else {
            names = []
            return rows
        }
        names = names.drop { $0 != last }.dropFirst()
        return rows
    }
}

extension [RecordRow] {
    var bodyBytes: Int { reduce(0) { $0 + $1.body.count } }
}

extension StoredRecord {
    /// What the record takes of `Limits.pageBytes` and `Limits.answerBytes`: its body, or, where that is more, half of its JSON, so that an answer
    /// takes 16 MB of JSON.
    /// What a small one takes as JSON is not counted: that would cost more than the page has to fear from it.
    var pageBytes: Int { row.body.count <= Limits.smallBodyBytes ? row.body.count : max(row.body.count, content.fields.pageBytes) }
}

extension RecordFields {
    /// As `StoredRecord.pageBytes`, of fields that are answered alone.
    var pageBytes: Int { answerBytes / Limits.textPerAnswerByte }
}
