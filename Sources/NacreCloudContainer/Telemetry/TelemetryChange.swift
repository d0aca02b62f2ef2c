/// A figure that differs between two periods, with the properties of requests that explain most of the difference.
package struct TelemetryChange: Hashable, Sendable {
    package enum Figure: String, CaseIterable, Sendable {
        case requests
        /// Refused requests and refused items for each request.
        case errorRate
        /// Milliseconds that a request takes in the mean.
        case latency
    }

    /// A property whose share of the difference is large.
    package struct Cause: Hashable, Sendable {
        package var property: TelemetryProperty
        package var name: String
        /// The part of the difference that these requests make, of 1. It is above 1 if others went the other way.
        package var share: Double
        package var before: Double
        package var after: Double
    }

    package var figure: Figure
    package var before: Double
    package var after: Double
    package var causes: [Cause]

    /// The smallest relative difference that is told.
    package static let least = 0.1
    private static let shareLeast = 0.3
    private static let causesMost = 3

    /// The differences between two periods that are worth telling.
    package static func between(_ before: TelemetryTotals, _ after: TelemetryTotals) -> [TelemetryChange] {
        Figure.allCases.compactMap { figure in
            let (old, new) = (figure.value(before.all, of: before.all), figure.value(after.all, of: after.all))
            guard abs(new - old) > least * max(abs(old), .leastNormalMagnitude) else { return nil }
            let causes = TelemetryProperty.allCases.compactMap { mainCause($0, of: figure, new - old, before, after) }
            let told = causes.sorted { ($0.share, $1.property.rawValue) > ($1.share, $0.property.rawValue) }.prefix(causesMost)
            return TelemetryChange(figure: figure, before: old, after: new, causes: Array(told))
        }
    }

    /// The value of a property that makes most of a difference. A property with one value explains nothing.
    private static func mainCause(
        _ property: TelemetryProperty, of figure: Figure, _ difference: Double, _ before: TelemetryTotals, _ after: TelemetryTotals
    ) -> Cause? {
        let (old, new) = (before.parts[property] ?? [:], after.parts[property] ?? [:])
        let names = Set(old.keys).union(new.keys)
        guard names.count > 1 || property == .code else { return nil }
        let causes = names.map { name in
            let values = (figure.value(old[name], of: before.all), figure.value(new[name], of: after.all))
            return Cause(property: property, name: name, share: (values.1 - values.0) / difference, before: values.0, after: values.1)
        }
        let main = causes.max { ($0.share, $1.name) < ($1.share, $0.name) }
        return main.flatMap { $0.share >= shareLeast ? $0 : nil }
    }
}

/// A property by which requests are told apart in a comparison.
package enum TelemetryProperty: String, CaseIterable, Sendable {
    case operation, container, client, code, index
}

/// What a comparison needs of a period.
package struct TelemetryTotals: Sendable {
    package private(set) var all = TelemetrySums.PartSums()
    /// parts[property][name]
    package private(set) var parts: [TelemetryProperty: [String: TelemetrySums.PartSums]] = [:]

    package init() {}

    package mutating func add(_ series: TelemetrySeries, _ sums: TelemetrySums) {
        let whole = TelemetrySums.PartSums(requests: sums.requests, errors: sums.errors + sums.itemErrors, microseconds: sums.microseconds)
        all.merge(whole)
        add(whole, .operation, series.operation)
        if !series.container.isEmpty { add(whole, .container, "\(series.container) \(series.environment)") }
        for (part, sums) in sums.parts { add(sums, part.kind.property, part.name) }
    }

    private mutating func add(_ sums: TelemetrySums.PartSums, _ property: TelemetryProperty, _ name: String) {
        parts[property, default: [:]][name, default: TelemetrySums.PartSums()].merge(sums)
    }
}

extension TelemetryPart.Kind {
    fileprivate var property: TelemetryProperty {
        switch self {
        case .code: .code
        case .client: .client
        case .index: .index
        }
    }
}

extension TelemetryChange.Figure {
    /// The share of a part in the figure of the whole: the shares of all values of a property sum up to the figure.
    fileprivate func value(_ part: TelemetrySums.PartSums?, of whole: TelemetrySums.PartSums) -> Double {
        guard let part else { return 0 }
        switch self {
        case .requests: return Double(part.requests)
        case .errorRate: return whole.requests == 0 ? 0 : Double(part.errors) / Double(whole.requests)
        case .latency: return whole.requests == 0 ? 0 : Double(part.microseconds) / 1000 / Double(whole.requests)
        }
    }
}
