import NacreLocks

/// The metrics of one process (or of one test), which are written as text for Prometheus. A part of the server asks for
/// a metric by key and keeps it. To ask takes a lock; to count does not.
package final class Telemetry: Sendable {
    /// The number of values of one label that are kept apart. Later values are counted as `other`. Prometheus' advice:
    /// keep a metric below ten if possible, and never let a client choose the number.
    package static let labelValuesMax = 64

    private enum Metric: Sendable {
        case counter(Counter)
        case gauge(Gauge)
        case histogram(Histogram)
    }

    private typealias Series = [String: Metric]

    private let metrics = Locked<[MetricKey: Series]>([:])

    package init() {}

    /// Returns the counter of this key and label value. The first call creates it.
    package func counter(_ key: MetricKey, _ label: String = "") -> Counter {
        let metric = metric(key, label) { .counter(Counter()) }
        guard case .counter(let counter) = metric else {
            // unreachable: a key is a static member beside the only place that uses it, which always asks for one kind.
            preconditionFailure("\(key.name) is not a counter")
        }
        return counter
    }

    /// Returns the gauge of this key and label value. The first call creates it.
    package func gauge(_ key: MetricKey, _ label: String = "") -> Gauge {
        let metric = metric(key, label) { .gauge(Gauge()) }
        guard case .gauge(let gauge) = metric else {
            // unreachable: a key is a static member beside the only place that uses it, which always asks for one kind.
            preconditionFailure("\(key.name) is not a gauge")
        }
        return gauge
    }

    /// Returns the histogram of this key and label value. The first call creates it.
    package func histogram(_ key: MetricKey, _ label: String = "") -> Histogram {
        let metric = metric(key, label) { .histogram(Histogram(unit: key.unit)) }
        guard case .histogram(let histogram) = metric else {
            // unreachable: a key is a static member beside the only place that uses it, which always asks for one kind.
            preconditionFailure("\(key.name) is not a histogram")
        }
        return histogram
    }

    private func metric(_ key: MetricKey, _ label: String, make: () -> Metric) -> Metric {
        metrics.withLock { metrics in
            let known = metrics[key]
            if let metric = known?[label] { return metric }
            let label = (known?.count ?? 0) < Self.labelValuesMax ? label : "other"
            if let metric = known?[label] { return metric }
            let metric = make()
            metrics[key, default: [:]][label] = metric
            return metric
        }
    }

    /// Returns all metrics in Prometheus' text format, sorted by name and label.
    package func prometheusText() -> String {
        let all = metrics.withLock { $0 }
        var text = ""
        for (key, series) in all.sorted(by: { $0.key.name < $1.key.name }) {
            text += "# HELP \(key.name) \(key.help)\n"
            for (index, (value, metric)) in series.sorted(by: { $0.key < $1.key }).enumerated() {
                let label = key.label.map { "\($0)=\"\(escaped(value))\"" } ?? ""
                let braced = label.isEmpty ? "" : "{\(label)}"
                switch metric {
                case .counter(let counter):
                    if index == 0 { text += "# TYPE \(key.name) counter\n" }
                    text += "\(key.name)\(braced) \(counter.value)\n"
                case .gauge(let gauge):
                    if index == 0 { text += "# TYPE \(key.name) gauge\n" }
                    text += "\(key.name)\(braced) \(gauge.value)\n"
                case .histogram(let histogram):
                    if index == 0 { text += "# TYPE \(key.name) histogram\n" }
                    append(histogram, key, label, braced, to: &text)
                }
            }
        }
        return text
    }

    private func append(_ histogram: Histogram, _ key: MetricKey, _ label: String, _ braced: String, to text: inout String) {
        let snapshot = histogram.snapshot
        let prefix = label.isEmpty ? "" : "\(label),"
        var cumulative: UInt64 = 0
        for (bound, count) in zip(snapshot.bounds, snapshot.counts) {
            cumulative += count
            text += "\(key.name)_bucket{\(prefix)le=\"\(key.unit.text(bound))\"} \(cumulative)\n"
        }
        text += "\(key.name)_bucket{\(prefix)le=\"+Inf\"} \(snapshot.count)\n"
        text += "\(key.name)_sum\(braced) \(key.unit.text(snapshot.sum))\n"
        text += "\(key.name)_count\(braced) \(snapshot.count)\n"
    }

    private func escaped(_ value: String) -> String {
        var escaped = ""
        for scalar in value.unicodeScalars {
            switch scalar {
            case "\\": escaped += "\\\\"
            case "\"": escaped += "\\\""
            case "\n": escaped += "\\n"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}
