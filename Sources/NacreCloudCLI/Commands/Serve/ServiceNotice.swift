import Glibc

/// Tells systemd, or another service manager, the state of this process (sd_notify(3)).
enum ServiceNotice {
    static func isReady(at url: String) { notifySystem("READY=1\nSTATUS=Serving at \(url)") }

    static func isStopping() { notifySystem("STOPPING=1\nSTATUS=Finishing what is under way") }

    /// Sends a datagram to the socket that `NOTIFY_SOCKET` names, if it is set, without an answer.
    private static func notifySystem(_ state: String) {
        guard let variable = getenv("NOTIFY_SOCKET") else { return }
        var path = Array(String(cString: variable).utf8)
        // An abstract socket address: its first byte is 0.
        if path.first == UInt8(ascii: "@") { path[0] = 0 }
        var address = sockaddr_un()
        guard path.first == 0 || path.first == UInt8(ascii: "/"), path.count < MemoryLayout.size(ofValue: address.sun_path) else { return }
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path) }
        let length = socklen_t(MemoryLayout.offset(of: \sockaddr_un.sun_path) ?? 0) + socklen_t(path.count)
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        let bytes = Array(state.utf8)
        let noSignal = Int32(MSG_NOSIGNAL)
        _ = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { sendto(descriptor, bytes, bytes.count, noSignal, $0, length) }
        }
    }
}
