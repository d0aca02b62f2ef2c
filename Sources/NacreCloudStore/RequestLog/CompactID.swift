/// The bytes in which the request log keeps an ID: 16 for a UUID in lower or upper case, otherwise its text.
enum CompactID {
    private static let lower: UInt8 = 0
    private static let upper: UInt8 = 1

    static func bytes(of text: String) -> [UInt8] {
        var text = text
        return text.withUTF8 { utf8 in uuid(utf8) ?? [UInt8](utf8) }
    }

    /// Returns 17 bytes, the first of which says the case: an ID of 16 characters is a text. nil for other texts.
    private static func uuid(_ utf8: UnsafeBufferPointer<UInt8>) -> [UInt8]? {
        guard utf8.count == 36 else { return nil }
        var (high, hasLower, hasUpper, isUUID) = (UInt8(0), false, false, true)
        let bytes = [UInt8](unsafeUninitializedCapacity: 17) { bytes, count in
            count = 1
            var isSecond = false
            for (index, character) in utf8.enumerated() {
                if index == 8 || index == 13 || index == 18 || index == 23 {
                    if character != UInt8(ascii: "-") { isUUID = false }
                    continue
                }
                let digit: UInt8
                switch character {
                case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = character - UInt8(ascii: "0")
                case UInt8(ascii: "a")...UInt8(ascii: "f"): (digit, hasLower) = (character - UInt8(ascii: "a") + 10, true)
                case UInt8(ascii: "A")...UInt8(ascii: "F"): (digit, hasUpper) = (character - UInt8(ascii: "A") + 10, true)
                default: (digit, isUUID) = (0, false)
                }
                if isSecond {
                    bytes[count] = high << 4 | digit
                    count += 1
                } else {
                    high = digit
                }
                isSecond.toggle()
            }
            bytes[0] = hasUpper ? upper : lower
        }
        return isUUID && !(hasLower && hasUpper) ? bytes : nil
    }

    static func text(of bytes: [UInt8]) -> String {
        guard bytes.count == 17, let first = bytes.first, first == lower || first == upper else { return String(decoding: bytes, as: UTF8.self) }
        let letters = Array((first == lower ? "0123456789abcdef" : "0123456789ABCDEF").utf8)
        var text: [UInt8] = []
        for (index, byte) in bytes.dropFirst().enumerated() {
            if [4, 6, 8, 10].contains(index) { text.append(UInt8(ascii: "-")) }
            text.append(letters[Int(byte >> 4)])
            text.append(letters[Int(byte & 15)])
        }
        return String(decoding: text, as: UTF8.self)
    }
}
