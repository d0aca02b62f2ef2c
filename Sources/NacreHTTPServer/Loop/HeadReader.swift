/// Reads the head of a request (RFC 9112), and refuses requests that two readers could understand differently.
///
/// Refused lines: without CR LF at the end; a header over several lines; a header name that is no token or has a space
/// behind it; control characters. Refused requests: Content-Length beside Transfer-Encoding, or more than one of
/// either; a length that is no number; an unknown transfer coding; HTTP/1.1 without exactly one Host; another HTTP
/// version; a target that is neither a path, nor `*`, nor an absolute URL of a host without a user; and anything too
/// large.
struct HeadReader {
    private(set) var bytes: [UInt8] = []
    private(set) var fields: [RequestHead.Field] = []
    private(set) var problem: HTTPError?
    private(set) var method = HTTPMethod(rawValue: "")
    /// The declared length of the body; nil if there is none or it is chunked.
    private(set) var contentLength: Int?
    private(set) var isChunked = false
    private(set) var expectsContinue = false
    /// Whether the request is HTTP/1.1: the client knows chunks.
    private(set) var isNewest = false
    /// Whether the client keeps the connection for another request.
    var isKept: Bool { isNewest ? !saysClose : saysKeepAlive && !saysClose }
    private var saysClose = false
    private var saysKeepAlive = false
    private var targetLength = 0
    private var hostCount = 0

    /// Creates the reader of a head that is not read, because it is too large or its lines do not end properly.
    init(refused problem: HTTPError) {
        self.problem = problem
    }

    /// - Parameter text: The head, with the empty line at its end. Each of its lines ends with CR LF.
    init(_ text: UnsafeRawBufferPointer) {
        guard let lineEnd = text.firstIndex(of: 0x0A).map({ $0 - 1 }) else {
            refuse("The request line is malformed.")
            return
        }
        readLine(UnsafeRawBufferPointer(rebasing: text[..<lineEnd]))
        // Keep the header lines unchanged after the target: names and values are ranges of them and need no copies.
        let moved = bytes.count - lineEnd
        bytes.append(contentsOf: text[lineEnd...])
        fields.reserveCapacity(16)
        var start = lineEnd + 2
        while start < text.count - 2, let end = text[start...].firstIndex(of: 0x0D), text[end + 1] == 0x0A {
            readField(text, start..<end, moved)
            start = end + 2
        }
        if start != text.count - 2 { refuse("A header has a bare carriage return.") }
        checkHosts()
        if isChunked, contentLength != nil { refuse("Content-Length and Transfer-Encoding exclude each other.") }
    }

    private mutating func readLine(_ line: UnsafeRawBufferPointer) {
        guard let methodEnd = line.firstIndex(of: 0x20), methodEnd > 0, let targetEnd = line.lastIndex(of: 0x20), targetEnd > methodEnd + 1,
            line[..<methodEnd].allSatisfy(isTokenByte), line[(methodEnd + 1)..<targetEnd].allSatisfy({ $0 > 0x20 && $0 != 0x7F })
        else { return refuse("The request line is malformed.") }
        method = HTTPMethod(rawValue: String(decoding: line[..<methodEnd], as: UTF8.self))
        let target = line[(methodEnd + 1)..<targetEnd]
        targetLength = target.count
        // Room for the header lines, too.
        bytes.reserveCapacity(target.count + 1024)
        bytes.append(contentsOf: target)
        checkTarget()
        checkVersion(line[(targetEnd + 1)...])
    }

    private mutating func readField(_ text: UnsafeRawBufferPointer, _ line: Range<Int>, _ moved: Int) {
        guard text[line.lowerBound] != 0x20, text[line.lowerBound] != 0x09 else { return refuse("A header is folded over several lines.") }
        guard let colon = text[line].firstIndex(of: UInt8(ascii: ":")), colon > line.lowerBound, text[line.lowerBound..<colon].allSatisfy(isTokenByte)
        else { return refuse("A header name is malformed.") }
        var (start, end) = (colon + 1, line.upperBound)
        while start < end, text[start] == 0x20 || text[start] == 0x09 { start += 1 }
        while end > start, text[end - 1] == 0x20 || text[end - 1] == 0x09 { end -= 1 }
        let name = UnsafeRawBufferPointer(rebasing: text[line.lowerBound..<colon])
        let value = UnsafeRawBufferPointer(rebasing: text[start..<end])
        guard value.allSatisfy(isTextByte) else { return refuse("A header value has a control character.") }
        fields.append(
            RequestHead.Field(
                name: Int32(line.lowerBound + moved)..<Int32(colon + moved), value: Int32(start + moved)..<Int32(end + moved)))
        switch name.count {
        case 4: if equalIgnoringCase(name, "host".utf8) { hostCount += 1 }
        case 6: if equalIgnoringCase(name, "expect".utf8) { expectsContinue = equalIgnoringCase(value, "100-continue".utf8) }
        case 10: if equalIgnoringCase(name, "connection".utf8) { readConnection(value) }
        case 14: if equalIgnoringCase(name, "content-length".utf8) { readLength(value) }
        case 17: if equalIgnoringCase(name, "transfer-encoding".utf8) { readCoding(value) }
        default: break
        }
    }

