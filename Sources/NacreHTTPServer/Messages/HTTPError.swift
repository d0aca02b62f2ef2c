/// An error that knows its response. Thrown by a handler it becomes that response; anything else thrown becomes a 500.
package struct HTTPError: Error, Sendable {
    package let status: HTTPStatus
    /// A static sentence that the client may read. What differs from case to case belongs into the log.
    package let reason: String
    /// Headers that the response must carry, such as `Allow` or `Retry-After`.
    package let headers: HTTPHeaders

    package init(_ status: HTTPStatus, _ reason: String, headers: HTTPHeaders = [:]) {
        self.status = status
        self.reason = reason
        self.headers = headers
    }

    /// The body is larger than the route takes.
    static let bodyTooLarge = HTTPError(.contentTooLarge, "The body is too large.")
    /// The body is compressed, or otherwise coded; `Accept-Encoding` says what is taken (RFC 7694).
    static let bodyCoded = HTTPError(
        .unsupportedMediaType, "The body has a content coding; send it as it is, without Content-Encoding.", headers: ["Accept-Encoding": "identity"])
    /// Something is full. What it is, the operator is told.
    static let busy = HTTPError(.serviceUnavailable, "The server is busy.", headers: ["Retry-After": "1"])
    /// The handler did not come to its end in time.
    static let overdue = HTTPError(.serviceUnavailable, "The request took too long.", headers: ["Retry-After": "30"])
    /// The client went away before the request was answered.
    static let clientClosed = HTTPError(.clientClosedRequest, "The client closed the connection.")
}
