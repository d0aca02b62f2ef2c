import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire
import NacreLocks
import NacreTelemetry

extension MetricKey {
    static let requests = MetricKey(
        "nacre_requests_total", help: "Requests of apps by operation and class of status.", labels: ["operation", "status"], seriesMax: 512)
    static let requestDuration = MetricKey(
        "nacre_request_duration_seconds", help: "From the end of a request's head to its answer, by operation.", labels: ["operation"],
        unit: .seconds, seriesMax: 128)
    static let requestErrors = MetricKey(
        "nacre_request_errors_total", help: "Requests that were refused or had refused items, by operation and serverErrorCode.",
        labels: ["operation", "code"], seriesMax: 1024)
    static let requestWait = MetricKey(
        "nacre_request_wait_seconds", help: "Time of requests in queues: for a slot among pages, and for the store.", unit: .seconds)
    static let requestStore = MetricKey(
        "nacre_request_store_seconds", help: "Time of requests in the store, with the sync of the disk.", unit: .seconds)
}

/// Counts finished requests. No label holds a value that a client chose.
final class RequestMetrics: RequestObserver {
    /// The series of one route.
    private struct Series: Sendable {
        let operation: String
        let duration: Histogram
        /// requests[status / 100]
        var requests: [Int: Counter] = [:]
        var errors: [ServerErrorCode: Counter] = [:]
    }

    private let telemetry: Telemetry
    private let waited: Histogram
    private let stored: Histogram
    /// series[route], kept because the telemetry's own search costs more.
    private let series = Locked<[String: Series]>([:])

    init(_ telemetry: Telemetry) {
        self.telemetry = telemetry
        waited = telemetry.histogram(.requestWait)
        stored = telemetry.histogram(.requestStore)
        _ = telemetry.histogram(.requestDuration, "other")
        for status in ["2xx", "3xx", "4xx", "5xx"] { _ = telemetry.counter(.requests, "other", status) }
        for code in ServerErrorCode.allCases { _ = telemetry.counter(.requestErrors, "other", code.rawValue) }
    }

    func observe(_ request: FinishedRequest) {
        let (duration, count, errors) = series.withLock { all in
            var known = all[request.route] ?? newSeries(of: request)
            let count = known.requests[request.status / 100] ?? telemetry.counter(.requests, known.operation, "\(request.status / 100)xx")
            known.requests[request.status / 100] = count
            let errors = request.facts.refusal.map { refusal in
                known.errors[refusal.code] ?? telemetry.counter(.requestErrors, known.operation, refusal.code.rawValue)
            }
            if let refusal = request.facts.refusal { known.errors[refusal.code] = errors }
            all[request.route] = known
            return (known.duration, count, errors)
        }
        duration.record(request.duration)
        count.add()
        errors?.add()
        if request.facts.waited > .zero { waited.record(request.facts.waited) }
        if request.facts.stored > .zero { stored.record(request.facts.stored) }
    }

    private func newSeries(of request: FinishedRequest) -> Series {
        let operation = request.operation ?? "other"
        return Series(operation: operation, duration: telemetry.histogram(.requestDuration, operation))
    }
}
