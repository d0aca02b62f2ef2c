import CNacreMicroHTTPD
import Glibc

/// The text of a response that is written past libmicrohttpd: because it takes none while a body arrives, or because it is long done with the connection.
enum EarlyAnswer {
    /// More does not surely fit an empty socket buffer in one call.
    private static let bytesMax = 16 * 1024

    /// Nil for a response that has no simple body or is too long.
    static func text(_ response: PreparedResponse, isHead: Bool) -> [UInt8]? {
        var body: [UInt8] = []
        switch response.body {
        case .none: break
        case .bytes(let bytes): body = bytes
        case .file, .content, .stream: return nil
        }
        guard var bytes = head(of: response, framing: "Content-Length: \(body.count)") else { return nil }
        if !isHead, response.status.mayHaveBody { bytes += body }
        return bytes.count <= bytesMax ? bytes : nil
    }

    /// The head of a response after which the connection closes; nil where one of its headers is not safe.
    static func head(of response: PreparedResponse, framing: String) -> [UInt8]? {
        let reason = MHD_get_reason_phrase_for(UInt32(response.status.rawValue)).map { String(cString: $0) } ?? ""
        var text = "HTTP/1.1 \(response.status.rawValue) \(reason)\r\nDate: \(date)\r\nConnection: close\r\n\(framing)\r\n"
        for (name, value) in response.headers where !ResponseHeader.isOurs(name) {
            guard ResponseHeader.isSafe(name, value) else { return nil }
            text += "\(name): \(value)\r\n"
        }
        return Array((text + "\r\n").utf8)
    }

    /// Now, as RFC 9110 §5.6.7 writes it.
    private static var date: String {
        var seconds = time(nil)
        var parts = tm()
        gmtime_r(&seconds, &parts)
        var text = [CChar](repeating: 0, count: 40)
        let count = strftime(&text, text.count, "%a, %d %b %Y %H:%M:%S GMT", &parts)
        return String(decoding: text.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
