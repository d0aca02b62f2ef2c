import CNacreMicroHTTPD
import Glibc

/// The other end of a socket.
struct PeerAddress: Sendable {
    private enum Address: Sendable {
        case none
        case version4(UInt32)
        case version6(UInt64, UInt64)
    }

    private let address: Address

    init() { address = .none }

    init(_ pointer: UnsafePointer<sockaddr>?) {
        guard let pointer else {
            address = .none
            return
        }
        let raw = UnsafeRawPointer(pointer)
        switch Int32(pointer.pointee.sa_family) {
        case AF_INET:
            address = .version4(raw.loadUnaligned(fromByteOffset: 4, as: UInt32.self))
        case AF_INET6:
            let high = raw.loadUnaligned(fromByteOffset: 8, as: UInt64.self)
            let low = raw.loadUnaligned(fromByteOffset: 16, as: UInt64.self)
            // A dual-stack socket shows IPv4 as ::ffff:a.b.c.d (RFC 4291 §2.5.5.2); people and allow-lists write a.b.c.d.
            let isMapped = high == 0 && UInt32(truncatingIfNeeded: low) == UInt32(bigEndian: 0xFFFF)
            address = isMapped ? .version4(UInt32(truncatingIfNeeded: low >> 32)) : .version6(high, low)
        default:
            address = .none
        }
    }

    var text: String {
        switch address {
        case .none: ""
        case .version4(let bits): withUnsafeBytes(of: bits) { numeric(AF_INET, $0) }
        case .version6(let high, let low): withUnsafeBytes(of: (high, low)) { numeric(AF_INET6, $0) }
        }
    }

    private func numeric(_ family: Int32, _ bits: UnsafeRawBufferPointer) -> String {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        guard inet_ntop(family, bits.baseAddress, &text, socklen_t(text.count)) != nil else { return "" }
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
