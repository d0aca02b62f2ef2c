import FoundationEssentials
import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire
import NacreHTTPServer
import NacreLocks
import NacreTelemetry

/// Steps that every request passes on its way in and out: its host, the headers of its answer, its cost, and its line
/// in the log.
struct Doorkeeper: Sendable {
    let hosts: ServedHosts
    /// First segments of the paths that hold users' data: pages of any origin may read their answers (CORS), and
    /// nothing may cache them.
    let appRoots: Set<String>
    let errors: ErrorAnswer
    let rates: RequestRates
    let logger: Logger
    /// Parts that learn of each request once it is answered, in this order.
    let observers: [any RequestObserver]
    /// Whether spans of requests are sent.
    private let isTraced: Bool
    private let now: @Sendable () -> Timestamp
    private let refusedHosts = RefusedHosts()

    init(
        hosts: ServedHosts, appRoots: Set<String>, errors: ErrorAnswer, rates: RequestRates, logger: Logger,
        observers: [any RequestObserver] = [], now: @escaping @Sendable () -> Timestamp
    ) {
        (self.hosts, self.appRoots, self.errors, self.rates, self.logger) = (hosts, appRoots, errors, rates, logger)
        (self.observers, self.now) = (observers, now)
        isTraced = observers.contains { $0 is TraceExporter }
    }

    /// Headers of answers that a page may read, and headers of requests that it may send, beside those that every page
    /// may.
    private static let exposed = [
        "X-Apple-Request-UUID", "X-Request-Id", "X-Apple-CloudKit-Web-Auth-Token", "Retry-After", "X-Nacre-Remedy", "X-Nacre-Help",
        "X-Nacre-Version", PartHeader.offset, PartHeader.complete, "ETag", "Content-Range",
    ].joined(separator: ", ")
    private static let allowed = [
        "Content-Type", "Authorization", SignedRequest.keyIDHeader, SignedRequest.dateHeader, SignedRequest.signatureHeader,
        PartHeader.offset, PartHeader.complete, OperationAge.header, OperationGroupNote.header, "Range", "If-Range", "If-None-Match",
        "traceparent", "tracestate",
    ].joined(separator: ", ")

    /// Installs the steps in front of all routes.
    func guardRoutes(of router: inout Router) {
        router.use { request, next in
            let start = ContinuousClock.now
            let meter = WorkMeter(requestID: request.id, operation: request.route ?? "")
            meter.add(bytes: request.headBytes)
            var response = await WorkMeter.$current.withValue(meter) { isAnswered(request) ? await next(request) : refuseHost(of: request) }
            addHeaders(to: &response, request)
            charge(meter, for: response, to: request)
            finish(request, response, meter, took: ContinuousClock.now - start)
            return response
        }
        router.onError = { error, request in missingPage(error, request) ?? errors.response(to: error, request) }
        router.onOptions = { request, methods in preflight(request, methods) }
    }

    /// Whether the request's host is served. The paths that tell whether the server lives answer to any name.
    private func isAnswered(_ request: HTTPRequest) -> Bool {
        hosts.serve(request) || Self.openPaths.contains(request.route ?? "")
    }

    private static let openPaths: Set = ["/healthz", "/readyz"]

    private func refuseHost(of request: HTTPRequest) -> HTTPResponse {
        let name = String((request.header("Host") ?? "").prefix(255))
        if refusedHosts.isNew(name) {
            logger.log(
                .notice, "A host is not served here",
                [
                    .host: .string(name), .address: .string(request.clientAddress),
                    .remedy: .string(ServerError.unknownHost.remedy ?? ""),
                ])
        }
        return errors.response(to: ServerError.unknownHost, request)
    }

    /// Whether a page may read the answer. That includes unknown paths under an app's root, so that a page can read its
    /// error, and unreadable paths.
    private func isForApps(_ request: HTTPRequest) -> Bool {
        guard let root = try? request.segment(0) else { return true }
        return appRoots.contains(root)
    }

    /// Adds the headers of every answer. Credentials travel in the query, never in cookies, so a page that has them may
    /// ask from anywhere. An answer that already varies by origin has settled who may read it.
    private func addHeaders(to response: inout HTTPResponse, _ request: HTTPRequest) {
        let id = request.id
        response.headers["X-Apple-Request-UUID"] = id
        response.headers["X-Request-Id"] = id
        response.headers["X-Nacre-Version"] = ServerVersion.current
        if response.headers["Referrer-Policy"] == nil { response.headers["Referrer-Policy"] = "no-referrer" }
        response.headers["X-Content-Type-Options"] = "nosniff"
        guard isForApps(request) else { return }
        response.headers["Cache-Control"] = "no-store"
        guard request.header("Origin") != nil else { return }
        let isSettled = response.headers["Vary"]?.contains("Origin") == true
        if !isSettled { response.headers["Access-Control-Allow-Origin"] = "*" }
        if response.headers["Access-Control-Allow-Origin"] != nil { response.headers["Access-Control-Expose-Headers"] = Self.exposed }
    }

