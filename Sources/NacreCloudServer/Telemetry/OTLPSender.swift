import FoundationEssentials
import NacreHTTPClient
import NacreHTTPServer
import NacreLocks
import NacreTelemetry

extension MetricKey {
    static let otlpDropped = MetricKey(
        "nacre_otlp_dropped_total",
        help: "Spans and data points that an OpenTelemetry collector rejected, and spans and exports of metrics that none took, by signal.",
        label: "signal")
}

/// Sends one signal to a collector, and tries again as OTLP says.
final class OTLPSender: Sendable {
    static let signals = ["traces", "metrics"]
    /// Attempts at one export.
    static let attempts = 5
    /// The longest pause between two attempts, also if the collector asks for a longer one.
    static let pauseMax: Duration = .seconds(60)
    private static let answerBytes = 65_536
    /// Statuses after which an export is tried again (OTLP 1, "Retryable Response Codes").
    private static let passing: Set = [429, 502, 503, 504]

    private let destination: OpenTelemetryConfiguration.Destination
    private let client: HTTPClient
    private let clock: ServerClock
    private let logger: Logger
    private let dropped: Counter
    /// Whether the log has told of the present outage.
    private let isTold = Locked(false)

    init(
        _ destination: OpenTelemetryConfiguration.Destination, signal: String, client: HTTPClient, clock: ServerClock, logger: Logger,
        _ telemetry: Telemetry
    ) {
        (self.destination, self.client, self.clock, self.logger) = (destination, client, clock, logger)
        dropped = telemetry.counter(.otlpDropped, signal)
    }

    enum Outcome: Equatable, Sendable {
        /// The collector took it, or a part of it; the rest is counted as dropped.
        case taken
        /// The collector never takes it, or did not in all attempts.
        case refused(String)
        /// The task was cancelled: the collector may have it or not.
        case cancelled
    }

    /// Sends a message, with pauses between attempts.
    func send(_ message: OTLPMessage, attempts: Int = attempts, timeout: Duration? = nil) async -> Outcome {
        let request = await request(message, timeout: timeout ?? destination.timeout)
        var reason = ""
        for attempt in 0..<attempts {
            var asked: Duration?
            do {
                let answer = try await client.send(request)
                if (200..<300).contains(answer.status) {
                    // The rejected part is lost: the collector wants no export again that it took in part.
                    if let part = OTLPPartialSuccess(answer.body, isJSON: destination.isJSON) {
                        drop(part.rejected, "rejected: \(part.message)")
                    } else {
                        isTold.withLock { $0 = false }
                    }
                    return .taken
                }
                reason = "status \(answer.status)"
                guard Self.passing.contains(answer.status) else { return .refused(reason) }
                asked = answer.head.retryAfter(at: Double(clock.now().secondsSince1970)).map { .seconds($0) }
            } catch {
                if error.cause == .cancelled { return .cancelled }
                reason = "\(error.cause)"
            }
            guard attempt + 1 < attempts else { break }
            do {
                try await clock.sleep(min(asked ?? .seconds(1 << attempt) * Double.random(in: 0.5...1.5), Self.pauseMax))
            } catch {
                return .cancelled
            }
        }
        return .refused(reason)
    }

    private func request(_ message: OTLPMessage, timeout: Duration) async -> HTTPClient.Request {
        var body = destination.isJSON ? message.json : message.protobuf
        var headers = destination.headers.sorted { $0.key < $1.key }.map { HTTPClient.Header($0.key, $0.value) }
        headers.append(.init("Content-Type", destination.isJSON ? "application/json" : "application/x-protobuf"))
        if destination.isZipped, let zipped = await Compression.gzip(body) {
            body = zipped
            headers.append(.init("Content-Encoding", "gzip"))
        }
        return HTTPClient.Request(
            "POST", destination.url, headers: headers, body: .bytes(body), totalTimeout: timeout, answerBytesMax: Self.answerBytes)
    }

    /// Counts what is not sent, and logs it once until the collector takes something again.
    func drop(_ count: Int, _ reason: String) {
        dropped.add(UInt64(count))
        let isNew = isTold.withLock { told in
            defer { told = true }
            return !told
        }
        guard isNew else { return }
        logger.log(
            .warning, "Telemetry is dropped: the OpenTelemetry collector does not take it",
            [
                .host: .string(Server.host(of: destination.url) ?? ""), .count: .int(count), .reason: .string(reason),
                .remedy: "Look at the collector; nacre_otlp_dropped_total counts what is lost. This line comes once until it takes something again.",
            ])
    }
}
