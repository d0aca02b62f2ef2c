import FoundationEssentials
import Glibc

/// The process that listens on a port of this machine, if the kernel tells this user: only root can read `/proc` of
/// other users' processes.
struct PortHolder {
    let port: Int
    let pid: Int
    let name: String

    var text: String { "\(name), process \(pid)" }

    /// The holder of the first of these ports that is taken. Reads the descriptors of every process, so it is for a
    /// failed start only.
    static func first(of ports: [Int]) -> PortHolder? {
        for port in ports {
            let held = Set(["tcp", "tcp6"].flatMap { Self.sockets(listeningOn: port, in: text("/proc/net/\($0)")) }.map { "socket:[\($0)]" })
            guard !held.isEmpty else { continue }
            for pid in names("/proc").compactMap(Int.init) {
                let holds = names("/proc/\(pid)/fd").contains { descriptor in
                    (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(pid)/fd/\(descriptor)")).map { held.contains($0) } ?? false
                }
                guard holds else { continue }
                let name = text("/proc/\(pid)/comm").filter { !$0.isNewline }
                return PortHolder(port: port, pid: pid, name: name.isEmpty ? "a program" : name)
            }
        }
        return nil
    }

    /// The inodes of listening sockets in the kernel's table (proc_net_tcp.txt). The second column ends in the port,
    /// the fourth is 0A, the tenth is the inode.
    static func sockets(listeningOn port: Int, in table: String) -> [Substring] {
        table.split(separator: "\n").dropFirst().compactMap { line in
            let columns = line.split(separator: " ")
            guard columns.count > 9, columns[3] == "0A", let colon = columns[1].lastIndex(of: ":") else { return nil }
            return Int(columns[1][columns[1].index(after: colon)...], radix: 16) == port ? columns[9] : nil
        }
    }

    private static func names(_ folder: String) -> [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    }

    /// The text of a file of the kernel. It comes in pieces, and its size is 0: Foundation would read only one piece.
    private static func text(_ path: String) -> String {
        guard let file = fopen(path, "re") else { return "" }
        defer { fclose(file) }
        var (bytes, piece) = ([UInt8](), [UInt8](repeating: 0, count: 64 * 1024))
        while case let count = fread(&piece, 1, piece.count, file), count > 0 { bytes += piece.prefix(count) }
        return String(decoding: bytes, as: UTF8.self)
    }
}
