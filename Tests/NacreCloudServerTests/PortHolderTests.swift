import Glibc
import Testing

@testable import NacreCloudServer

/// Tests of the process that a failed start names as the holder of its port.
@Suite struct PortHolderTests {
    /// Makes a socket of this process that listens on a free port of loopback.
    private func listening() throws -> (socket: Int32, port: Int) {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        try #require(listener >= 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        try withUnsafeMutablePointer(to: &address) { pointer in
            try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                try #require(bind(listener, address, length) == 0 && listen(listener, 1) == 0)
                try #require(getsockname(listener, address, &length) == 0)
            }
        }
        return (listener, Int(UInt16(bigEndian: address.sin_port)))
    }

    @Test func `each of two hundred ports that are listened on has its holder, and a free one has none`() throws {
        // The kernel's table of so many sockets takes several reads.
        let listeners = try (0..<200).map { _ in try listening() }
        defer { for listener in listeners { close(listener.socket) } }
        for port in [listeners.first, listeners[100], listeners.last].compactMap({ $0?.port }) {
            let holder = PortHolder.first(of: [port])
            #expect(holder?.pid == Int(getpid()) && holder?.port == port)
        }
        let free = try listening()
        close(free.socket)
        #expect(PortHolder.first(of: [free.port]) == nil)
    }
}
