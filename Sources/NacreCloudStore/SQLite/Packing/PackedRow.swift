import NacreCloudStorage

struct ZoneIndex: Hashable, Sendable {
    var zone: ZoneAddress
    var index: Int64

    /// A value before all indexes.
    static let first = ZoneIndex(zone: ZoneAddress(database: DatabaseID(rawValue: .min), zone: .min), index: .min)

    func isBefore(_ other: ZoneIndex) -> Bool {
        (zone.database.rawValue, zone.zone, index) < (other.zone.database.rawValue, other.zone.zone, other.index)
    }
}

/// A row of an index: its key, its record's name, and the record's number, which is only a shortcut and may be wrong.
struct PackedRow: Hashable, Sendable {
    var key: [UInt8]
    var name: String
    /// The record's number; 0 if it is not known.
    var id: Int64 = 0

    /// Returns a number below, at or above zero if the row is before, at or after another one.
    func order(to other: PackedRow) -> Int {
        Self.order(key, name, to: other.key, other.name)
    }

    static func order(_ key: [UInt8], _ name: String, to otherKey: [UInt8], _ otherName: String) -> Int {
        let order = ByteOrder.compare(key, otherKey)
        return order != 0 ? order : ByteOrder.compare(name, otherName)
    }
}

/// The bytes of a block: its rows in order. Each key omits the bytes that it shares with the key before, and names that
/// are UUIDs take 16 bytes.
enum RowBlock {
    private static let version: UInt8 = 1

    static func encode(_ rows: ArraySlice<PackedRow>) -> [UInt8] {
        var writer = ByteWriter()
        writer.byte(version)
        writer.number(UInt64(rows.count))
        var last: [UInt8] = []
        for row in rows {
            let shared = zip(last, row.key).prefix { $0 == $1 }.count
            writer.number(UInt64(shared))
            writer.number(UInt64(row.key.count - shared))
            writer.bytes.append(contentsOf: row.key[shared...])
            BlockName.write(row.name, to: &writer)
            writer.number(UInt64(bitPattern: row.id))
            last = row.key
        }
        return writer.bytes
    }

    /// - Throws: `MalformedBytes` for bytes that `encode` does not make.
    static func decode(_ bytes: [UInt8]) throws(MalformedBytes) -> [PackedRow] {
        var reader = ByteReader(bytes)
        guard try reader.byte() == version else { throw MalformedBytes() }
        let count = try reader.count()
        var rows: [PackedRow] = []
        rows.reserveCapacity(count)
        var key: [UInt8] = []
        for _ in 0..<count {
            let shared = try reader.number()
            guard shared <= UInt64(key.count) else { throw MalformedBytes() }
            let rest = try reader.block()
            if Int(shared) != key.count || !rest.isEmpty { key = key[..<Int(shared)] + rest }
            let name = try BlockName.read(from: &reader)
            rows.append(PackedRow(key: key, name: name, id: Int64(bitPattern: try reader.number())))
        }
        guard reader.isAtEnd else { throw MalformedBytes() }
        return rows
    }

    /// Cuts rows into the fewest parts of about `most` bytes, each with about as many rows as the others.
    static func parts(of rows: [PackedRow], most: Int) -> [ArraySlice<PackedRow>] {
        let whole = encode(rows[...]).count
        let count = min((whole + most - 1) / most, rows.count)
        guard count > 1 else { return [rows[...]] }
        return (0..<count).map { rows[($0 * rows.count / count)..<(($0 + 1) * rows.count / count)] }
    }
}

/// A record's name in a block. Generated names are UUIDs, in upper or lower case.
private enum BlockName {
    private static let upper: UInt64 = 0
    private static let lower: UInt64 = 1
    private static let plain: UInt64 = 2
    private static let length = 36

    static func write(_ name: String, to writer: inout ByteWriter) {
        var name = name
        name.withUTF8 { utf8 in
            if let (bytes, isLower) = uuid(utf8) {
                writer.number(isLower ? lower : upper)
                writer.bytes.append(contentsOf: bytes)
            } else {
                writer.number(plain + UInt64(utf8.count))
                writer.bytes.append(contentsOf: utf8)
            }
        }
    }

    static func read(from reader: inout ByteReader) throws(MalformedBytes) -> String {
        let form = try reader.number()
        guard form < plain else { return try reader.slice(form - plain) { String(decoding: $0, as: UTF8.self) } }
        let digits: StaticString = form == lower ? "0123456789abcdef" : "0123456789ABCDEF"
        return try reader.slice(16) { bytes in
            String(unsafeUninitializedCapacity: length) { text in
                var index = 0
                for (number, byte) in bytes.enumerated() {
                    if [4, 6, 8, 10].contains(number) {
                        text[index] = UInt8(ascii: "-")
                        index += 1
                    }
                    text[index] = digits.utf8Start[Int(byte >> 4)]
                    text[index + 1] = digits.utf8Start[Int(byte & 15)]
                    index += 2
                }
                return index
            }
        }
    }

    /// Returns nil for text that `read` would not reproduce.
    private static func uuid(_ text: UnsafeBufferPointer<UInt8>) -> (bytes: [UInt8], isLower: Bool)? {
        guard text.count == length, text[8] == UInt8(ascii: "-") else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(16)
        var (hasLower, hasUpper) = (false, false)
        var high: UInt8?
        for (index, letter) in text.enumerated() {
            if [8, 13, 18, 23].contains(index) {
                guard letter == UInt8(ascii: "-") else { return nil }
                continue
            }
            let isUpper = letter >= UInt8(ascii: "A") && letter <= UInt8(ascii: "F")
            guard let digit = HexText.value(of: isUpper ? letter + 32 : letter) else { return nil }
            hasUpper = hasUpper || isUpper
            hasLower = hasLower || letter >= UInt8(ascii: "a")
            if let first = high {
                bytes.append(first << 4 | digit)
                high = nil
            } else {
                high = digit
            }
        }
        return hasLower && hasUpper ? nil : (bytes, hasLower)
    }
}
