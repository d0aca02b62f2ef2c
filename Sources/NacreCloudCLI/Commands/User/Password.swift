import Glibc

/// Reads passwords from standard input only, without a prompt: every process can read a command line.
enum Password {
    /// Bytes read at most. On this server: passwords have at most 1,024, which the server checks itself.
    private static let bytesMax = 4096

    /// Reads all of standard input, except one line feed at its end.
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
