/// Standard base64 (RFC 4648, section 4) with padding. Line breaks, the URL alphabet and leftover bits are refused.
package enum Base64 {
    /// Returns the bytes of text for `count` bytes of data.
    static func encodedCount(_ count: Int) -> Int { (count + 2) / 3 * 4 }

    private static let alphabet: [UInt8] = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    /// values[byte]: the byte's six bits; 0xFF for a byte outside the alphabet.
    private static let values: [UInt8] = {
        var values = [UInt8](repeating: 0xFF, count: 256)
        for (value, byte) in alphabet.enumerated() { values[Int(byte)] = UInt8(value) }
        return values
    }()
    private static let padding = UInt8(ascii: "=")

    /// Encodes bytes.
    /// - Parameter output: Has room for `encodedCount` bytes.
    static func encode(_ bytes: UnsafeRawBufferPointer, into output: UnsafeMutableRawPointer) {
        alphabet.withUnsafeBufferPointer { alphabet in
            var source = 0
            var target = output.assumingMemoryBound(to: UInt8.self)
            while source + 3 <= bytes.count {
                let group = UInt32(bytes[source]) << 16 | UInt32(bytes[source + 1]) << 8 | UInt32(bytes[source + 2])
                target[0] = alphabet[Int(group >> 18)]
                target[1] = alphabet[Int(group >> 12 & 0x3F)]
                target[2] = alphabet[Int(group >> 6 & 0x3F)]
                target[3] = alphabet[Int(group & 0x3F)]
                source += 3
                target += 4
            }
            let rest = bytes.count - source
            guard rest > 0 else { return }
            let group = UInt32(bytes[source]) << 16 | (rest == 2 ? UInt32(bytes[source + 1]) << 8 : 0)
            target[0] = alphabet[Int(group >> 18)]
            target[1] = alphabet[Int(group >> 12 & 0x3F)]
            target[2] = rest == 2 ? alphabet[Int(group >> 6 & 0x3F)] : padding
            target[3] = padding
        }
    }

    package static func encode(_ bytes: [UInt8]) -> String {
        bytes.withUnsafeBytes { source in
            String(unsafeUninitializedCapacity: encodedCount(source.count)) { output in
                if let start = output.baseAddress { encode(source, into: start) }
                return encodedCount(source.count)
            }
        }
    }

    /// Decodes a text; nil where it is not standard base64.
    package static func decode(_ text: UnsafeRawBufferPointer) -> [UInt8]? {
        guard text.count.isMultiple(of: 4) else { return nil }
        guard text.count > 0 else { return [] }
        let padded = text[text.count - 1] != padding ? 0 : text[text.count - 2] != padding ? 1 : 2
        let groups = text.count / 4 - (padded > 0 ? 1 : 0)
        var isValid = true
        let decoded = [UInt8](unsafeUninitializedCapacity: text.count / 4 * 3) { output, count in
            isValid = values.withUnsafeBufferPointer { decodeGroups(text, groups, into: output, values: $0) }
            count = groups * 3
            guard isValid, padded > 0 else { return }
            guard let tail = decodeTail(text, padded: padded) else {
                isValid = false
                return
            }
            for byte in tail.prefix(3 - padded) {
                output[count] = byte
                count += 1
            }
        }
        return isValid ? decoded : nil
    }

    package static func decode(_ text: String) -> [UInt8]? {
        var text = text
        return text.withUTF8 { decode(UnsafeRawBufferPointer($0)) }
    }

    private static func decodeGroups(
        _ text: UnsafeRawBufferPointer, _ groups: Int, into output: UnsafeMutableBufferPointer<UInt8>, values: UnsafeBufferPointer<UInt8>
    ) -> Bool {
        var seen: UInt8 = 0
        for group in 0..<groups {
            let a = values[Int(text[group * 4])]
            let b = values[Int(text[group * 4 + 1])]
            let c = values[Int(text[group * 4 + 2])]
            let d = values[Int(text[group * 4 + 3])]
            seen |= a | b | c | d
            output[group * 3] = a << 2 | b >> 4
            output[group * 3 + 1] = b << 4 | c >> 2
            output[group * 3 + 2] = c << 6 | d
        }
        return seen < 0x40
    }

    /// Decodes the last group, of which one or two characters are padding: its bytes, with zeros for the missing
    /// ones.
    private static func decodeTail(_ text: UnsafeRawBufferPointer, padded: Int) -> [UInt8]? {
        let start = text.count - 4
        let a = values[Int(text[start])]
        let b = values[Int(text[start + 1])]
        let c = padded == 1 ? values[Int(text[start + 2])] : 0
        guard (a | b | c) < 0x40 else { return nil }
        guard padded == 1 ? c & 0x03 == 0 : b & 0x0F == 0 else { return nil }
        return [a << 2 | b >> 4, b << 4 | c >> 2, 0]
    }
}
