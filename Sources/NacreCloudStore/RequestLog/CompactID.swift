/// The bytes in which the request log keeps an ID: 16 for a UUID in lower or upper case, otherwise its text.
enum CompactID {
    private static let lower: UInt8 = 0
    private static let upper: UInt8 = 1

    static func bytes(of text: String) -> [UInt8] {
        let utf8 = Array(text.utf8)
        guard let uuid = uuid(utf8) else { return utf8 }
        // An ID of 16 characters is a text: a UUID takes 17 bytes, the first of which says its case.
        if self.text(of: [lower] + uuid) == text { return [lower] + uuid }
        if self.text(of: [upper] + uuid) == text { return [upper] + uuid }
        return utf8
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

    private static func uuid(_ utf8: [UInt8]) -> [UInt8]? {
        guard utf8.count == 36 else { return nil }
        let digits = utf8.filter { $0 != UInt8(ascii: "-") }
        guard digits.count == 32 else { return nil }
        var bytes: [UInt8] = []
        for index in stride(from: 0, to: 32, by: 2) {
            guard let high = digit(digits[index]), let low = digit(digits[index + 1]) else { return nil }
            bytes.append(high << 4 | low)
        }
        return bytes
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
