/// The few forms of ASN.1 DER (X.690) that keys and signatures are written in.
enum DER {
    static func sequence(_ parts: [UInt8]...) -> [UInt8] { tagged(0x30, parts.flatMap(\.self)) }

    /// A number that is not negative.
    /// - Parameter bytes: the highest first.
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
}
