import FoundationEssentials
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire
import NacreHTTPServer

/// Converts errors of the admin API into answers.
enum AdminProblem {
    static let unauthorized = HTTPError(
        .unauthorized, "The admin API wants the token of the data folder's admin.json, or a management token that is good, as a bearer token.",
        headers: ["WWW-Authenticate": "Bearer"])

    static var encoder: JSONEncoder {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return encoder
    }

    static func response(to error: any Error, of request: HTTPRequest) -> HTTPResponse {
        let fault = serverError(error)
        let status = (error as? HTTPError)?.status.rawValue ?? fault.code.status
        let problem = AdminMessages.Problem(
            title: title(status), status: status, detail: fault.reason, code: fault.code.rawValue, field: fault.field, remedy: fault.remedy,
            requestID: request.id)
        // The problem has only strings and an integer, so encoding it cannot fail.
        let body = (try? encoder.encode(problem)).map { [UInt8]($0) } ?? []
        var response = HTTPResponse(HTTPStatus(rawValue: status), headers: (error as? HTTPError)?.headers ?? [:], body: .bytes(body))
        response.headers["Content-Type"] = AdminMessages.Problem.contentType
        response.headers["Cache-Control"] = "no-store"
        response.headers["X-Request-Id"] = request.id
        if let seconds = fault.retryAfter { response.headers["Retry-After"] = String(seconds) }
        return response
    }

    /// The part of an error that a caller may know: all of a `ServerError`, the reason of an `HTTPError`; for other
    /// errors only that the server failed.
    private static func serverError(_ error: any Error) -> ServerError {
        switch error {
        case let error as ServerError: error
        case let error as StoreError: ServerError(error)
        case let error as HTTPError: ServerError(code(error.status), error.reason)
        default: .internalError
        }
    }

    private static func code(_ status: HTTPStatus) -> ServerErrorCode {
        switch status {
        case .unauthorized: .authenticationFailed
        case .notFound: .notFound
        case .serviceUnavailable: .tryAgainLater
        default: status.rawValue < 500 ? .badRequest : .internalError
        }
    }

    /// The phrase of a status. RFC 9457, 4.2.1: with `about:blank` the title is that phrase.
    private static func title(_ status: Int) -> String {
        switch status {
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 409: "Conflict"
        case 413: "Content Too Large"
        case 422: "Unprocessable Content"
        case 429: "Too Many Requests"
        case 503: "Service Unavailable"
        default: status < 500 ? "Refused" : "Internal Server Error"
        }
    }
}
