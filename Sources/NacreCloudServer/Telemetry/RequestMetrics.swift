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

        mutating func counters(of request: FinishedRequest, _ telemetry: Telemetry) -> (Histogram, Counter, Counter?) {
            let status = request.status / 100
            let count = requests[status] ?? telemetry.counter(.requests, operation, "\(status)xx")
            if requests[status] == nil { requests[status] = count }
            guard let code = request.facts.refusal?.code else { return (duration, count, nil) }
            let error = errors[code] ?? telemetry.counter(.requestErrors, operation, code.rawValue)
            if errors[code] == nil { errors[code] = error }
            return (duration, count, error)
        }
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
        // The series are changed in place: a copy of them would cost more than all else here.
        let (duration, count, errors) = series.withLock { $0[request.route, default: newSeries(of: request)].counters(of: request, telemetry) }
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
