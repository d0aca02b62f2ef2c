import NacreCloudWire
import NacreTelemetry

/// The export of traces and metrics over OTLP, as OpenTelemetry's standard environment variables set it.
package struct OpenTelemetryConfiguration: Sendable {
    /// The place that takes one signal, and the form in which it takes it.
    struct Destination: Sendable, Hashable {
        var url: String
        var headers: [String: String] = [:]
        var timeout: Duration = .seconds(10)
        var isJSON = false
        var isZipped = false
    }

    /// The choice of traces that are sent.
    struct Sampler: Sendable, Hashable {
        /// Whether the caller's choice counts, if it has made one.
        var asksParent = true
        /// The part of other traces, from 0 to 1.
        var ratio = 1.0

        func takes(_ trace: TraceContext) -> Bool {
            if asksParent, let isSampled = trace.isSampled { return isSampled }
            // 56 random bits, as W3C Trace Context 2 has them.
            return Double(trace.randomness) < ratio * Double(1 << 56)
        }
    }

    /// nil: no traces are sent.
    var traces: Destination?
    /// nil: no metrics are sent.
    var metrics: Destination?
    var sampler = Sampler()
    /// Attributes of the resource that the operator names.
    var attributes: [String: String] = [:]
    var service = "nacre"
    /// Spans that wait for their export, at most.
    var queueSpans = 2048
    /// Spans of one export, at most.
    var batchSpans = 512
    /// The time after which spans are sent that are no full batch.
    var delay: Duration = .seconds(5)
    /// The time between two exports of metrics.
    var metricInterval: Duration = .seconds(60)
    /// A PEM file of authorities that are trusted beside the system's.
    var authorityFile: String?
    /// Variables whose values are not understood, which count as not set.
    private(set) var faults: [String] = []

    /// Reads the variables. nil if nothing is sent: no endpoint is set, or `OTEL_SDK_DISABLED` is true.
    package init?(environment: [String: String]) {
        let environment = environment.filter { !$0.value.isEmpty }
        guard environment["OTEL_SDK_DISABLED"]?.lowercased() != "true" else { return nil }
        traces = destination(of: "TRACES", path: "v1/traces", environment)
        metrics = destination(of: "METRICS", path: "v1/metrics", environment)
        guard traces != nil || metrics != nil || !faults.isEmpty else { return nil }
        readSampler(environment)
        attributes = pairs("OTEL_RESOURCE_ATTRIBUTES", environment)
        service = environment["OTEL_SERVICE_NAME"] ?? attributes["service.name"] ?? service
        attributes["service.name"] = nil
        authorityFile = environment["OTEL_EXPORTER_OTLP_CERTIFICATE"]
        queueSpans = number("OTEL_BSP_MAX_QUEUE_SIZE", in: 1...65_536, environment) ?? queueSpans
        batchSpans = min(number("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", in: 1...65_536, environment) ?? batchSpans, queueSpans)
        delay = milliseconds("OTEL_BSP_SCHEDULE_DELAY", environment) ?? delay
        metricInterval = milliseconds("OTEL_METRIC_EXPORT_INTERVAL", environment) ?? metricInterval
    }

    private mutating func destination(of signal: String, path: String, _ environment: [String: String]) -> Destination? {
        switch environment["OTEL_\(signal)_EXPORTER"] {
        case nil, "otlp": break
        case "none": return nil
        case let other?:
            faults.append("OTEL_\(signal)_EXPORTER=\(other): otlp and none are known")
        }
        /// The name of the variable for this signal, or for all, whichever is set.
        func name(_ end: String) -> String {
            environment["OTEL_EXPORTER_OTLP_\(signal)_\(end)"] == nil ? "OTEL_EXPORTER_OTLP_\(end)" : "OTEL_EXPORTER_OTLP_\(signal)_\(end)"
        }
        let place = name("ENDPOINT")
        guard let endpoint = environment[place] else { return nil }
        guard Server.host(of: endpoint) != nil, endpoint.hasPrefix("http://") || endpoint.hasPrefix("https://"),
            endpoint.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f })
        else {
            faults.append("\(place): give an http or https URL, such as http://127.0.0.1:4318")
            return nil
        }
        // The endpoint of all signals is a root; that of one signal is used as it is.
        let isRoot = !place.contains(signal)
        var destination = Destination(url: isRoot ? endpoint + (endpoint.hasSuffix("/") ? "" : "/") + path : endpoint)
        switch environment[name("PROTOCOL")] {
        case nil, "http/protobuf": break
        case "http/json": destination.isJSON = true
        case let other?: faults.append("\(name("PROTOCOL"))=\(other): http/protobuf and http/json are known")
        }
        switch environment[name("COMPRESSION")] {
        case nil, "none": break
        case "gzip": destination.isZipped = true
        case let other?: faults.append("\(name("COMPRESSION"))=\(other): gzip and none are known")
        }
        destination.timeout = milliseconds(name("TIMEOUT"), environment) ?? destination.timeout
        destination.headers = pairs(name("HEADERS"), environment)
        return destination
    }

    private mutating func readSampler(_ environment: [String: String]) {
        let name = environment["OTEL_TRACES_SAMPLER"] ?? "parentbased_always_on"
        let kind = name.hasPrefix("parentbased_") ? String(name.dropFirst("parentbased_".count)) : name
        sampler.asksParent = kind != name
        switch kind {
        case "always_on": sampler.ratio = 1
        case "always_off": sampler.ratio = 0
        case "traceidratio":
            let text = environment["OTEL_TRACES_SAMPLER_ARG"] ?? "1"
            guard let ratio = Double(text), (0...1).contains(ratio) else {
                return faults.append("OTEL_TRACES_SAMPLER_ARG: give a number from 0 to 1")
            }
            sampler.ratio = ratio
        default:
            sampler = Sampler()
            faults.append("OTEL_TRACES_SAMPLER=\(name): always_on, always_off, traceidratio, and these behind parentbased_ are known")
        }
    }

    private mutating func number(_ name: String, in range: ClosedRange<Int>, _ environment: [String: String]) -> Int? {
        guard let text = environment[name] else { return nil }
        guard let number = Int(text), range.contains(number) else {
            faults.append("\(name): give a number from \(range.lowerBound) to \(range.upperBound)")
            return nil
        }
        return number
    }

    private mutating func milliseconds(_ name: String, _ environment: [String: String]) -> Duration? {
        number(name, in: 1...86_400_000, environment).map { .milliseconds($0) }
    }

    /// Reads `name=value` with commas between, the values percent-encoded, as W3C Baggage has them.
    private mutating func pairs(_ name: String, _ environment: [String: String]) -> [String: String] {
        var pairs: [String: String] = [:]
        for member in (environment[name] ?? "").split(separator: ",") {
            let parts = member.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(Self.trimmed)
            guard parts.count == 2, !parts[0].isEmpty, let value = PercentEncoding.decoded(parts[1]) else {
                // The value may be a secret.
                faults.append("\(name): give name=value with commas between, and percent-encode values")
                continue
            }
            pairs[String(parts[0])] = value
        }
        return pairs
    }

    private static func trimmed(_ text: Substring) -> Substring {
        var text = text.drop { $0 == " " }
        while text.last == " " { text.removeLast() }
        return text
    }
}
