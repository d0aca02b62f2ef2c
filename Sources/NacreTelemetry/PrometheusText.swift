/// Prometheus' text format 0.0.4.
enum PrometheusText {
    /// Appends the comments of a metric, and a line or more for each of its series.
    static func append(_ family: MetricFamily, to text: inout String) {
        let key = family.key
        guard let kind = family.series.first?.value.kind else { return }
        text += "# HELP \(key.name) \(key.help)\n# TYPE \(key.name) \(kind)\n"
        for (values, value) in family.series {
            let labels = zip(key.labels, values).map { "\($0)=\"\(escaped($1))\"" }.joined(separator: ",")
            let braced = labels.isEmpty ? "" : "{\(labels)}"
            switch value {
            case .count(let count): text += "\(key.name)\(braced) \(key.unit.text(count))\n"
            case .level(let level): text += "\(key.name)\(braced) \(key.unit.text(level))\n"
            case .distribution(let snapshot): append(snapshot, key, labels, braced, to: &text)
            }
        }
    }

    private static func append(_ snapshot: Histogram.Snapshot, _ key: MetricKey, _ labels: String, _ braced: String, to text: inout String) {
        let prefix = "\(key.name)_bucket{\(labels)\(labels.isEmpty ? "" : ",")le=\""
        var cumulative: UInt64 = 0
        for (bound, count) in zip(snapshot.bounds, snapshot.counts) {
            cumulative += count
            text += "\(prefix)\(key.unit.text(bound))\"} \(cumulative)\n"
        }
        text += "\(prefix)+Inf\"} \(snapshot.count)\n"
        text += "\(key.name)_sum\(braced) \(key.unit.text(snapshot.sum))\n"
        text += "\(key.name)_count\(braced) \(snapshot.count)\n"
    }

    private static func escaped(_ value: String) -> String {
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
