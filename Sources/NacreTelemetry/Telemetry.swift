import NacreLocks

/// The metrics of one process (or of one test), which are written as text for Prometheus. A part of the server asks for
/// a metric by key and keeps it. To ask takes a lock; to count does not.
package final class Telemetry: Sendable {
    /// The number of series of one metric that are kept apart, unless its key says otherwise. Prometheus' advice: keep
    /// a metric below ten if possible, and never let a client choose the number.
    package static let seriesMax = 64

    private enum Metric: Sendable {
        case counter(Counter)
        case gauge(Gauge)
        case histogram(Histogram)
    }

    /// series[values of the labels]
    private typealias Series = [[String]: Metric]

    private let metrics = Locked<[MetricKey: Series]>([:])

    package init() {}

    /// Returns the counter of this key and these values of its labels. The first call creates it.
    package func counter(_ key: MetricKey, _ values: String...) -> Counter {
        let metric = metric(key, values) { .counter(Counter()) }
        guard case .counter(let counter) = metric else {
            // unreachable: a key is a static member beside the only place that uses it, which always asks for one kind.
            preconditionFailure("\(key.name) is not a counter")
        }
        return counter
    }

    /// Returns the gauge of this key and these values of its labels. The first call creates it.
    package func gauge(_ key: MetricKey, _ values: String...) -> Gauge {
        let metric = metric(key, values) { .gauge(Gauge()) }
        guard case .gauge(let gauge) = metric else {
            // unreachable: a key is a static member beside the only place that uses it, which always asks for one kind.
            preconditionFailure("\(key.name) is not a gauge")
        }
        return gauge
    }

    /// Sets the gauges of a key with one label, and removes those of all other values: such values come and go.
    package func setGauges(_ key: MetricKey, _ levels: [String: Int]) {
        let series = levels.map { (value, level) -> ([String], Metric) in
            let gauge = Gauge()
            gauge.set(level)
            return ([value], .gauge(gauge))
        }
        metrics.withLock { $0[key] = Dictionary(uniqueKeysWithValues: series) }
    }

    /// Returns the histogram of this key and these values of its labels. The first call creates it.
    package func histogram(_ key: MetricKey, _ values: String...) -> Histogram {
        let metric = metric(key, values) { .histogram(Histogram(unit: key.unit)) }
        guard case .histogram(let histogram) = metric else {
            // unreachable: a key is a static member beside the only place that uses it, which always asks for one kind.
            preconditionFailure("\(key.name) is not a histogram")
        }
        return histogram
    }

    private func metric(_ key: MetricKey, _ values: [String], make: () -> Metric) -> Metric {
        metrics.withLock { metrics in
            let known = metrics[key]
            if let metric = known?[values] { return metric }
            let values = (known?.count ?? 0) < key.seriesMax ? values : values.map { _ in "other" }
            if let metric = known?[values] { return metric }
            let metric = make()
            metrics[key, default: [:]][values] = metric
            return metric
        }
    }

    /// The values of all metrics now, sorted by name and labels.
    package var snapshot: [MetricFamily] {
        let all = metrics.withLock { $0 }
        return all.sorted { $0.key.name < $1.key.name }.map { key, series in
            MetricFamily(
                key: key,
                series: series.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map { values, metric in
                    switch metric {
                    case .counter(let counter): (values, .count(counter.value))
                    case .gauge(let gauge): (values, .level(gauge.value))
                    case .histogram(let histogram): (values, .distribution(histogram.snapshot))
                    }
                })
        }
    }

    /// Returns all metrics in Prometheus' text format, sorted by name and labels.
    package func prometheusText() -> String {
        var text = ""
        for family in snapshot { PrometheusText.append(family, to: &text) }
        return text
    }
}

/// A metric and the values of its series.
package struct MetricFamily: Sendable {
    package let key: MetricKey
    /// The series, with the values of the key's labels. All are of one kind; there is at least one.
    package let series: [(labels: [String], value: MetricValue)]
}

/// The value of a series, in the unit of its key.
package enum MetricValue: Sendable {
    case count(UInt64)
    case level(Int)
    case distribution(Histogram.Snapshot)

    /// The kind's name in Prometheus' text format.
    var kind: String {
        switch self {
        case .count: "counter"
        case .level: "gauge"
        case .distribution: "histogram"
        }
    }
}
