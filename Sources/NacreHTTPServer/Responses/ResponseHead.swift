import Glibc

enum ResponseHead {
    /// How the client finds the end of the body.
    enum Framing {
        case length(UInt64)
        case chunked
        /// There is no body, or it ends with the connection.
        case none
    }

    /// The `Connection` header of the response.
    enum Persistence {
        /// The connection stays open, the default of HTTP/1.1: no header.
        case usual
        case closes
        /// The connection stays open for a client of HTTP/1.0 that asked for it.
        case isKept
    }

    private static let usualBytes = 512

    /// Returns the bytes of the head; nil if one of the response's headers would not stay one line.
    static func bytes(of response: PreparedResponse, _ framing: Framing, _ persistence: Persistence, date: [UInt8]) -> [UInt8]? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(usualBytes)
        bytes.append(contentsOf: "HTTP/1.1 ".utf8)
        bytes.append(contentsOf: String(response.status.rawValue).utf8)
        bytes.append(0x20)
        bytes.append(contentsOf: response.status.reason.utf8)
        bytes.append(contentsOf: "\r\nDate: ".utf8)
        bytes.append(contentsOf: date)
        switch persistence {
        case .usual: break
        case .closes: bytes.append(contentsOf: "\r\nConnection: close".utf8)
        case .isKept: bytes.append(contentsOf: "\r\nConnection: Keep-Alive".utf8)
        }
        switch framing {
        case .length(let length):
            bytes.append(contentsOf: "\r\nContent-Length: ".utf8)
            bytes.append(contentsOf: String(length).utf8)
        case .chunked: bytes.append(contentsOf: "\r\nTransfer-Encoding: chunked".utf8)
        case .none: break
        }
        for (name, value) in response.headers where !isOurs(name) {
            guard isSafe(name, value) else { return nil }
            bytes.append(contentsOf: "\r\n".utf8)
            bytes.append(contentsOf: name.utf8)
            bytes.append(contentsOf: ": ".utf8)
            bytes.append(contentsOf: value.utf8)
        }
        bytes.append(contentsOf: "\r\n\r\n".utf8)
        return bytes
    }

    /// Whether the server writes this header itself.
    private static func isOurs(_ name: String) -> Bool {
        switch name.utf8.count {
        case 4: equalIgnoringCase(name, "Date")
        case 10: equalIgnoringCase(name, "Connection") || equalIgnoringCase(name, "Keep-Alive")
        case 14: equalIgnoringCase(name, "Content-Length")
        case 17: equalIgnoringCase(name, "Transfer-Encoding")
        default: false
        }
    }

    /// Whether name and value stay one header line: no control characters in the value, only token bytes in the name.
    private static func isSafe(_ name: String, _ value: String) -> Bool {
        var (name, value) = (name, value)
        return !name.isEmpty && name.withUTF8 { $0.allSatisfy(isTokenByte) } && value.withUTF8 { $0.allSatisfy { $0 >= 0x20 && $0 != 0x7F } }
    }
}

/// The current time in the form of RFC 9110 §5.6.7, made once a second.
struct ResponseDate {
    private var second: time_t = -1
    private var text: [UInt8] = []

    mutating func now() -> [UInt8] {
        var now = time(nil)
        guard now != second else { return text }
        second = now
        var parts = tm()
        gmtime_r(&now, &parts)
        text = [UInt8](unsafeUninitializedCapacity: 40) { buffer, count in
            count = buffer.withMemoryRebound(to: CChar.self) { strftime($0.baseAddress, $0.count, "%a, %d %b %Y %H:%M:%S GMT", &parts) }
        }
        return text
    }
}
