/// What a handler answers. `Content-Length`, `Transfer-Encoding`, `Connection` and `Date` are the server's business: those a handler sets are
/// ignored.
package struct HTTPResponse: Sendable {
    package var status: HTTPStatus
    package var headers: HTTPHeaders
    package var body: Body
    /// Whether the server may send the body gzipped to a client that takes it. Turn it off where secrets and what a client sent share a body.
    package var mayCompress = true
    /// Of a streamed body: it goes on for long and mostly waits. Such a response holds little while it waits, and its connection closes at its end.
    package var isLasting = false
    /// Of a body in memory: hears whether the client has it.
    package var receipt: AnswerReceipt?

    package enum Body: Sendable {
        case none
        case bytes([UInt8])
        /// A file or a part of one, sent by the kernel. Opened when the response begins; 404 where it cannot be.
        case file(HTTPFile)
        /// Bytes of a known length that are fetched while they are sent, or a part of them where the client wants one.
        case content(HTTPContent)
        /// Bytes that are made while they are sent, in chunks.
        case stream(@Sendable (HTTPStreamWriter) async throws -> Void)
    }

    package init(_ status: HTTPStatus = .ok, headers: HTTPHeaders = [:], body: Body = .none) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// A response whose body is text, UTF-8.
    package static func text(_ text: String, status: HTTPStatus = .ok) -> HTTPResponse {
        HTTPResponse(status, headers: ["Content-Type": "text/plain; charset=utf-8"], body: .bytes(Array(text.utf8)))
    }

    /// A response whose body is JSON that is already written.
    package static func json(_ bytes: [UInt8], status: HTTPStatus = .ok) -> HTTPResponse {
        HTTPResponse(status, headers: ["Content-Type": "application/json; charset=utf-8"], body: .bytes(bytes))
    }

    /// A response that is a file. With an `ETag` among the headers it answers `If-None-Match` and `If-Range`.
    package static func file(_ path: String, contentType: String, headers: HTTPHeaders = [:]) -> HTTPResponse {
        var response = HTTPResponse(.ok, headers: headers, body: .file(HTTPFile(path: path)))
        response.headers["Content-Type"] = contentType
        return response
    }

    /// What the hook of a router makes of an error when nobody sets another: the reason as text.
    package static func error(_ error: any Error) -> HTTPResponse {
        guard let error = error as? HTTPError else { return .text("The server failed.\n", status: .internalServerError) }
        var response = text(error.reason + "\n", status: error.status)
        for (name, value) in error.headers { response.headers.add(name, value) }
        return response
    }
}

/// Bytes of a known length as a response body: of them no more lies in memory than the writer lets wait, whatever their length. With an `ETag` among the
/// headers the response answers `If-None-Match` and `If-Range`, and ranges as a file does.
package struct HTTPContent: Sendable {
    package var length: UInt64
    /// Writes the bytes of a range. Where it throws, or writes fewer, the connection ends before the body does.
    package var write: @Sendable (Range<UInt64>, HTTPStreamWriter) async throws -> Void

    package init(length: UInt64, write: @escaping @Sendable (Range<UInt64>, HTTPStreamWriter) async throws -> Void) {
        self.length = length
        self.write = write
    }
}

/// A file, or a part of it, as a response body.
package struct HTTPFile: Sendable {
    package var path: String
    /// The first byte that belongs to the body.
    package var offset: UInt64
    /// How many bytes belong to it; nil for all from `offset` on.
    package var length: UInt64?

    package init(path: String, offset: UInt64 = 0, length: UInt64? = nil) {
        self.path = path
        self.offset = offset
        self.length = length
    }
}
