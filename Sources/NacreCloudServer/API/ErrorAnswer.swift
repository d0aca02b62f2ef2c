import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudServerWire
import NacreCloudStorage
import NacreCloudWire
import NacreHTTPServer
import NacreTelemetry

/// The container, environment and database that a path names, whether or not they exist; empty where it names none.
/// Other paths yield nothing, because the URL of a file is a credential.
struct RequestTarget {
    let container: String
    let environment: String
    let database: String
    /// The operation after the database, such as `records/modify`.
    let operation: String

    var isPublic: Bool { database == DatabaseKey.Scope.public.rawValue }

    init(_ request: HTTPRequest) {
        func segment(_ index: Int) -> String { index < request.segmentCount ? (try? request.segment(index)) ?? "" : "" }
        let isDatabase = request.segmentCount > 3 && API.databaseRoots.contains(segment(0))
        container = isDatabase ? segment(2) : ""
        environment = isDatabase ? segment(3) : ""
        database = isDatabase ? segment(4) : ""
        // Without a route the rest of the path may be anything.
        operation = isDatabase && request.route != nil ? (try? request.path(fromSegment: 5)) ?? "" : ""
    }
}

/// Turns any error into CloudKit's error dictionary. What the client is not told goes into the log.
struct ErrorAnswer: Sendable {
    let logger: Logger
    var signIn = SignInAddress(publicURL: nil)

    func response(to error: any Error, _ request: HTTPRequest) -> HTTPResponse {
        if let detailed = error as? DetailedError {
            return response(detailed.error, request, details: detailed.wantsDetails)
        }
        // The framework asks for details in its body; if that was not read, its bearer token tells.
        return response(error, request, details: Authenticator.bearer(request) != nil)
    }

    /// The error dictionary with its status, and with `Retry-After` if the error has one.
    private func response(_ cause: any Error, _ request: HTTPRequest, details: Bool) -> HTTPResponse {
        var error = heard(cause, request)
        if error.code == .authenticationRequired { error.redirectURL = signIn.url(for: request) }
        let http = cause as? HTTPError
        let answer = ErrorResponse(uuid: request.id, error: error)
        var response = HTTPResponse.json(
            answer.json(AnswerForm(details: details)), status: http?.status ?? HTTPStatus(rawValue: error.code.status))
        for (name, value) in http?.headers ?? [:] { response.headers.add(name, value) }
        if let seconds = error.retryAfter, response.headers["Retry-After"] == nil { response.headers["Retry-After"] = String(seconds) }
        if let remedy = error.remedy { response.headers["X-Nacre-Remedy"] = Self.onOneLine(remedy) }
        response.headers["X-Nacre-Help"] = ErrorsPage.place(of: error.code)
        if error == .originRefused { response.headers.addItem("Vary", "Origin") }
        return response
    }

    /// The part of an error that a client is told; the log gets the rest.
    func heard(_ cause: any Error, _ request: HTTPRequest) -> ServerError {
        let error = Self.serverError(cause, request)
        WorkMeter.current?.note { $0.refusal = error }
        log(cause, as: error, request)
        logRefusal(error, request)
        return error
    }

    /// A remedy as a header's value: one line of visible ASCII, because it may quote the client. On this server: 500
    /// characters at most.
    private static func onOneLine(_ text: String) -> String {
        String(decoding: text.utf8.prefix(500).map { (0x20..<0x7f).contains($0) ? $0 : UInt8(ascii: "?") }, as: UTF8.self)
    }

    /// Logs why a request was refused.
    private func logRefusal(_ error: ServerError, _ request: HTTPRequest) {
        guard error.code != .internalError, error.code != .tryAgainLater else { return }
        logRefusal("A request was refused", error, request)
    }

