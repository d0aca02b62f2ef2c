import NacreCloudTestSupport

extension SeededRandom {
    mutating func maybe<Value>(_ value: (inout SeededRandom) -> Value) -> Value? {
        chance(2) ? nil : value(&self)
    }

    mutating func list<Value>(upTo count: Int, _ value: (inout SeededRandom) -> Value) -> [Value] {
        (0..<Int.random(in: 0...count, using: &self)).map { _ in value(&self) }
    }

    /// Returns text with all characters that are special in JSON.
    mutating func text(upTo count: Int = 24) -> String {
        let pieces: [Character] = [
            "a", "Z", "0", " ", "/", "\"", "\\", "\n", "\t", "\u{0}", "\u{1F}", "\u{7F}", "\u{8}", "\u{C}", "\r", "é", "ß", "\u{2028}", "語",
            "\u{FFFF}",
            "😀", "\u{10FFFF}", "👩‍👩‍👧", "e\u{301}",
        ]
        var text = ""
        for _ in 0..<Int.random(in: 0...count, using: &self) {
            text.append(chance(3) ? pieces.randomElement(using: &self) ?? "x" : Character(UnicodeScalar(UInt8.random(in: 32..<127, using: &self))))
        }
        return text
    }

    mutating func bytes(upTo count: Int = 40) -> [UInt8] {
        list(upTo: count) { .random(in: 0...255, using: &$0) }
    }

    mutating func integer() -> Int64 {
        switch Int.random(in: 0..<4, using: &self) {
        case 0: [0, 1, -1, .max, .min, 1 << 53, -(1 << 53) - 1].randomElement(using: &self) ?? 0
        case 1: .random(in: -1000...1000, using: &self)
        default: Int64(bitPattern: next() >> UInt64.random(in: 0..<64, using: &self))
        }
    }

    /// Returns any finite double, of any magnitude.
    mutating func double() -> Double {
        if chance(4) {
            return [
                0, -0.0, 1, 0.1, 1e15, 1e16, 1e21, 1e22, 1e23, .leastNonzeroMagnitude, .greatestFiniteMagnitude, -.leastNormalMagnitude, 123456.789,
            ]
            .randomElement(using: &self) ?? 0
        }
        let value = Double(bitPattern: next())
        return value.isFinite ? value : Double(integer())
    }
}
