package import NacreTelemetry

extension MetricKey {
    package static let httpRequests = MetricKey("nacre_http_requests_total", help: "Requests answered, by class of status.", label: "status")
    package static let httpDuration = MetricKey("nacre_http_request_duration_seconds", help: "From request line to end of response.", unit: .seconds)
    package static let httpConnections = MetricKey("nacre_http_connections", help: "Open connections.")
    package static let httpInFlight = MetricKey("nacre_http_requests_in_flight", help: "Requests whose handlers work.")
    package static let httpWaiting = MetricKey(
        "nacre_http_requests_waiting", help: "Requests that only wait, for a change or for their client; they are none of those in flight.")
    package static let httpAwaitingClient = MetricKey(
        "nacre_http_requests_awaiting_client", help: "Requests that wait for their client to send or to read on; they are among those that wait.")
    package static let httpBodyBytes = MetricKey("nacre_http_body_bytes", help: "Bytes of request bodies in memory.", unit: .bytes)
    package static let httpAnswerBytes = MetricKey("nacre_http_answer_bytes", help: "Bytes of answers that wait to be read.", unit: .bytes)
    package static let httpReceived = MetricKey(
        "nacre_http_received_bytes_total", help: "Bytes received on connections, heads of requests included.", unit: .bytes)
    package static let httpSent = MetricKey(
        "nacre_http_sent_bytes_total", help: "Bytes of answers sent, their heads included.", unit: .bytes)
    package static let httpAbandoned = MetricKey("nacre_http_abandoned_total", help: "Requests whose client went away first.")
    package static let httpLate = MetricKey("nacre_http_late_total", help: "Connections closed for missing a deadline.")
}

/// The server's own metrics, looked up once.
struct ServerMetrics: Sendable {
    let connections: Gauge
    let inFlight: Gauge
    let waiting: Gauge
    let awaitingClient: Gauge
    let received: Counter
    let sent: Counter
    let abandoned: Counter
    let late: Counter
    private let duration: Histogram
    private let informative: Counter
    private let redirected: Counter
    private let refused: Counter
    private let failed: Counter

    init(_ telemetry: Telemetry) {
        connections = telemetry.gauge(.httpConnections)
        inFlight = telemetry.gauge(.httpInFlight)
        waiting = telemetry.gauge(.httpWaiting)
        awaitingClient = telemetry.gauge(.httpAwaitingClient)
        received = telemetry.counter(.httpReceived)
        sent = telemetry.counter(.httpSent)
        abandoned = telemetry.counter(.httpAbandoned)
        late = telemetry.counter(.httpLate)
        duration = telemetry.histogram(.httpDuration)
        informative = telemetry.counter(.httpRequests, "2xx")
        redirected = telemetry.counter(.httpRequests, "3xx")
        refused = telemetry.counter(.httpRequests, "4xx")
        failed = telemetry.counter(.httpRequests, "5xx")
    }

    func record(_ status: HTTPStatus, since start: UInt64, until end: UInt64) {
        duration.record(end &- start)
        switch status.rawValue {
        case ..<300: informative.add()
        case 300..<400: redirected.add()
        case 400..<500: refused.add()
        default: failed.add()
        }
    }
}
