import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire
import NacreHTTPServer
import NacreTelemetry

/// A request to the public listener that was answered, with all that is known of it.
///
/// Names of private records (in `facts.refusal`), users and zones may be in it: an observer that keeps or shows
/// anything of it decides what. It never holds the target, whose query carries tokens, nor an address. One object goes
/// to all observers, which may keep it for a moment.
final class FinishedRequest: Sendable {
    /// The UUID of the answer.
    let id: String
    /// The route's pattern, such as `/database/1/:container/…`; `none` without one.
    let route: String
    /// The operation of an app's API, such as `records/modify`. It is read off the route, so no client chooses it. nil:
    /// the path is outside apps' APIs, or there is no route.
    let operation: String?
    /// The method, which may be any name.
    let method: String
    let target: RequestTarget
    /// The trace that the client names with `traceparent`.
    let clientTrace: TraceContext?
    let status: Int
    /// The time at which the answer was ready.
    let ended: Timestamp
    /// From the end of the request's head to the answer.
    let duration: Duration
    /// The user record name of the sender; nil if it is no user.
    let user: String?
    /// The kind of client with its version, such as `framework 0.1.0`.
    let client: String
    /// The group of operations that the client names.
    let group: OperationGroupNote?
    /// Bytes of the body, as the client announced them.
    let bytesIn: Int
    /// Bytes of an answer whose length is known before it is sent; 0 for others.
    let bytesOut: Int
    let facts: RequestFacts

    init(_ request: HTTPRequest, _ response: HTTPResponse, _ meter: WorkMeter, ended: Timestamp, took duration: Duration) {
        (id, route, target) = (request.id, request.route ?? "none", RequestTarget(request))
        operation = Self.operation(ofRoute: route)
        method = request.method.rawValue
        clientTrace = TraceContext(parent: request.headerValues("traceparent"), state: request.headerValues("tracestate"))
        (status, self.ended, self.duration) = (response.status.rawValue, ended, duration)
        user = request.ledger.userName
        client = ClientKind(request).text
        group = request.header(OperationGroupNote.header).flatMap(OperationGroupNote.init)
        bytesIn = request.header("Content-Length").flatMap { Int($0) } ?? 0
        bytesOut = if case .bytes(let bytes) = response.body { bytes.count } else { 0 }
        var facts = meter.facts
        // The error of a conflict holds the whole record, which no observer needs.
        facts.refusal?.serverRecord = nil
        self.facts = facts
    }

    static func operation(ofRoute route: String) -> String? {
        if route.hasPrefix(AssetLinks.uploadPath) { return "assets/1/upload" }
        if route.hasPrefix(AssetLinks.downloadPath) { return "assets/1/download" }
        let parts = route.split(separator: "/")
        guard let root = parts.first, parts.count > 2 else { return nil }
        switch root {
        case "account": return "account/" + parts.dropFirst(2).joined(separator: "/")
        case "database", "device":
            let names = parts.dropFirst(2).filter { !$0.hasPrefix(":") }
            return names.isEmpty ? nil : names.joined(separator: "/")
        default: return nil
        }
    }

    /// The bytes of memory that the object takes, about. Texts of the server's own are shared and not counted.
    var bytes: Int {
        var bytes = Self.bytesWithoutTexts
        for text in [
            method, target.container, target.environment, target.database, target.operation, clientTrace?.state, user, group?.id, group?.name,
            facts.zone, facts.operationID, facts.refusal?.reason, facts.refusal?.remedy, facts.refusal?.field,
        ] {
            bytes += text?.utf8.count ?? 0
        }
        return bytes
    }

    private static let bytesWithoutTexts = 512 + MemoryLayout<RequestFacts>.stride

    /// The trace that the client names, or one that begins here with the digits of `id`.
    var trace: TraceContext? { clientTrace ?? TraceContext(beginning: id) }
}

/// A part of the server that learns of each request once it is answered.
protocol RequestObserver: Sendable {
    /// Takes the request's facts. Called on any thread before the answer is sent: it must return at once, must not
    /// block, and must not fail.
    func observe(_ request: FinishedRequest)
}
