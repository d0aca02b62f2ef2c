import Glibc

/// Where other machines of the network reach this one.
enum MachineAddress {
    /// The first IPv4 address of an interface that is up and no loopback; nil: there is none.
    static var onNetwork: String? {
        var first: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&first) == 0 else { return nil }
        defer { freeifaddrs(first) }
        for interface in sequence(first: first, next: { $0?.pointee.ifa_next }).prefix(while: { $0 != nil }) {
            guard let interface = interface?.pointee, let address = interface.ifa_addr, address.pointee.sa_family == sa_family_t(AF_INET),
                interface.ifa_flags & UInt32(IFF_UP) != 0, interface.ifa_flags & UInt32(IFF_LOOPBACK) == 0
            else { continue }
            var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
            let size = socklen_t(MemoryLayout<sockaddr_in>.size)
            guard getnameinfo(address, size, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST) == 0 else { continue }
            return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        }
        return nil
    }
}
