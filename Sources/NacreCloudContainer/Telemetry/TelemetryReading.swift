package import NacreCloudStorage

/// A span of time of which telemetry is read, in milliseconds since 1970.
package typealias TelemetrySpan = Range<Int64>

extension TelemetryTable {
    /// Passes the rows that lie in spans to `body`, each part of the time once: a coarse row in place of the finer ones
    /// that it covers.
    /// - Parameters:
    ///   - spans: in order, without overlaps. A row counts to the span that holds its whole slot.
    ///   - shownOnly: whether rows of private and shared databases must be shown, and their parts of few users be
    ///     `other`; false for the server's own decisions.
    package func eachRow(
        in spans: [TelemetrySpan], admitting filter: TelemetryFilter = TelemetryFilter(), shownOnly: Bool = true,
        _ body: (_ span: Int, TelemetrySeries, TelemetrySums) -> Void
    ) throws {
        guard let first = spans.first, let last = spans.last else { return }
        // covered[key]: whether the row is counted, for rows that lie in a span.
        var covered: [TelemetryKey: Bool] = [:]
        for tier in TelemetryTier.allCases.reversed() {
            let start = tier.slot(milliseconds: first.lowerBound)
            let slots = start...max(start, tier.slot(milliseconds: last.upperBound - 1))
            var span = 0
            try eachEntry(of: tier, slots: slots) { key, entry in
                while span < spans.count - 1, spans[span].upperBound < key.end { span += 1 }
                guard spans[span].lowerBound <= key.start, key.end <= spans[span].upperBound else { return }
                guard let series = TelemetrySeries(text: key.series) else { return }
                let isCovered = isCovered(key, series, covered)
                let isShown = entry.state == .shown || !shownOnly
                covered[key] = isCovered || isShown
                guard !isCovered, isShown, filter.admits(series), let row = try? TelemetryRow(entry) else { return }
                body(span, series, shownOnly ? row.sums.told : row.sums)
            }
        }
    }

    /// Whether a coarser row is counted that holds the sums of this one: the row of its series, or of `other`.
    private func isCovered(_ key: TelemetryKey, _ series: TelemetrySeries, _ covered: [TelemetryKey: Bool]) -> Bool {
        var tier = key.tier.coarser
        while let next = tier {
            let coarse = key.within(next)
            if covered[coarse] ?? covered[TelemetryKey(coarse.tier, coarse.slot, series.other.text)] ?? false { return true }
            tier = next.coarser
        }
        return false
    }
}

/// The number of users in rows of several days. Users of two periods cannot be compared, so the figure is that of the
/// largest period: at least so many.
package struct TelemetryUsers: Sendable {
    /// days[salt], months[salt]
    private var days: [Int64: UserSketch] = [:]
    private var months: [Int64: UserSketch] = [:]

    package init() {}

    package mutating func add(_ sums: TelemetrySums) {
        days[sums.users.salt, default: UserSketch()].merge(sums.users)
        months[sums.monthUsers.salt, default: UserSketch()].merge(sums.monthUsers)
    }

    /// The number of users; nil: fewer than five.
    package var count: Int? {
        let largest = (Array(days.values) + Array(months.values)).max { $0.atLeast < $1.atLeast }
        guard let largest, largest.atLeast >= UserSketch.fewest else { return nil }
        return largest.estimate
    }
}
