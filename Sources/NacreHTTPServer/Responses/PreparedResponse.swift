/// A response after the server's own work for HTTP: conditions, ranges, compression.
struct PreparedResponse: Sendable {
    enum Body: Sendable {
        case none
        case bytes([UInt8])
        case file(OpenFile, offset: UInt64, length: UInt64)
        case content(HTTPContent, Range<UInt64>)
        case stream(@Sendable (HTTPStreamWriter) async throws -> Void)
    }

    var status: HTTPStatus
    var headers: HTTPHeaders
    var body: Body
    /// Whether the connection ends with this response.
    var closes = false
    /// Whether the body is streamed for long, and mostly waits.
    var isLasting = false
    /// The receipt that reports whether the client has the response.
    var receipt: AnswerReceipt?

    /// The function that writes the body while it is sent; nil if the body exists already.
    var streamed: (@Sendable (HTTPStreamWriter) async throws -> Void)? {
        switch body {
        case .stream(let write): write
        case .content(let content, let range): { try await content.write(range, $0) }
        case .none, .bytes, .file: nil
        }
    }

    /// Prepares a handler's response to a request. Opens files, and compresses, off the loop if the body is large.
    static func preparing(_ response: HTTPResponse, for request: HTTPRequest) async -> PreparedResponse {
        var prepared = PreparedResponse(status: response.status, headers: response.headers, body: .none, receipt: response.receipt)
        switch response.body {
        case .none: break
        case .bytes(let bytes): prepared.body = .bytes(bytes)
        case .stream(let body): (prepared.body, prepared.isLasting) = (.stream(body), response.isLasting)
        case .file(let file): prepared.attach(file)
        case .content(let content): prepared.body = .content(content, 0..<content.length)
        }
        prepared.answerConditions(of: request)
        if response.mayCompress { await prepared.compress(for: request) }
        prepared.dropForbiddenBody()
        return prepared
    }

    private mutating func attach(_ file: HTTPFile) {
        guard let opened = OpenFile(path: file.path), file.offset <= opened.size else {
            self = PreparedResponse(
                status: .notFound, headers: ["Content-Type": "text/plain; charset=utf-8"], body: .bytes(Array("Not found.\n".utf8)))
            return
        }
        let available = opened.size - file.offset
        body = .file(opened, offset: file.offset, length: min(file.length ?? available, available))
        if headers["ETag"] == nil { headers["ETag"] = opened.entityTag }
    }

    private mutating func answerConditions(of request: HTTPRequest) {
        guard status == .ok, request.method == .get || request.method == .head else { return }
        let length: UInt64?
        switch body {
        case .file(_, _, let bytes): length = bytes
        case .content(let content, _): length = content.length
        case .none, .bytes, .stream: length = nil
        }
        let wanted = WantedPart(of: length, tag: headers["ETag"], modified: headers["Last-Modified"], for: request)
        if length != nil, wanted != .unmodified { headers["Accept-Ranges"] = "bytes" }
        switch wanted {
        case .unmodified: status = .notModified
        case .whole: break
        case .behindTheEnd:
            status = .rangeNotSatisfiable
            headers["Content-Range"] = "bytes */\(length ?? 0)"
            headers["Content-Type"] = nil
            body = .none
        case .part(let part):
            status = .partialContent
            headers["Content-Range"] = "bytes \(part.lowerBound)-\(part.upperBound - 1)/\(length ?? 0)"
            switch body {
            case .file(let file, let offset, _):
                body = .file(file, offset: offset + part.lowerBound, length: part.upperBound - part.lowerBound)
            case .content(let content, _): body = .content(content, part)
            case .none, .bytes, .stream: break
            }
        }
    }

    /// Drops the body of a status that has none. A 304 keeps its body up to here: none of it is sent, but its length
    /// is, which must be that of the 200 (RFC 9110 §8.6).
    private mutating func dropForbiddenBody() {
        guard !status.mayHaveBody else { return }
        if status == .notModified {
            switch body {
            case .bytes, .file, .content: return
            case .none, .stream: break
            }
        }
        body = .none
    }

    /// Compresses the body with gzip if the client takes it and it pays. The entity tag becomes weak, because the bytes
    /// differ and the meaning is the same (RFC 9110 §8.8.1).
    private mutating func compress(for request: HTTPRequest) async {
        guard case .bytes(let bytes) = body, bytes.count >= ServerLimits.compressionBytesMin, headers["Content-Encoding"] == nil,
            let type = headers["Content-Type"], Compression.pays(for: type)
        else { return }
        headers.addItem("Vary", "Accept-Encoding")
        guard Compression.isAccepted(request.headerValues("Accept-Encoding")) else { return }
        guard let compressed = await Compression.gzip(bytes), compressed.count < bytes.count else { return }
        body = .bytes(compressed)
        headers["Content-Encoding"] = "gzip"
        if let tag = headers["ETag"], !tag.hasPrefix("W/") { headers["ETag"] = "W/" + tag }
    }
}
