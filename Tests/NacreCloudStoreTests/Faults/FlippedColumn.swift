import NacreCloudTestSupport

extension TemporaryFolder {
    /// Flips one bit of a column's value in the first row that `row` selects, through SQLite, so that nothing else is
    /// damaged.
    /// - Parameter byte: The byte of a text or blob; for a number, counted from the lowest.
    func flip(_ column: String, of table: String, where row: String, byte: Int, bit: Int) throws {
        let type = try sql("SELECT typeof(\(column)) FROM \(table) WHERE \(row) LIMIT 1").first
        let value: String
        switch type {
        case "text", "blob":
            let digits = Array(try sql("SELECT hex(\(column)) FROM \(table) WHERE \(row) LIMIT 1").first ?? "")
            var bytes = stride(from: 0, to: digits.count, by: 2).map { UInt8(String(digits[$0...$0 + 1]), radix: 16) ?? 0 }
            guard !bytes.isEmpty else { throw NothingToFlip() }
            bytes[byte % bytes.count] ^= 1 << UInt8(bit)
            let flipped = bytes.map { String(UInt16($0) + 0x100, radix: 16).dropFirst() }.joined()
            value = "CAST(x'\(flipped)' AS \(type ?? ""))"
        case "integer":
            let mask = 1 << (bit + 8 * byte)
            value = "(\(column) | \(mask)) - (\(column) & \(mask))"
        default: throw NothingToFlip()
        }
        try sql("UPDATE OR IGNORE \(table) SET \(column) = \(value) WHERE \(row)")
    }
}

struct NothingToFlip: Error {}
