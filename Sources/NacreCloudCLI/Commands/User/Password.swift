import Glibc

/// Passwords come over standard input alone: never from the command line, which every process can read, and never asked for.
enum Password {
    /// Bytes read at most. On this server: it takes 1,024, and says so itself.
    private static let bytesMax = 4096

    /// All of standard input but one line feed at its end.
    static func fromInput() throws -> String {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1024)
        while bytes.count <= bytesMax {
            let count = read(STDIN_FILENO, &buffer, buffer.count)
            guard count >= 0 || errno == EINTR else {
                throw CommandFailure(.failure, "standard input cannot be read: \(String(cString: strerror(errno)))")
            }
            if count == 0 { break }
            bytes += buffer.prefix(max(count, 0))
        }
        if bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
        if bytes.last == UInt8(ascii: "\r") { bytes.removeLast() }
        guard let password = String(validating: bytes, as: UTF8.self), !password.isEmpty, bytes.count <= bytesMax else {
            throw CommandFailure(.usage, "standard input holds no password", remedy: "Give it as UTF-8: printf '%s' \"$PASSWORD\" | nacre user …")
        }
        return password
    }
}
