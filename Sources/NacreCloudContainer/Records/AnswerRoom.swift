import NacreCloudWire

extension ReadTransaction {
    /// Records of these names, live ones and tombstones, in no order, where one answer has room for all of them. What has no room is not kept, and the
    /// rest is not read.
    /// - Throws: `ServerError.answerTooLarge`; for one record never.
    func records(in zone: ZoneAddress, named names: [String], within bytes: Int) throws -> [RecordRow] {
        guard names.count > 1, bytes < .max else { return try records(in: zone, named: names) }
        let rows = try records(in: zone, named: names, bytesMax: bytes + 1)
        guard rows.reduce(0, { $0 + $1.body.count }) <= bytes else { throw ServerError.answerTooLarge }
        return rows
    }
}
