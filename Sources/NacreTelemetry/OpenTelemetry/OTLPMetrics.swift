extension OTLPResource {
    /// Returns metrics as a request to `/v1/metrics`. Names are those of Prometheus' text, so that dashboards serve
    /// both. Sums count from `started`.
    /// - Parameters:
    ///   - started: the start of the server, in nanoseconds since 1970.
    ///   - now: the time of the values, in nanoseconds since 1970.
    package func metrics(_ families: [MetricFamily], started: UInt64, now: UInt64) -> OTLPMessage {
        request("Metrics", families.compactMap { family in Self.metric(family, started: started, now: now) })
    }

    /// The aggregation temporality of sums and histograms that count since the start.
    private static let cumulative: UInt32 = 2

    private static func metric(_ family: MetricFamily, started: UInt64, now: UInt64) -> OTLPMessage? {
        guard let kind = family.series.first?.value else { return nil }
        let key = family.key
        let points = family.series.map { labels, value in
            var point = OTLPMessage()
            let attributes = zip(key.labels, labels).map { (name: $0, value: OTLPAttribute.text($1)) }
            switch value {
            case .count, .level: point.addAttributes(7, attributes)
            case .distribution: point.addAttributes(9, attributes)
            }
            if case .level = value {} else { point.add(2, "startTimeUnixNano", .fixed64(started)) }
            point.add(3, "timeUnixNano", .fixed64(now))
            point.addValue(value, key.unit)
            return point
        }
        var (metric, data) = (OTLPMessage(), OTLPMessage())
        metric.add(1, "name", .text(key.name))
        metric.add(2, "description", .text(key.help))
        metric.add(3, "unit", .text(key.unit.inUCUM))
        data.add(1, "dataPoints", .messages(points))
        switch kind {
        case .level: metric.add(5, "gauge", .message(data))
        case .count:
            data.add(2, "aggregationTemporality", .number(cumulative))
            data.add(3, "isMonotonic", .flag(true))
            metric.add(7, "sum", .message(data))
        case .distribution:
            data.add(2, "aggregationTemporality", .number(cumulative))
            metric.add(9, "histogram", .message(data))
        }
        return metric
    }
}

extension OTLPMessage {
    fileprivate mutating func addValue(_ value: MetricValue, _ unit: MetricUnit) {
        switch value {
        case .count(let count): addNumber(Int64(clamping: count), unit)
        case .level(let level): addNumber(Int64(level), unit)
        case .distribution(let snapshot):
            add(4, "count", .fixed64(snapshot.count))
            add(5, "sum", .double(unit.number(snapshot.sum)))
            add(6, "bucketCounts", .allFixed64(snapshot.counts))
            add(7, "explicitBounds", .doubles(snapshot.bounds.map { unit.number($0) }))
        }
    }

    private mutating func addNumber(_ value: Int64, _ unit: MetricUnit) {
        switch unit {
        case .none, .bytes: add(6, "asInt", .signedFixed64(value))
        case .seconds: add(4, "asDouble", .double(unit.number(value)))
        }
    }
}

extension MetricUnit {
    /// The unit's name in the Unified Code for Units of Measure, which OpenTelemetry uses.
    fileprivate var inUCUM: String {
        switch self {
        case .none: "1"
        case .seconds: "s"
        case .bytes: "By"
        }
    }

    fileprivate func number(_ value: some BinaryInteger) -> Double {
        switch self {
        case .none, .bytes: Double(value)
        case .seconds: Double(value) / 1e9
        }
    }
}
