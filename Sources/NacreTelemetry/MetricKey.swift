/// The name of something that is counted or measured.
///
/// Keys are static members of an extension beside the code that counts, for example `extension MetricKey { static let
/// requests = … }`. The set is therefore open, and a misspelt name does not compile.
///
/// Names follow Prometheus: snake case, the unit last (`_seconds`, `_bytes`), `_total` on counters.
package struct MetricKey: Sendable, Hashable {
    package let name: String
    /// One sentence for the person who reads the metric.
    package let help: String
    /// The names of the labels, in the order of the values that are given with them.
    package let labels: [String]
    package let unit: MetricUnit
    /// The number of series that are kept apart. Later ones are counted together, with the value `other` for each
    /// label.
    package let seriesMax: Int

    package init(_ name: String, help: String, label: String? = nil, unit: MetricUnit = .none) {
        self.init(name, help: help, labels: label.map { [$0] } ?? [], unit: unit)
    }

    package init(_ name: String, help: String, labels: [String], unit: MetricUnit = .none, seriesMax: Int = Telemetry.seriesMax) {
        self.name = name
        self.help = help
        self.labels = labels
        self.unit = unit
        self.seriesMax = seriesMax
    }

    package static func == (one: MetricKey, other: MetricKey) -> Bool { one.name == other.name }

    package func hash(into hasher: inout Hasher) { hasher.combine(name) }
}

/// The unit of a metric's whole numbers, and the way they are written.
package enum MetricUnit: Sendable {
    case none
    /// Recorded in nanoseconds, written in seconds.
    case seconds
    case bytes

    /// The exponents of two of the first and the last bucket's bound: 1 … 1 Mi, 16 µs … 69 s, 64 B … 64 MiB.
    var exponents: ClosedRange<Int> {
        switch self {
        case .none: 0...20
        case .seconds: 14...36
        case .bytes: 6...26
        }
    }

    func text(_ value: some BinaryInteger) -> String {
        switch self {
        case .none, .bytes: String(value)
        case .seconds: String(Double(value) / 1e9)
        }
    }
}
