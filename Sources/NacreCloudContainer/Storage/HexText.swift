/// Bytes as hexadecimal digits, lower case.
package enum HexText {
    package static func encode(_ bytes: [UInt8]) -> String { bytes.withUnsafeBufferPointer { encode($0) } }

    /// - Parameter prefix: an ASCII letter that comes first; nil: none.
    package static func encode(_ bytes: UnsafeBufferPointer<UInt8>, prefix: Unicode.Scalar? = nil) -> String {
        let digits: StaticString = "0123456789abcdef"
        let first = prefix == nil ? 0 : 1
        return String(unsafeUninitializedCapacity: first + bytes.count * 2) { buffer in
            if let prefix { buffer[0] = UInt8(ascii: prefix) }
            for place in bytes.indices {
                buffer[first + 2 * place] = digits.utf8Start[Int(bytes[place] >> 4)]
                buffer[first + 2 * place + 1] = digits.utf8Start[Int(bytes[place] & 15)]
            }
            return first + bytes.count * 2
        }
    }

    /// 16 digits.
    package static func encode(_ number: UInt64) -> String {
        encode((0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * UInt64($0))) })
    }

    /// nil for anything that `encode` does not make.
    package static func decode(_ text: some StringProtocol) -> [UInt8]? {
        let digits = Array(text.utf8)
        guard digits.count.isMultiple(of: 2) else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(digits.count / 2)
        for place in stride(from: 0, to: digits.count, by: 2) {
            guard let high = value(of: digits[place]), let low = value(of: digits[place + 1]) else { return nil }
            bytes.append(high << 4 | low)
        }
        return bytes
    }

    /// nil for what is no digit, or one in upper case.
    package static func value(of digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        default: nil
        }
    }
}
