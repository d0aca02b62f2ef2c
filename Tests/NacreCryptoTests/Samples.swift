import NacreCrypto

/// The bytes that the hexadecimal text of a test vector stands for; a vector with a typing error gives none, and its test fails.
func bytes(_ hex: String) -> [UInt8] {
    (try? Hex.decode(hex.filter { !$0.isWhitespace })) ?? []
}

/// Random numbers that are the same in every run (SplitMix64), so that a failure can be had again.
struct Seeded: RandomNumberGenerator {
    private var state: UInt64

    init(_ seed: UInt64) {
        state = seed
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    mutating func bytes(_ count: Int) -> [UInt8] {
        (0..<count).map { _ in UInt8(truncatingIfNeeded: next()) }
    }
}

/// Every way to damage a value at one place: each byte with one bit changed, each shorter beginning, and one byte more at either end.
func damaged(_ value: [UInt8]) -> [[UInt8]] {
    let flipped = value.indices.map { index in
        var copy = value
        copy[index] ^= 1 << UInt8(index % 8)
        return copy
    }
    return flipped + value.indices.map { Array(value[..<$0]) } + [value + [0], [0] + value, Array(value.dropFirst())]
}
