import CNacreSockets
import Glibc

/// The sockets on which the loops listen: one address and port, one socket a loop, so that the kernel spreads the
/// connections.
enum ListenSockets {
    /// The number of connections that wait while a loop is busy. The kernel cuts it to `net.core.somaxconn` (4096).
    private static let backlog: Int32 = 4096
    /// Bytes of an answer that the kernel takes beyond those in flight. On this server: unread bytes stay where they
    /// are counted, and do not take a megabyte of the kernel's memory for each connection.
    private static let unsentBytes: Int32 = 256 * 1024

    /// Binds all sockets. The first one binds without `SO_REUSEPORT`, so that a port which another process serves is
    /// refused and not shared.
    /// - Throws: `ServerStartError`.
    static func open(host: String, port: Int, count: Int) throws -> (sockets: [Int32], port: Int) {
        guard let wanted = UInt16(exactly: port) else { throw ServerStartError(.invalidPort, code: EINVAL) }
        var sockets: [Int32] = []
        do {
            var port = wanted
            for index in 0..<count {
                let (socket, bound) = try bind(host, port, isFirst: index == 0)
                sockets.append(socket)
                port = bound
            }
            for socket in sockets where listen(socket, backlog) != 0 { throw ServerStartError(.listen, code: errno) }
            return (sockets, Int(port))
        } catch {
            for socket in sockets { close(socket) }
            throw error
        }
    }

    private static func bind(_ host: String, _ port: UInt16, isFirst: Bool) throws -> (socket: Int32, port: UInt16) {
        var hints = addrinfo()
        hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var found: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, String(port), &hints, &found) == 0, let address = found else {
            throw ServerStartError(.unknownHost, code: EADDRNOTAVAIL)
        }
        defer { freeaddrinfo(found) }
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let descriptor = socket(address.pointee.ai_family, type, 0)
        guard descriptor >= 0 else { throw ServerStartError(.socket, code: errno) }
        set(descriptor, SOL_SOCKET, SO_REUSEADDR, 1)
        // Accepted sockets inherit the option: an answer is sent in one piece, or says that more follows.
        set(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, 1)
        set(descriptor, Int32(IPPROTO_TCP), TCP_NOTSENT_LOWAT, unsentBytes)
        if address.pointee.ai_family == AF_INET6 { set(descriptor, Int32(IPPROTO_IPV6), IPV6_V6ONLY, 0) }
        if !isFirst { set(descriptor, SOL_SOCKET, SO_REUSEPORT, 1) }
        guard Glibc.bind(descriptor, address.pointee.ai_addr, address.pointee.ai_addrlen) == 0 else {
            let code = errno
            close(descriptor)
            throw ServerStartError(.bind, code: code)
        }
        if isFirst { set(descriptor, SOL_SOCKET, SO_REUSEPORT, 1) }
        return (descriptor, boundPort(descriptor))
    }

    private static func set(_ socket: Int32, _ level: Int32, _ option: Int32, _ value: Int32) {
        var value = value
        setsockopt(socket, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
    }

    private static func boundPort(_ socket: Int32) -> UInt16 {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutablePointer(to: &storage) { storage in
            storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { _ = getsockname(socket, $0, &length) }
            // The port stands at the same offset in both families.
            return UInt16(bigEndian: UnsafeRawPointer(storage).load(fromByteOffset: 2, as: UInt16.self))
        }
    }
}

/// The reason why a server could not start.
package struct ServerStartError: Error, Sendable {
    package enum Step: String, Sendable {
        case invalidPort = "The port is not between 0 and 65535."
        case unknownHost = "The host is no address of this machine."
        case socket = "A socket could not be made."
        case bind = "The address and port could not be bound."
        case listen = "The socket could not listen."
        case loop = "A loop could not start."
        case alreadyStarted = "The server was started before."
    }

    package let step: Step
    /// The `errno` of the call that failed; `EADDRINUSE` if another process has the port.
    package let code: Int32

    init(_ step: Step, code: Int32) {
        self.step = step
        self.code = code
    }
}
