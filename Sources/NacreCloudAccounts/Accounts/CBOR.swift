/// A value in the part of CBOR (RFC 8949) that CTAP2 allows to authenticators: definite lengths, no tags, no fractions.
package indirect enum CBOR: Hashable, Sendable {
    case integer(Int64)
    case bytes([UInt8])
    case text(String)
    case array([CBOR])
    case map([CBOR: CBOR])
    case boolean(Bool)
    case null

    /// Levels of arrays and maps. CTAP 2.1, section 8: "at most four levels of CBOR maps and/or arrays".
    package static let levels = 4

    /// Decodes one value; nil for other bytes, or if bytes are left over. Takes time and memory in proportion to the
    /// bytes, whatever lengths they claim.
    package init?(_ bytes: [UInt8]) {
        var reader = CBORReader(bytes[...])
        guard let value = reader.value(), reader.rest.isEmpty else { return nil }
        self = value
    }

    /// The value under a map's key; nil if there is none, or this is no map.
    package subscript(key: CBOR) -> CBOR? {
        if case .map(let entries) = self { entries[key] } else { nil }
    }

    package var bytes: [UInt8]? { if case .bytes(let bytes) = self { bytes } else { nil } }
}

/// Reads one value after another.
package struct CBORReader {
    package private(set) var rest: ArraySlice<UInt8>

    package init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    /// Reads a value; nil if the bytes do not begin with one, and then `rest` is undefined.
    package mutating func value() -> CBOR? { value(levels: CBOR.levels) }

    private mutating func value(levels: Int) -> CBOR? {
        guard let first = rest.popFirst() else { return nil }
        let (kind, low) = (first >> 5, first & 0x1f)
        if kind == 7 {
            return switch low {
            case 20: .boolean(false)
            case 21: .boolean(true)
            case 22: .null
            default: nil
            }
        }
        guard let number = argument(low) else { return nil }
        switch kind {
        case 0: return .integer(number)
        case 1: return .integer(-1 - number)
        case 2: return bytes(number).map { .bytes(Array($0)) }
        case 3:
            return bytes(number).flatMap { String(validating: $0, as: UTF8.self) }.map { .text($0) }
        case 4: return array(number, levels: levels - 1)
        case 5: return map(number, levels: levels - 1)
        default: return nil
        }
    }

    /// Reads a number or a length, which must be in the fewest bytes that hold it.
    private mutating func argument(_ low: UInt8) -> Int64? {
        guard low > 23 else { return Int64(low) }
        guard low < 28, let bytes = bytes(1 << Int64(low - 24)) else { return nil }
        let number = bytes.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        let least: UInt64 = low == 24 ? 24 : 1 << (UInt64(bytes.count) * 4)
        return number >= least ? Int64(exactly: number) : nil
    }

    private mutating func bytes(_ count: Int64) -> ArraySlice<UInt8>? {
        guard count <= rest.count else { return nil }
        defer { rest = rest.dropFirst(Int(count)) }
        return rest.prefix(Int(count))
    }

    private mutating func array(_ count: Int64, levels: Int) -> CBOR? {
        guard levels >= 0, count <= rest.count else { return nil }
        var values: [CBOR] = []
        for _ in 0..<count {
            guard let value = value(levels: levels) else { return nil }
            values.append(value)
        }
        return .array(values)
    }

    private mutating func map(_ count: Int64, levels: Int) -> CBOR? {
        guard levels >= 0, count <= rest.count / 2 else { return nil }
        var entries: [CBOR: CBOR] = [:]
        for _ in 0..<count {
            guard let key = value(levels: 0), let value = value(levels: levels),
                entries.updateValue(value, forKey: key) == nil
            else { return nil }
        }
        return .map(entries)
    }
}
