import NacreCloudAccounts
import NacreCloudContainer

extension CBOR {
    /// The value's bytes as authenticators write them; the keys of maps are not sorted.
    package var written: [UInt8] {
        switch self {
        case .integer(let number):
            number < 0 ? Self.head(1, UInt64(-1 - number)) : Self.head(0, UInt64(number))
        case .bytes(let bytes): Self.head(2, UInt64(bytes.count)) + bytes
        case .text(let text): Self.head(3, UInt64(text.utf8.count)) + text.utf8
        case .array(let values): Self.head(4, UInt64(values.count)) + values.flatMap(\.written)
        case .map(let entries):
            Self.head(5, UInt64(entries.count))
                + entries.flatMap { $0.key.written + $0.value.written }
        case .boolean(let value): [value ? 0xf5 : 0xf4]
        case .null: [0xf6]
        }
    }

    private static func head(_ kind: UInt8, _ number: UInt64) -> [UInt8] {
        switch number {
        case ..<24: [kind << 5 | UInt8(number)]
        case ..<(1 << 8): [kind << 5 | 24, UInt8(number)]
        case ..<(1 << 16): [kind << 5 | 25] + big(number, 2)
        case ..<(1 << 32): [kind << 5 | 26] + big(number, 4)
        default: [kind << 5 | 27] + big(number, 8)
        }
    }

    private static func big(_ number: UInt64, _ count: Int) -> [UInt8] {
        (0..<count).reversed().map { UInt8(truncatingIfNeeded: number >> UInt64($0 * 8)) }
    }
}
