import Glibc

/// The calls that sockets on 127.0.0.1 need. Child processes inherit no descriptor.
package enum LoopbackSocket {
    package static func make(isBlocking: Bool = true) throws -> Int32 {
        let kind = SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | (isBlocking ? 0 : SOCK_NONBLOCK.rawValue)
        let descriptor = socket(AF_INET, Int32(kind), 0)
        guard descriptor >= 0 else { throw POSIXFault(call: "socket", code: errno) }
        return descriptor
    }

    package static func bind(_ descriptor: Int32, _ port: Int) throws {
        let result = withAddress(port) { Glibc.bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
        guard result == 0 else { throw POSIXFault(call: "bind", code: errno) }
    }

    /// Listens on a free port.
    package static func listener(backlog: Int32) throws -> Int32 {
        let descriptor = try make()
        try bind(descriptor, 0)
        guard listen(descriptor, backlog) == 0 else { throw POSIXFault(call: "listen", code: errno) }
        return descriptor
    }

    package static func connect(_ descriptor: Int32, _ port: Int) throws {
        let result = withAddress(port) { Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
        guard result == 0 else { throw POSIXFault(call: "connect", code: errno) }
    }

    package static func port(of descriptor: Int32) -> Int {
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        _ = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
        }
        return Int(UInt16(bigEndian: address.sin_port))
    }

    private static func withAddress(_ port: Int, _ body: (UnsafePointer<sockaddr>) -> Int32) -> Int32 {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(truncatingIfNeeded: port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0) }
        }
    }
}

/// A system call that failed.
package struct POSIXFault: Error {
    package var call: String
    package var code: Int32

    package init(call: String, code: Int32) {
        self.call = call
        self.code = code
    }
}
