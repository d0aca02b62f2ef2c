import CloudContainer
import CloudWire
import HTTPServer

/// Errors as CloudKit's error dictionary, whatever threw them.
enum ErrorAnswer {
    static func response(to error: any Error, _ request: HTTPRequest) -> HTTPResponse {
        if let detailed = error as? DetailedError {
            return response(serverError(detailed.error, request), request, details: detailed.wantsDetails)
        }
        // The framework asks for details in its body; where that was not read, its credential tells.
        return response(serverError(error, request), request, details: Authenticator.bearer(request) != nil, status: (error as? HTTPError))
    }

    /// The error dictionary with its status, and `Retry-After` where there is one.
    private static func response(
        _ error: ServerError, _ request: HTTPRequest, details: Bool, status http: HTTPError? = nil
    ) -> HTTPResponse {
        let answer = ErrorResponse(uuid: request.id, error: error)
        let status = http?.status ?? HTTPStatus(rawValue: error.code.status)
        var response = HTTPResponse.json(answer.json(AnswerForm(details: details)), status: status)
        for (name, value) in http?.headers ?? [:] { response.headers.add(name, value) }
        if let seconds = error.retryAfter, response.headers["Retry-After"] == nil { response.headers["Retry-After"] = String(seconds) }
        return response
    }

    /// What a client hears of an error. What it need not know is `internalError`, and stands in the log.
    static func serverError(_ error: any Error, _ request: HTTPRequest) -> ServerError {
        switch error {
        case let error as ServerError: error
        case let error as StoreError: ServerError(error)
        case let error as HTTPError: ServerError(error, request)
        default: .internalError
        }
    }
}

extension ServerError {
    /// The HTTP server's own refusals, with CloudKit's texts where they were seen.
    init(_ error: HTTPError, _ request: HTTPRequest) {
        switch error.status {
        case .notFound:
            self.init(.notFound, "could not find handler for endpoint", native: .serverRejectedRequest, remedy: "Check the path and its version.")
        case .methodNotAllowed:
            self.init(.badRequest, "method not allowed", native: .serverRejectedRequest, remedy: "The header Allow lists what the path takes.")
        case .contentTooLarge:
            self.init(
                .badRequest, "request body is too large", native: .limitExceeded, remedy: "Split the request; a body may take 8 MB.")
        case .serviceUnavailable:
            self.init(.tryAgainLater, "The server is busy", retryAfter: error.headers["Retry-After"].flatMap { Int($0) } ?? 1)
        case let status where (400..<500).contains(status.rawValue):
            self.init(.badRequest, error.reason, native: .serverRejectedRequest)
        default:
            self = .internalError
        }
    }
}
