import CNacreMicroHTTPD
import Glibc

/// Copies a request's headers and checks what libmicrohttpd 0.9.75 lets through.
///
/// It refuses: a header name that is no token, control characters in values, Content-Length beside Transfer-Encoding, more than one of either,
/// a length that is no number, a transfer coding that we do not read, an HTTP/1.1 request without exactly one Host, another HTTP version,
/// a target that is neither a path nor an absolute URL.
///
/// What libmicrohttpd hides, so that no code here can refuse it: a bare CR or LF that ended a line, a header line that was folded
/// (it arrives joined), a NUL and what follows it in the target or a value, white space around the parts of the request line, and the trailers
/// of a chunked body (they are dropped). It answers by itself, without our middleware, a request line or header that does not fit its memory
/// (414, 431), and a request line or chunk that does not parse (400). `Exchange.refuseHead` answers in its place HTTP/1.1 without any Host and a
/// length that is no number or too large.
struct HeadReader {
    private(set) var bytes: [UInt8]
    private(set) var fields: [RequestHead.Field] = []
    private(set) var problem: HTTPError?
    /// The declared length of the body; nil where there is none or it is chunked.
    private(set) var contentLength: Int?
    private(set) var isChunked = false
    private(set) var expectsContinue = false
    /// The client knows chunks.
    private(set) var isNewest = false
    private let targetLength: Int
    private var hostCount = 0

    init(target: [UInt8]) {
        bytes = target
        targetLength = target.count
    }

    /// Reads all headers of a connection whose headers are complete.
    mutating func read(_ connection: OpaquePointer, version: UnsafePointer<CChar>?) {
        fields.reserveCapacity(16)
        withUnsafeMutablePointer(to: &self) { reader in
            _ = MHD_get_connection_values_n(
                connection, .HEADER_KIND,
                { context, _, name, nameLength, value, valueLength in
                    guard let reader = context?.assumingMemoryBound(to: HeadReader.self) else { return .NO }
                    reader.pointee.add(
                        UnsafeRawBufferPointer(start: name, count: nameLength), UnsafeRawBufferPointer(start: value, count: valueLength))
                    return .YES
                }, reader)
        }
        checkTarget()
        checkVersion(version)
        if isChunked, contentLength != nil { refuse("Content-Length and Transfer-Encoding exclude each other.") }
    }

    private mutating func add(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) {
        guard !name.isEmpty, name.allSatisfy(isTokenByte) else { return refuse("A header name is malformed.") }
        guard value.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }) else { return refuse("A header value has a control character.") }
        let start = Int32(bytes.count)
        bytes.append(contentsOf: name)
        let middle = Int32(bytes.count)
        bytes.append(contentsOf: value)
        fields.append(RequestHead.Field(name: start..<middle, value: middle..<Int32(bytes.count)))
        switch name.count {
        case 4: if equalIgnoringCase(name, "host".utf8) { hostCount += 1 }
        case 6: if equalIgnoringCase(name, "expect".utf8) { expectsContinue = equalIgnoringCase(value, "100-continue".utf8) }
        case 14: if equalIgnoringCase(name, "content-length".utf8) { readLength(value) }
        case 17: if equalIgnoringCase(name, "transfer-encoding".utf8) { readCoding(value) }
        default: break
        }
    }

    private mutating func readLength(_ value: UnsafeRawBufferPointer) {
        guard contentLength == nil, !value.isEmpty, value.allSatisfy({ $0 &- 0x30 < 10 }) else { return refuse("Content-Length is malformed.") }
        // 18 digits are more than any body and never overflow.
        guard value.count <= 18 else {
            if problem == nil { problem = .bodyTooLarge }
            return
        }
        contentLength = value.reduce(0) { $0 * 10 + Int($1 &- 0x30) }
    }

    private mutating func readCoding(_ value: UnsafeRawBufferPointer) {
        guard !isChunked else { return refuse("Transfer-Encoding is malformed.") }
        isChunked = true
        if !equalIgnoringCase(value, "chunked".utf8), problem == nil {
            problem = HTTPError(.notImplemented, "The transfer coding is not known.")
        }
    }

    private mutating func checkTarget() {
        guard bytes.first != UInt8(ascii: "/") else { return }
        let isAsterisk = targetLength == 1 && bytes.first == UInt8(ascii: "*")
        let text = String(decoding: bytes[..<min(targetLength, 8)], as: UTF8.self).lowercased()
        guard isAsterisk || text.hasPrefix("http://") || text == "https://" else { return refuse("The target is malformed.") }
    }

    private mutating func checkVersion(_ version: UnsafePointer<CChar>?) {
        guard let version else { return refuse("The HTTP version is malformed.") }
        isNewest = strcmp(version, MHD_HTTP_VERSION_1_1) == 0
        guard isNewest || strcmp(version, MHD_HTTP_VERSION_1_0) == 0 else {
            problem = HTTPError(.versionNotSupported, "The HTTP version is not supported.")
            return
        }
        if !isNewest, isChunked { refuse("Transfer-Encoding needs HTTP/1.1.") }
        if hostCount > 1 || (hostCount == 0 && isNewest) { refuse("A request has one Host.") }
    }

    private mutating func refuse(_ reason: String) {
        if problem == nil { problem = HTTPError(.badRequest, reason) }
    }

    /// The head, with an absolute target reduced to its path (RFC 9112 §3.2.2).
    func head(method: HTTPMethod) -> RequestHead {
        guard bytes.first != UInt8(ascii: "/"), problem == nil, targetLength > 1 else {
            return RequestHead(method: method, bytes: bytes, targetLength: targetLength, fields: fields)
        }
        let afterScheme = bytes[..<targetLength].dropFirst(bytes[4] == UInt8(ascii: ":") ? 7 : 8)
        let path = afterScheme.drop { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") }
        let target = (path.first == UInt8(ascii: "/") ? [] : [UInt8(ascii: "/")]) + path
        let moved = Int32(target.count - targetLength)
        let movedFields = fields.map { field in
            RequestHead.Field(
                name: field.name.lowerBound + moved..<field.name.upperBound + moved,
                value: field.value.lowerBound + moved..<field.value.upperBound + moved)
        }
        return RequestHead(method: method, bytes: target + bytes[targetLength...], targetLength: target.count, fields: movedFields)
    }
}
