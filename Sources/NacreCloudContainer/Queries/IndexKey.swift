import NacreCloudStorage
package import NacreCloudWire

/// The key of a value in an index. The order of the keys' bytes is the order of the values. Keys are kept in databases:
/// changing one is a migration.
///
/// The empty key means "no value". It comes before all others, and exists only in indexes that sorts use. The first
/// byte of every other key tells what follows.
package enum IndexKey {
    /// The key of a record without a value, in an index that sorts use.
    package static let none: [UInt8] = []
    /// The key of a list without elements: it has a value, but no element to find it by.
    package static let emptyList: [UInt8] = [0x01]
    private static let value: UInt8 = 0x02
    /// The start of the keys of values, and the start of the keys of values and empty lists.
    static let firstValue: [UInt8] = [value]
    static let firstPresent = emptyList

    /// Returns the keys of a value in an index of this type, each once, in no order; none if the value is not of the
    /// type.
    package static func keys(of value: FieldValue, as type: FieldType) -> [[UInt8]] {
        guard type.isList else { return key(of: value, as: type).map { [$0] } ?? [] }
        let elements = value.elements
        if elements.isEmpty { return value.isEmptyList ? [emptyList] : [] }
        return Array(Set(elements.compactMap { key(of: $0, as: type.element) }))
    }

    /// Returns the key of one value that is not a list; nil if the value cannot be of the type.
    package static func key(of value: FieldValue, as type: FieldType) -> [UInt8]? {
        bound(of: value, as: type)?.key
    }

    /// A key, and whether it contains all of the value. Neighbouring values may share a key that does not.
    package struct Bound: Hashable, Sendable {
        package var key: [UInt8]
        package var isExact: Bool
    }

    /// Returns the position of a value among those of a type. Numbers have a position among the other kind of numbers.
    package static func bound(of value: FieldValue, as type: FieldType) -> Bound? {
        switch (value, type) {
        case (.string(let value), .string): text(value.utf8)
        case (.reference(let value), .reference): text(value.recordName.utf8)
        case (.bytes(let value), .bytes): text(value)
        case (.int64(let value), .int64): Bound(key: integer(value), isExact: true)
        case (.double(let value), .double): Bound(key: number(value), isExact: true)
        case (.timestamp(let value), .timestamp): Bound(key: number(value.secondsSince2001), isExact: true)
        case (.int64(let value), .double): Bound(key: number(Double(value)), isExact: Int64(exactly: Double(value)) == value)
        case (.double(let value), .int64): integer(near: value)
        case (.location(let value), .location): Bound(key: GeoKey(GeoPoint(value)).bytes, isExact: true)
        default: nil
        }
    }

    /// Returns the key of a word or any text: its UTF-8, cut at `Limits.indexKeyBytes`. A text of just that length
    /// shares its key with all longer ones.
    package static func text(_ bytes: some Collection<UInt8>) -> Bound {
        let isExact = bytes.count < Limits.indexKeyBytes
        var key: [UInt8] = []
        key.reserveCapacity(1 + min(bytes.count, Limits.indexKeyBytes))
        key.append(value)
        key.append(contentsOf: bytes.prefix(Limits.indexKeyBytes))
        return Bound(key: key, isExact: isExact)
    }

    /// Returns the bytes of a key that `text` made; nil for another.
    static func textBytes(of key: [UInt8]) -> ArraySlice<UInt8>? { key.first == value ? key.dropFirst() : nil }

    /// Returns a key in the order of the numbers: inverts the sign bit, or all bits of negative numbers. -0 becomes 0.
    package static func number(_ number: Double) -> [UInt8] {
        let bits = number == 0 ? 0 : number.bitPattern
        return eight(bits >> 63 == 1 ? ~bits : bits | 1 << 63)
    }

    /// Returns the number of a key that `number` made.
    package static func number(of key: [UInt8]) -> Double? {
        guard key.count == 9 else { return nil }
        let bits = key.dropFirst().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return Double(bitPattern: bits >> 63 == 1 ? bits & ~(1 << 63) : ~bits)
    }

    private static func integer(_ integer: Int64) -> [UInt8] {
        eight(UInt64(bitPattern: integer) ^ 1 << 63)
    }

    /// Returns the greatest integer that is not above the number, or the end of the integers.
    private static func integer(near number: Double) -> Bound {
        if let exact = Int64(exactly: number) { return Bound(key: integer(exact), isExact: true) }
        let floor = number.rounded(.down)
        return Bound(key: integer(Int64(exactly: floor) ?? (floor < 0 ? .min : .max)), isExact: false)
    }

    /// Returns the key of a number of 64 bits, the highest byte first.
    static func eight(_ number: UInt64) -> [UInt8] {
        func byte(_ shift: UInt64) -> UInt8 { UInt8(truncatingIfNeeded: number >> shift) }
        return [value, byte(56), byte(48), byte(40), byte(32), byte(24), byte(16), byte(8), byte(0)]
    }

    /// Returns the first key after this one.
    package static func successor(_ key: [UInt8]) -> [UInt8] { key + [0] }

    /// Returns the first key after all that begin with the prefix; nil: there is none.
    package static func end(ofPrefix prefix: [UInt8]) -> [UInt8]? {
        var end = prefix
        while let last = end.popLast() {
            if last < 0xff { return end + [last + 1] }
        }
        return nil
    }
}

extension FieldType {
    package var isList: Bool { element != self }

    /// The type of a list's elements; for any other type, the type itself.
    package var element: FieldType {
        switch self {
        case .stringList: .string
        case .int64List: .int64
        case .doubleList: .double
        case .timestampList: .timestamp
        case .bytesList: .bytes
        case .locationList: .location
        case .referenceList: .reference
        case .assetList: .asset
        case .string, .int64, .double, .timestamp, .bytes, .location, .reference, .asset: self
        // An empty list without a type: no field has it.
        case .unknownList: .string
        }
    }
}

extension FieldValue {
    /// The elements of a list; empty for a value that is not a list.
    package var elements: [FieldValue] {
        switch self {
        case .stringList(let values): values.map(FieldValue.string)
        case .int64List(let values): values.map(FieldValue.int64)
        case .doubleList(let values): values.map(FieldValue.double)
        case .timestampList(let values): values.map(FieldValue.timestamp)
        case .bytesList(let values): values.map(FieldValue.bytes)
        case .locationList(let values): values.map(FieldValue.location)
        case .referenceList(let values): values.map(FieldValue.reference)
        case .assetList(let values): values.map(FieldValue.asset)
        case .emptyList, .string, .int64, .double, .timestamp, .bytes, .location, .reference, .asset, .sealed: []
        }
    }

    var isEmptyList: Bool {
        if case .sealed = self { return false }
        return type.isList && elements.isEmpty
    }
}
