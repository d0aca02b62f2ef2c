import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire
import NacreHTTPServer
import NacreLocks
import NacreTelemetry

/// Makes a span of each finished request that the sampler takes, and sends the spans in batches behind the answers.
/// The queue is bounded: a slow or absent collector costs spans, and never slows a request.
final class TraceExporter: RequestObserver {
    /// The time that the last spans have when the server ends.
    private static let lastTimeout: Duration = .seconds(2)

    private let configuration: OpenTelemetryConfiguration
    private let resource: OTLPResource
    private let scheme: String
    private let sender: OTLPSender
    private let clock: ServerClock
    private let queue = Locked<[OTLPSpan]>([])
    /// Fires when a batch is full.
    private let full = Watch()
    private let work = BackgroundWork()

    init(_ configuration: OpenTelemetryConfiguration, _ resource: OTLPResource, scheme: String, _ sender: OTLPSender, clock: ServerClock) {
        (self.configuration, self.resource, self.scheme, self.sender, self.clock) = (configuration, resource, scheme, sender, clock)
    }

    func observe(_ request: FinishedRequest) {
        guard let trace = request.trace, configuration.sampler.takes(trace) else { return }
        let spans = RequestSpans(request, trace, scheme: scheme, newID: { .random(in: 1 ... .max) }).all
        let count = queue.withLock { queue -> Int? in
            guard queue.count + spans.count <= configuration.queueSpans else { return nil }
            queue += spans
            return queue.count
        }
        guard let count else { return sender.drop(spans.count, "the queue is full") }
        if count >= configuration.batchSpans { full.fire() }
    }

    func start() {
        work.start { [self] in
            while !Task.isCancelled {
                await rest()
                while !Task.isCancelled, await sendBatch(isLast: false) {}
            }
        }
    }

    /// Ends the export, after one more attempt at the spans that wait.
    func stop() async {
        await work.stop()
        while await sendBatch(isLast: true) {}
    }

    /// Waits until a batch is full or the delay is over.
    private func rest() async {
        let timer = Task { [clock, full, delay = configuration.delay] in
            try? await clock.sleep(delay)
            full.fire()
        }
        _ = await full.fired()
        timer.cancel()
    }

    /// Sends one batch.
    /// - Returns: whether another one waits and may be sent.
    private func sendBatch(isLast: Bool) async -> Bool {
        let batch = queue.withLock { queue in
            defer { queue.removeFirst(min(configuration.batchSpans, queue.count)) }
            return Array(queue.prefix(configuration.batchSpans))
        }
        guard !batch.isEmpty else { return false }
        let message = resource.traces(batch)
        switch isLast ? await sender.send(message, attempts: 1, timeout: Self.lastTimeout) : await sender.send(message) {
        case .taken: return queue.withLock { $0.count } >= (isLast ? 1 : configuration.batchSpans)
        case .refused(let reason):
            sender.drop(batch.count, reason)
            return false
        case .cancelled:
            queue.withLock { $0.insert(contentsOf: batch, at: 0) }
            return false
        }
    }
}

/// The spans of one request: the request, and its wait, its time in the store and the encoding of its answer, as far as
/// they were measured. They hold no user, record, zone, address or query.
struct RequestSpans {
    private(set) var all: [OTLPSpan]

    init(_ request: FinishedRequest, _ trace: TraceContext, scheme: String, newID: () -> UInt64) {
        let end = UInt64(max(request.ended.millisecondsSince1970, 0)) * 1_000_000
        let start = end - min(request.duration.nanoseconds, end)
        let method = Self.methods.contains(request.method) ? request.method : "_OTHER"
        let isRouted = request.route != "none"
        var span = OTLPSpan(
            trace: trace, id: newID(), parentID: trace.parentID, name: isRouted ? "\(method) \(request.route)" : method, kind: .server, start: start,
            end: end)
        span.attributes = [
            ("http.request.method", .text(method)), ("http.response.status_code", .integer(Int64(request.status))), ("url.scheme", .text(scheme)),
            ("nacre.request_id", .text(request.id)), ("nacre.operation", .text(request.operation ?? "other")),
        ]
        if isRouted { span.attributes.append(("http.route", .text(request.route))) }
        // A path that names no container, environment or database may hold anything.
        if Names.containerFault(request.target.container) == nil { span.attributes.append(("nacre.container", .text(request.target.container))) }
        if let environment = DatabaseKey.Environment(rawValue: request.target.environment) {
            span.attributes.append(("nacre.environment", .text(environment.rawValue)))
        }
        if let scope = DatabaseKey.Scope(rawValue: request.target.database) { span.attributes.append(("nacre.database", .text(scope.rawValue))) }
        span.hasFailed = request.status >= 500
        if let code = request.facts.refusal?.code.rawValue ?? (span.hasFailed ? String(request.status) : nil) {
            span.attributes.append(("error.type", .text(code)))
        }
        all = [span]
        // Only their lengths are measured: they are drawn in their order, the encoding at the end.
        let waited = start + min(request.facts.waited.nanoseconds, end - start)
        let stored = waited + min(request.facts.stored.nanoseconds, end - waited)
        let encoded = end - min(request.facts.encoded.nanoseconds, end - stored)
        for (name, from, to) in [("wait", start, waited), ("store", waited, stored), ("encode", encoded, end)] where from < to {
            all.append(OTLPSpan(trace: trace, id: newID(), parentID: span.id, name: name, kind: .internal, start: from, end: to))
        }
    }

    /// Methods that telemetry names (RFC 9110 and RFC 5789).
    private static let methods: Set = ["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"]
}
