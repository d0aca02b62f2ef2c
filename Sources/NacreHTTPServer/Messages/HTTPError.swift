/// An error that knows its response. Thrown by a handler it becomes that response; any other error becomes a 500.
package struct HTTPError: Error, Sendable {
    package let status: HTTPStatus
    /// A static sentence that the client may read. Details belong in the log.
    package let reason: String
    /// The headers that the response must carry, for example `Allow` or `Retry-After`.
    package let headers: HTTPHeaders

    package init(_ status: HTTPStatus, _ reason: String, headers: HTTPHeaders = [:]) {
        self.status = status
        self.reason = reason
        self.headers = headers
    }

    /// 413: the body is larger than the route takes.
    static let bodyTooLarge = HTTPError(.contentTooLarge, "The body is too large.")
    /// 415: the body is compressed, or otherwise coded. `Accept-Encoding` says what is taken (RFC 7694).
    static let bodyCoded = HTTPError(
        .unsupportedMediaType, "The body has a content coding; send it as it is, without Content-Encoding.", headers: ["Accept-Encoding": "identity"])
    /// 503: a limit of the server is reached. The log names the limit.
    static let busy = HTTPError(.serviceUnavailable, "The server is busy.", headers: ["Retry-After": "1"])
    /// 503: the handler did not end in time.
    static let overdue = HTTPError(.serviceUnavailable, "The request took too long.", headers: ["Retry-After": "30"])
    /// 499: the client went away before the request was answered.
    static let clientClosed = HTTPError(.clientClosedRequest, "The client closed the connection.")
}
