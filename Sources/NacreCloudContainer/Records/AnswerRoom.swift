import NacreCloudServerWire
import NacreCloudWire

extension ReadTransaction {
    /// Records of these names, live ones and tombstones, in no order, where one answer has room for all of them. What has no room is not kept, and the
    /// rest is not read.
    /// - Throws: `ServerError.answerTooLarge`; for one record never.
    func stored(in zone: ZoneAddress, named names: [String], within bytes: Int) throws -> [StoredRecord] {
        guard names.count > 1, bytes < .max else { return try records(in: zone, named: names).map { StoredRecord($0, in: zone) } }
        let rows = try records(in: zone, named: names, bytesMax: bytes + 1)
        var left = bytes
        return try rows.map { row in
            let stored = StoredRecord(row, in: zone)
            left -= stored.pageBytes
            if left < 0 { throw ServerError.answerTooLarge }
            return stored
        }
    }
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