    private mutating func readConnection(_ value: UnsafeRawBufferPointer) {
        for option in String(decoding: value, as: UTF8.self).split(separator: ",").map(trimmingSpaces) {
            if equalIgnoringCase(option, "close") { saysClose = true }
            if equalIgnoringCase(option, "keep-alive") { saysKeepAlive = true }
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
        if let query = bytes.firstIndex(of: UInt8(ascii: "?")),
            bytes[query...].count(where: { $0 == UInt8(ascii: "&") }) >= ServerLimits.parametersMax
        {
            problem = HTTPError(.uriTooLong, "The query has more than \(ServerLimits.parametersMax) parameters.")
        }
        guard bytes.first != UInt8(ascii: "/") else { return }
        let isAsterisk = targetLength == 1 && bytes.first == UInt8(ascii: "*")
        let text = String(decoding: bytes.prefix(8), as: UTF8.self).lowercased()
        guard isAsterisk || text.hasPrefix("http://") || text == "https://" else { return refuse("The target is malformed.") }
        if isAsterisk { return }
        let authority = absolute.authority
        // RFC 9110 §4.2.4: a user before the host is an error.
        if authority.isEmpty || authority.contains(UInt8(ascii: "@")) { refuse("The target is malformed.") }
    }

    /// The parts of an absolute target behind its scheme.
    private var absolute: (authority: ArraySlice<UInt8>, path: ArraySlice<UInt8>) {
        let afterScheme = bytes[..<targetLength].dropFirst(bytes[4] == UInt8(ascii: ":") ? 7 : 8)
        let authority = afterScheme.prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") }
        return (authority, afterScheme[authority.endIndex...])
    }

    private mutating func checkVersion(_ version: Slice<UnsafeRawBufferPointer>) {
        isNewest = version.elementsEqual("HTTP/1.1".utf8)
        guard !isNewest, !version.elementsEqual("HTTP/1.0".utf8) else { return }
        guard version.count == 8, version.starts(with: "HTTP/".utf8) else { return refuse("The HTTP version is malformed.") }
        problem = HTTPError(.versionNotSupported, "The HTTP version is not supported.")
    }

    private mutating func checkHosts() {
        if !isNewest, isChunked { refuse("Transfer-Encoding needs HTTP/1.1.") }
        if hostCount > 1 || (hostCount == 0 && isNewest) { refuse("A request has one Host.") }
    }

    private mutating func refuse(_ reason: String) {
        if problem == nil { problem = HTTPError(.badRequest, reason) }
    }

    /// Returns the head. An absolute target is reduced to its path, and its host replaces the header `Host` (RFC 9112
    /// §3.2.2).
    func head() -> RequestHead {
        guard bytes.first != UInt8(ascii: "/"), problem == nil, targetLength > 1 else {
            return RequestHead(method: method, bytes: bytes, targetLength: targetLength, fields: fields)
        }
        let (authority, path) = absolute
        let target = (path.first == UInt8(ascii: "/") ? [] : [UInt8(ascii: "/")]) + path
        let name = Array("Host".utf8)
        let (nameEnd, valueEnd) = (target.count + name.count, target.count + name.count + authority.count)
        let host = RequestHead.Field(name: Int32(target.count)..<Int32(nameEnd), value: Int32(nameEnd)..<Int32(valueEnd))
        let moved = Int32(valueEnd - targetLength)
        let others = fields.filter { !equalIgnoringCase(bytes[Int($0.name.lowerBound)..<Int($0.name.upperBound)], "host".utf8) }.map { field in
            RequestHead.Field(
                name: field.name.lowerBound + moved..<field.name.upperBound + moved,
                value: field.value.lowerBound + moved..<field.value.upperBound + moved)
        }
        return RequestHead(
            method: method, bytes: target + name + authority + bytes[targetLength...], targetLength: target.count, fields: [host] + others)
    }
}
