/// Bytes as Base64 text (RFC 4648), one text for each sequence of bytes.
package enum Base64 {
    package enum Alphabet: Sendable, CaseIterable {
        /// `+` and `/`, padded with `=` to a multiple of four characters (RFC 4648 §4).
        case standard
        /// `-` and `_`, never padded, for URLs and headers (RFC 4648 §5).
        case urlSafe
    }

    package static func encode(_ bytes: [UInt8], alphabet: Alphabet) -> String {
        let characters = alphabet.characters
        return String(unsafeUninitializedCapacity: (bytes.count + 2) / 3 * 4) { text in
            characters.withUnsafeBufferPointer { characters in
                bytes.withUnsafeBufferPointer { encode($0, into: text, characters: characters, isPadded: alphabet == .standard) }
            }
        }
    }

    /// Strict: white space, the other alphabet, missing or needless padding, and bits set beyond the last byte all throw `malformedText`.
    /// So two texts that decode to the same bytes are the same text.
    package static func decode(_ text: String, alphabet: Alphabet) throws(CryptoError) -> [UInt8] {
        var text = text
        guard let bytes = text.withUTF8({ decode($0, alphabet: alphabet) }) else { throw CryptoError(.malformedText) }
        return bytes
    }
}

extension Base64.Alphabet {
    private static let standardCharacters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    private static let urlSafeCharacters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
    private static let standardValues = values(of: standardCharacters)
    private static let urlSafeValues = values(of: urlSafeCharacters)

    fileprivate var characters: [UInt8] { self == .standard ? Self.standardCharacters : Self.urlSafeCharacters }

    /// For each byte of text the six bits it stands for, or `invalid`.
    fileprivate var values: [UInt8] { self == .standard ? Self.standardValues : Self.urlSafeValues }

    fileprivate static let invalid: UInt8 = 0xFF

    private static func values(of characters: [UInt8]) -> [UInt8] {
        var values = [UInt8](repeating: invalid, count: 256)
        for (value, character) in characters.enumerated() { values[Int(character)] = UInt8(value) }
        return values
    }
}

extension Base64 {
    private static func encode(
        _ bytes: UnsafeBufferPointer<UInt8>, into text: UnsafeMutableBufferPointer<UInt8>, characters: UnsafeBufferPointer<UInt8>, isPadded: Bool
    ) -> Int {
        var position = 0
        var index = 0
        while index + 3 <= bytes.count {
            let group = UInt32(bytes[index]) << 16 | UInt32(bytes[index + 1]) << 8 | UInt32(bytes[index + 2])
            text[position] = characters[Int(group >> 18)]
            text[position + 1] = characters[Int(group >> 12 & 63)]
            text[position + 2] = characters[Int(group >> 6 & 63)]
            text[position + 3] = characters[Int(group & 63)]
            index += 3
            position += 4
        }
        let left = bytes.count - index
        guard left > 0 else { return position }
        let group = UInt32(bytes[index]) << 16 | (left == 2 ? UInt32(bytes[index + 1]) << 8 : 0)
        text[position] = characters[Int(group >> 18)]
        text[position + 1] = characters[Int(group >> 12 & 63)]
        position += 2
        if left == 2 {
            text[position] = characters[Int(group >> 6 & 63)]
            position += 1
        }
        if isPadded {
            for _ in left..<3 {
                text[position] = UInt8(ascii: "=")
                position += 1
            }
        }
        return position
    }

    private static func decode(_ text: UnsafeBufferPointer<UInt8>, alphabet: Alphabet) -> [UInt8]? {
        var length = text.count
        if alphabet == .standard {
            guard length % 4 == 0 else { return nil }
            if length > 0, text[length - 1] == UInt8(ascii: "=") { length -= 1 }
            if length > 0, length % 4 == 3, text[length - 1] == UInt8(ascii: "=") { length -= 1 }
        }
        guard length % 4 != 1 else { return nil }
        let values = alphabet.values
        var isValid = true
        let bytes = [UInt8](unsafeUninitializedCapacity: length / 4 * 3 + 2) { buffer, count in
            values.withUnsafeBufferPointer { values in
                isValid = decode(UnsafeBufferPointer(rebasing: text[..<length]), into: buffer, count: &count, values: values)
            }
        }
        return isValid ? bytes : nil
    }

    /// Decodes text without padding, whose length is not one more than a multiple of four.
    private static func decode(
        _ text: UnsafeBufferPointer<UInt8>, into buffer: UnsafeMutableBufferPointer<UInt8>, count: inout Int, values: UnsafeBufferPointer<UInt8>
    ) -> Bool {
        var index = 0
        // `invalid` is the only value with a bit above the sixth, so one test at the end finds it wherever it was.
        var seen: UInt8 = 0
        while index + 4 <= text.count {
            let first = values[Int(text[index])]
            let second = values[Int(text[index + 1])]
            let third = values[Int(text[index + 2])]
            let fourth = values[Int(text[index + 3])]
            seen |= first | second | third | fourth
            buffer[count] = first << 2 | second >> 4
            buffer[count + 1] = second << 4 | third >> 2
            buffer[count + 2] = third << 6 | fourth
            index += 4
            count += 3
        }
        let left = text.count - index
        guard left > 0 else { return seen < 64 }
        let first = values[Int(text[index])]
        let second = values[Int(text[index + 1])]
        let third = left == 3 ? values[Int(text[index + 2])] : 0
        seen |= first | second | third
        buffer[count] = first << 2 | second >> 4
        count += 1
        guard left == 3 else { return seen < 64 && second & 15 == 0 }
        buffer[count] = second << 4 | third >> 2
        count += 1
        return seen < 64 && third & 3 == 0
    }
}
