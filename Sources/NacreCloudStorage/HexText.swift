/// Bytes as hexadecimal digits, lower case.
package enum HexText {
    package static func encode(_ bytes: [UInt8]) -> String { bytes.withUnsafeBufferPointer { encode($0) } }

    /// - Parameter prefix: an ASCII letter that comes first; nil: none.
    package static func encode(_ bytes: UnsafeBufferPointer<UInt8>, prefix: Unicode.Scalar? = nil) -> String {
        String(unsafeUninitializedCapacity: 2 * bytes.count + 1) { encode(bytes, prefix: prefix, into: $0) }
    }

    /// - Parameter target: has room for two digits a byte, and for the prefix.
    /// - Returns: the number of letters written.
    package static func encode(
        _ bytes: UnsafeBufferPointer<UInt8>, prefix: Unicode.Scalar? = nil, into target: UnsafeMutableBufferPointer<UInt8>
    ) -> Int {
        let letters = UnsafeMutableRawBufferPointer(target)
        var count = 0
        if let prefix {
            letters[0] = UInt8(ascii: prefix)
            count = 1
        }
        for byte in bytes {
            // Two digits in the lower halves of two bytes, the first one first. Values above nine become letters.
            let halves = UInt16(byte >> 4) | UInt16(byte & 15) << 8
            let beyondNine = ((halves &+ 0x0606) >> 4 & 0x0101) &* 0x27
            letters.storeBytes(of: (halves &+ 0x3030 &+ beyondNine).littleEndian, toByteOffset: count, as: UInt16.self)
            count += 2
        }
        return count
    }

    /// Returns the 16 digits of a number.
    package static func encode(_ number: UInt64) -> String {
        encode((0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * UInt64($0))) })
    }

    /// Returns the bytes of a text that `encode` makes, nil for any other text.
    package static func decode(_ text: some StringProtocol) -> [UInt8]? {
        var text = String(text)
        return text.withUTF8 { decode($0) }
    }

    private static func decode(_ digits: UnsafeBufferPointer<UInt8>) -> [UInt8]? {
        guard digits.count.isMultiple(of: 2) else { return nil }
        let bytes = [UInt8](unsafeUninitializedCapacity: digits.count / 2) { bytes, count in
            for index in stride(from: 0, to: digits.count, by: 2) {
                guard let high = value(of: digits[index]), let low = value(of: digits[index + 1]) else { return }
                bytes.initializeElement(at: count, to: high << 4 | low)
                count += 1
            }
        }
        return bytes.count == digits.count / 2 ? bytes : nil
    }

    /// Returns the value of a lower-case digit, nil for any other character.
    package static func value(of digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        default: nil
        }
    }
}
