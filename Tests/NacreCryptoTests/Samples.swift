import NacreCloudTestSupport
import NacreCrypto

/// Decodes the hexadecimal text of a test vector; a vector with a typing error gives no bytes, and its test fails.
func bytes(_ hex: String) -> [UInt8] {
    (try? Hex.decode(hex.filter { !$0.isWhitespace })) ?? []
}

extension SeededRandom {
    mutating func bytes(_ count: Int) -> [UInt8] {
        (0..<count).map { _ in UInt8(truncatingIfNeeded: next()) }
    }
}

/// Returns a value with every damage at one place: each byte with one bit changed, each shorter beginning, and one
/// more byte at either end.
func damaged(_ value: [UInt8]) -> [[UInt8]] {
    let flipped = value.indices.map { index in
        var copy = value
        copy[index] ^= 1 << UInt8(index % 8)
        return copy
    }
    return flipped + value.indices.map { Array(value[..<$0]) } + [value + [0], [0] + value, Array(value.dropFirst())]
}