    /// The page for a browser's path that leads nowhere, outside the paths of apps; nil for other errors and clients.
    private func missingPage(_ error: any Error, _ request: HTTPRequest) -> HTTPResponse? {
        guard (error as? HTTPError)?.status == .notFound, request.header("Accept")?.contains("text/html") == true, !isForApps(request) else {
            return nil
        }
        return try? SignInAnswer.page(.notFound, SignInViews.missing)
    }

    private func preflight(_ request: HTTPRequest, _ methods: [HTTPMethod]) -> HTTPResponse {
        let head: [HTTPMethod] = methods.contains(.get) ? [.head] : []
        let allowed = Set(methods + head + [.options]).map(\.rawValue).sorted().joined(separator: ", ")
        var response = HTTPResponse(.ok, headers: ["Allow": allowed])
        guard isForApps(request) else { return response }
        response.headers["Access-Control-Allow-Methods"] = allowed
        response.headers["Access-Control-Allow-Headers"] = Self.allowed
        response.headers["Access-Control-Max-Age"] = "600"
        return response
    }

    /// Charges what no route has charged to the address that asks. Cheap routes check no rate themselves, but their
    /// cost counts here. A refusal for a rate costs nothing: otherwise a client that keeps asking would never be let in
    /// again.
    private func charge(_ meter: WorkMeter, for response: HTTPResponse, to request: HTTPRequest) {
        meter.count(response, to: request)
        guard response.status != .tooManyRequests else { return }
        let payers = rates.payers(of: IPAddress.customer(request.clientAddress))
        rates.take(meter.takeUnpaid(), from: payers)
    }

    /// Logs the request, but never its target, because the query carries tokens. Then tells the observers.
    private func finish(_ request: HTTPRequest, _ response: HTTPResponse, _ meter: WorkMeter, took duration: Duration) {
        // 503 is not logged as an error: the part that is full logs it once, with the remedy.
        let level: LogLevel = response.status.rawValue >= 500 && response.status != .serviceUnavailable ? .error : .info
        guard logger.takes(level) || !observers.isEmpty else { return }
        let finished = FinishedRequest(request, response, meter, ended: now(), took: duration)
        if logger.takes(level) { log(finished, level, request, cost: meter.cost) }
        for observer in observers { observer.observe(finished) }
    }

    private func log(_ finished: FinishedRequest, _ level: LogLevel, _ request: HTTPRequest, cost: Int) {
        var logger = finished.group.map(self.logger.with) ?? self.logger
        // A trace that begins here and is not sent has no ID but the request's.
        if let trace = isTraced ? finished.trace : finished.clientTrace { logger = logger.with(.traceID, .string(trace.traceID)) }
        let milliseconds = Double(finished.duration.components.attoseconds) / 1e15 + Double(finished.duration.components.seconds) * 1000
        logger.log(
            level, "request",
            [
                .requestID: .string(finished.id), .method: .string(request.method.rawValue), .route: .string(finished.route),
                .status: .int(finished.status), .durationMilliseconds: .double((milliseconds * 1000).rounded() / 1000),
                .operation: .string(finished.target.operation), .container: .string(finished.target.container),
                .environment: .string(finished.target.environment), .database: .string(finished.target.database),
                .zone: .string(RefusalText.zone(finished.facts.zone, inPublic: finished.target.isPublic)), .user: .string(finished.user ?? ""),
                .bytes: .int(finished.bytesIn), .answerBytes: .int(finished.bytesOut),
                .cost: .int(cost), .address: .string(request.clientAddress),
            ])
    }
}

extension WorkMeter {
    /// Counts an answer's bytes, and half as many again if it is sent as gzip, because data that hardly shrinks takes
    /// gzip longest.
    func count(_ response: HTTPResponse, to request: HTTPRequest) {
        guard case .bytes(let bytes) = response.body else { return answer(bytes: 0) }
        let isZipped = response.mayCompress && request.header("Accept-Encoding")?.contains("gzip") == true
        answer(bytes: isZipped ? bytes.count * 3 / 2 : bytes.count)
    }
}

extension Logger {
    /// A logger whose lines name the request's operation group, with the values that the group gives.
    fileprivate func with(_ group: OperationGroupNote) -> Logger {
        var logger = with(.groupID, .string(group.id.onOneLine))
        if let name = group.name { logger = logger.with(.group, .string(name.onOneLine)) }
        if group.quantity != 0 { logger = logger.with(.quantity, .int(group.quantity)) }
        if group.sends != .unknown { logger = logger.with(.expectedSend, .string(group.sends.rawValue)) }
        if group.receives != .unknown { logger = logger.with(.expectedReceive, .string(group.receives.rawValue)) }
        return logger
    }
}

/// Refused host names, so that each is logged once. After `most` names no more are logged, because a client is making
/// them up.
private final class RefusedHosts: Sendable {
    private static let most = 20
    private let names = Locked<Set<String>>([])

    func isNew(_ name: String) -> Bool {
        names.withLock { names in names.count < Self.most && names.insert(name).inserted }
    }
}

extension ServerError {
    static let unknownHost = ServerError(
        .accessDenied, "host is not served here", field: "Host",
        remedy: "Start the server with --host and this name, or with --public-url where it is the one for clients; or ask by the address.")
}
