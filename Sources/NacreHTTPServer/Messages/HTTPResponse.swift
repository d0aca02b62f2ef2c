/// The answer of a handler. The server writes `Content-Length`, `Transfer-Encoding`, `Connection` and `Date`, and
/// ignores a handler's.
package struct HTTPResponse: Sendable {
    package var status: HTTPStatus
    package var headers: HTTPHeaders
    package var body: Body
    /// Whether the server may gzip the body for a client that takes it. Turn it off if secrets and client input share a
    /// body.
    package var mayCompress = true
    /// Whether a streamed body goes on for long and mostly waits. It then holds little while it waits, and its
    /// connection closes at its end.
    package var isLasting = false
    /// The receipt that reports whether the client has the answer.
    package var receipt: AnswerReceipt?

    package enum Body: Sendable {
        case none
        case bytes([UInt8])
        /// A file or a part of one, sent by the kernel. It is opened when the response begins; 404 if that fails.
        case file(HTTPFile)
        /// Bytes of a known length that are fetched while they are sent. A client may ask for a part.
        case content(HTTPContent)
        /// Bytes that are made while they are sent, in chunks.
        case stream(@Sendable (HTTPStreamWriter) async throws -> Void)
    }

    package init(_ status: HTTPStatus = .ok, headers: HTTPHeaders = [:], body: Body = .none) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// Returns a response with a text body, in UTF-8.
    package static func text(_ text: String, status: HTTPStatus = .ok) -> HTTPResponse {
        HTTPResponse(status, headers: ["Content-Type": "text/plain; charset=utf-8"], body: .bytes(Array(text.utf8)))
    }

    /// Returns a response whose body is serialized JSON.
    package static func json(_ bytes: [UInt8], status: HTTPStatus = .ok) -> HTTPResponse {
        HTTPResponse(status, headers: ["Content-Type": "application/json; charset=utf-8"], body: .bytes(bytes))
    }

    /// Returns a response with a file as body. With an `ETag` among the headers it answers `If-None-Match` and
    /// `If-Range`.
    package static func file(_ path: String, contentType: String, headers: HTTPHeaders = [:]) -> HTTPResponse {
        var response = HTTPResponse(.ok, headers: headers, body: .file(HTTPFile(path: path)))
        response.headers["Content-Type"] = contentType
        return response
    }

    /// Returns the default response for an error: the reason as text.
    package static func error(_ error: any Error) -> HTTPResponse {
        guard let error = error as? HTTPError else { return .text("The server failed.\n", status: .internalServerError) }
        var response = text(error.reason + "\n", status: error.status)
        for (name, value) in error.headers { response.headers.add(name, value) }
        return response
    }
}

/// A response body of a known length, written while it is sent. No more of it is in memory than the writer buffers,
/// whatever its length. With an `ETag` among the headers the response answers `If-None-Match` and `If-Range`, and
/// ranges as a file does.
package struct HTTPContent: Sendable {
    package var length: UInt64
    /// Writes the bytes of a range. If it throws or writes fewer, the connection ends before the body does.
    package var write: @Sendable (Range<UInt64>, HTTPStreamWriter) async throws -> Void

    package init(length: UInt64, write: @escaping @Sendable (Range<UInt64>, HTTPStreamWriter) async throws -> Void) {
        self.length = length
        self.write = write
    }
}

/// A file, or a part of it, as a response body.
package struct HTTPFile: Sendable {
    package var path: String
    /// The first byte of the body.
    package var offset: UInt64
    /// The number of bytes of the body; nil for all from `offset` on.
    package var length: UInt64?

    package init(path: String, offset: UInt64 = 0, length: UInt64? = nil) {
        self.path = path
        self.offset = offset
        self.length = length
    }
}
