/// The few forms of ASN.1 DER (X.690) that keys and signatures are written in.
enum DER {
    static func sequence(_ parts: [UInt8]...) -> [UInt8] { tagged(0x30, parts.flatMap(\.self)) }

    /// Writes a number that is not negative.
    /// - Parameter bytes: The number, highest byte first.
    static func integer(_ bytes: [UInt8]) -> [UInt8] {
        let digits = bytes.drop { $0 == 0 }
        let isHigh = (digits.first ?? 0) & 0x80 != 0
        return tagged(0x02, digits.isEmpty ? [0] : (isHigh ? [0] : []) + digits)
    }

    static func bits(_ bytes: [UInt8]) -> [UInt8] { tagged(0x03, [0] + bytes) }

    private static func tagged(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        let count = content.count
        if count < 0x80 { return [tag, UInt8(count)] + content }
        if count < 0x100 { return [tag, 0x81, UInt8(count)] + content }
        return [tag, 0x82, UInt8(count >> 8 & 0xff), UInt8(count & 0xff)] + content
    }

    /// Returns the two numbers of a sequence, each as `count` bytes, highest byte first; nil for anything else.
    static func pair(_ sequence: [UInt8], of count: Int) -> [UInt8]? {
        guard sequence.count >= 2, sequence[0] == 0x30, sequence[1] < 0x80, sequence.count == 2 + Int(sequence[1]) else { return nil }
        var rest = sequence[2...]
        guard let first = number(&rest, of: count), let second = number(&rest, of: count), rest.isEmpty else { return nil }
        return first + second
    }

    private static func number(_ rest: inout ArraySlice<UInt8>, of count: Int) -> [UInt8]? {
        guard rest.popFirst() == 0x02, let length = rest.popFirst(), length > 0, length < 0x80, rest.count >= length else { return nil }
        let digits = rest.prefix(Int(length)).drop { $0 == 0 }
        rest = rest.dropFirst(Int(length))
        return digits.count > count ? nil : [UInt8](repeating: 0, count: count - digits.count) + digits
    }
}
