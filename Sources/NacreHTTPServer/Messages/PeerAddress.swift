import CNacreSockets
import Glibc

/// The other end of a socket, as a numeric address without its port; empty if there is none. It is made once a
/// connection.
struct PeerAddress: Sendable {
    let text: String

    init() { text = "" }

    init(_ pointer: UnsafePointer<sockaddr>?) {
        guard let pointer else {
            text = ""
            return
        }
        let raw = UnsafeRawPointer(pointer)
        switch Int32(pointer.pointee.sa_family) {
        case AF_INET:
            text = Self.numeric(AF_INET, raw.loadUnaligned(fromByteOffset: 4, as: UInt32.self))
        case AF_INET6:
            let high = raw.loadUnaligned(fromByteOffset: 8, as: UInt64.self)
            let low = raw.loadUnaligned(fromByteOffset: 16, as: UInt64.self)
            // A dual-stack socket shows IPv4 as ::ffff:a.b.c.d (RFC 4291 §2.5.5.2); people and allow-lists write
            // a.b.c.d.
            let isMapped = high == 0 && UInt32(truncatingIfNeeded: low) == UInt32(bigEndian: 0xFFFF)
            text = isMapped ? Self.numeric(AF_INET, UInt32(truncatingIfNeeded: low >> 32)) : Self.numeric(AF_INET6, (high, low))
        default:
            text = ""
        }
    }

    /// - Parameter bits: The bytes of the address, in network order.
    private static func numeric<Bits: BitwiseCopyable>(_ family: Int32, _ bits: Bits) -> String {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        guard withUnsafeBytes(of: bits, { inet_ntop(family, $0.baseAddress, &text, socklen_t(text.count)) }) != nil else { return "" }
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