    /// Tells why items of a request were refused although its answer has status 200. The log has the first refusal and
    /// their number. The answer's headers have the item and the field at fault, and the remedy.
    func tell(_ items: [RefusedItem], in response: inout HTTPResponse, _ request: HTTPRequest) {
        // Skip ATOMIC_ERROR: it only repeats that another item failed.
        guard let first = items.first(where: { $0.error.code != .atomicError }) ?? items.first else { return }
        WorkMeter.current?.note { facts in
            facts.refusal = first.error
            for item in items { facts.refusedItems[item.error.code, default: 0] += 1 }
        }
        logRefusal("Items of a request were refused", first.error, request, count: items.count)
        response.headers["X-Nacre-Help"] = ErrorsPage.place(of: first.error.code)
        let told = [first.error.field.map { "field '\($0)'" }, first.error.remedy].compactMap(\.self)
        guard !told.isEmpty else { return }
        response.headers["X-Nacre-Remedy"] = Self.onOneLine(([first.name].compactMap(\.self) + told).joined(separator: ": "))
    }

    /// Logs at `notice` in development, where the developer reads along, and at `info` elsewhere.
    private func logRefusal(_ message: StaticString, _ error: ServerError, _ request: HTTPRequest, count: Int = 1) {
        let target = RequestTarget(request)
        let isPublic = target.isPublic
        logger.log(
            target.environment == DatabaseKey.Environment.development.rawValue ? .notice : .info, message,
            [
                .requestID: .string(request.id), .code: .string(error.code.rawValue),
                .reason: .string(RefusalText.shown(error.reason, inPublic: isPublic)),
                .remedy: .string(RefusalText.shown(error.remedy ?? "", inPublic: isPublic)), .name: .string(RefusalText.field(error.field ?? "")),
                .count: .int(count), .route: .string(request.route ?? "none"), .operation: .string(target.operation),
                .container: .string(target.container), .environment: .string(target.environment), .database: .string(target.database),
                .zone: .string(RefusalText.zone(WorkMeter.current?.facts.zone, inPublic: isPublic)),
                .user: .string(request.ledger.userName ?? ""),
            ])
    }

    /// The error as the client sees it. Causes that a client need not know become `internalError` and stand in the log.
    private static func serverError(_ error: any Error, _ request: HTTPRequest) -> ServerError {
        switch error {
        case let error as ServerError: error
        case let error as StoreError: ServerError(error)
        case let error as HTTPError: ServerError(error, request)
        default: .internalError
        }
    }

    /// Logs an error that is the server's own: it failed, or it cannot answer now.
    private func log(_ cause: any Error, as error: ServerError, _ request: HTTPRequest) {
        guard error.code == .internalError || error.code == .tryAgainLater else { return }
        let text: String
        switch cause {
        case let cause as StoreError:
            let values = cause.values.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
            text = ([cause.text] + values).joined(separator: ", ")
        case let cause as ServerError: text = cause.reason
        case let cause as HTTPError: text = cause.reason
        default: text = String(reflecting: cause)
        }
        logger.log(
            error.code == .internalError ? .error : .warning, "A request failed",
            [.requestID: .string(request.id), .code: .string(error.code.rawValue), .error: .string(text)])
    }
}

extension ServerError {
    /// Converts the HTTP server's own refusals, with CloudKit's texts where those were seen.
    init(_ error: HTTPError, _ request: HTTPRequest) {
        switch error.status {
        case .notFound:
            self.init(.notFound, "could not find handler for endpoint", native: .serverRejectedRequest, remedy: "Check the path and its version.")
        case .methodNotAllowed:
            self.init(.badRequest, "method not allowed", native: .serverRejectedRequest, remedy: "The header Allow lists what the path takes.")
        case .contentTooLarge:
            self.init(
                .badRequest, "request body is too large", native: .limitExceeded,
                remedy: "Split the request; a body may take \(Limits.bodyBytes >> 20) MB.")
        case .serviceUnavailable:
            self.init(.tryAgainLater, "The server is busy", retryAfter: error.headers["Retry-After"].flatMap { Int($0) } ?? 1)
        case let status where (400..<500).contains(status.rawValue) || status == .notImplemented || status == .versionNotSupported:
            self.init(.badRequest, error.reason, native: .serverRejectedRequest)
        default:
            self = .internalError
        }
    }
}
