/// A response status. A struct, because the set is open.
package struct HTTPStatus: RawRepresentable, Sendable, Hashable, ExpressibleByIntegerLiteral {
    package let rawValue: Int

    package init(rawValue: Int) { self.rawValue = rawValue }
    package init(integerLiteral value: Int) { rawValue = value }

    package static let ok: HTTPStatus = 200
    package static let created: HTTPStatus = 201
    package static let accepted: HTTPStatus = 202
    package static let noContent: HTTPStatus = 204
    package static let partialContent: HTTPStatus = 206
    package static let movedPermanently: HTTPStatus = 301
    package static let found: HTTPStatus = 302
    package static let seeOther: HTTPStatus = 303
    package static let notModified: HTTPStatus = 304
    package static let badRequest: HTTPStatus = 400
    package static let unauthorized: HTTPStatus = 401
    package static let forbidden: HTTPStatus = 403
    package static let notFound: HTTPStatus = 404
    package static let methodNotAllowed: HTTPStatus = 405
    package static let requestTimeout: HTTPStatus = 408
    package static let conflict: HTTPStatus = 409
    package static let gone: HTTPStatus = 410
    package static let preconditionFailed: HTTPStatus = 412
    package static let contentTooLarge: HTTPStatus = 413
    package static let uriTooLong: HTTPStatus = 414
    package static let unsupportedMediaType: HTTPStatus = 415
    package static let rangeNotSatisfiable: HTTPStatus = 416
    package static let misdirectedRequest: HTTPStatus = 421
    package static let unprocessableContent: HTTPStatus = 422
    package static let tooManyRequests: HTTPStatus = 429
    package static let headersTooLarge: HTTPStatus = 431
    /// nginx's number for a client that went away. No client receives it; metrics and logs tell it from a failure of
    /// the server.
    package static let clientClosedRequest: HTTPStatus = 499
    package static let internalServerError: HTTPStatus = 500
    package static let notImplemented: HTTPStatus = 501
    package static let serviceUnavailable: HTTPStatus = 503
    package static let versionNotSupported: HTTPStatus = 505
    package static let insufficientStorage: HTTPStatus = 507

    /// Whether a response of this status may have a body (RFC 9110 §6.4.1).
    var mayHaveBody: Bool { rawValue >= 200 && rawValue != 204 && rawValue != 304 }

    /// The class of the status, for example `2xx`: the label of metrics.
    var classLabel: String {
        switch rawValue {
        case 200..<300: "2xx"
        case 300..<400: "3xx"
        case 400..<500: "4xx"
        default: "5xx"
        }
    }

    /// The reason phrase on the wire (RFC 9110 §15), which no client reads; empty for a status that has no name here.
    var reason: String {
        switch rawValue {
        case 200: "OK"
        case 201: "Created"
        case 202: "Accepted"
        case 204: "No Content"
        case 206: "Partial Content"
        case 301: "Moved Permanently"
        case 302: "Found"
        case 303: "See Other"
        case 304: "Not Modified"
        case 307: "Temporary Redirect"
        case 308: "Permanent Redirect"
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 408: "Request Timeout"
        case 409: "Conflict"
        case 410: "Gone"
        case 412: "Precondition Failed"
        case 413: "Content Too Large"
        case 414: "URI Too Long"
        case 415: "Unsupported Media Type"
        case 416: "Range Not Satisfiable"
        case 421: "Misdirected Request"
        case 422: "Unprocessable Content"
        case 429: "Too Many Requests"
        case 431: "Request Header Fields Too Large"
        case 500: "Internal Server Error"
        case 501: "Not Implemented"
        case 503: "Service Unavailable"
        case 505: "HTTP Version Not Supported"
        case 507: "Insufficient Storage"
        default: ""
        }
    }
}
