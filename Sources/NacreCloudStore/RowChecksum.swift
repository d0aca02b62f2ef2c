import NacreCloudStorage
import NacreCloudWire

/// The checksum of a row that is not a record: the CRC-32C over the columns that are put, plus the columns that count.
/// A statement that counts can keep it true by counting along. `bytes` counts three times. One flipped bit of it then
/// adds no power of two, unlike a flipped bit of another counter, and a repair can tell them apart.
struct RowChecksum {
    private var bytes: [UInt8] = []

    private mutating func add(_ value: Int64) {
        withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) }
    }

    private mutating func add(_ value: some Collection<UInt8>) {
        add(Int64(value.count))
        bytes.append(contentsOf: value)
    }

    static let weightOfBytes: Int64 = 3

    private var sum: Int64 { Int64(Checksum.crc32c(bytes)) }

    static func of(_ row: DatabaseRow) -> Int64 {
        var checksum = RowChecksum()
        checksum.add(row.id.rawValue)
        for part in [row.key.container, row.key.environment.rawValue, row.key.scope.rawValue, row.key.owner] { checksum.add(part.utf8) }
        checksum.add(row.run)
        checksum.add(row.forgottenSeq)
        return checksum.sum &+ row.lastSeq &+ row.bytes &* weightOfBytes
    }

    static func of(_ row: ZoneRow) -> Int64 {
        var checksum = RowChecksum()
        checksum.add(row.address.database.rawValue)
        checksum.add(row.address.zone)
        checksum.add(row.name.utf8)
        checksum.add(row.state.rawValue)
        checksum.add(row.run)
        checksum.add(row.forgotten.run)
        checksum.add(row.forgotten.seq)
        checksum.add(row.clientChangeToken == nil ? 0 : 1)
        checksum.add(row.clientChangeToken ?? [])
        return checksum.sum &+ row.lastSeq &+ row.feedSeq &+ row.indexesBelow &+ row.bytes &* weightOfBytes
    }

    static func of(_ row: EntryRow) -> Int64 {
        var checksum = RowChecksum()
        checksum.add(row.key.database.rawValue)
        checksum.add(row.key.kind.rawValue)
        checksum.add(row.key.key.utf8)
        checksum.add(row.value)
        checksum.add(row.expires == nil ? 0 : 1)
        checksum.add(Int64(bitPattern: (row.expires?.secondsSince2001 ?? 0).bitPattern))
        return checksum.sum
    }

    /// Returns the checksum of a row of `index_waiting` or `index_blocks`, over its key and its content.
    static func of(_ index: ZoneIndex, _ parts: [Int64], _ key: [UInt8], _ name: String, _ content: [UInt8]) -> Int64 {
        var checksum = RowChecksum()
        for part in [index.zone.database.rawValue, index.zone.zone, index.index] + parts { checksum.add(part) }
        checksum.add(key)
        checksum.add(name.utf8)
        return Int64(Checksum.crc32c(content, seed: Checksum.crc32c(checksum.bytes)))
    }
}
