import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire

extension TelemetryRecorder {
    /// The sums of a period, for the server's own decisions.
    /// - Parameters:
    ///   - from: the beginning, and `to` the end. Only slots that lie between them count: give ends of hours for times
    ///     more than a day ago, and of minutes for times more than an hour ago.
    ///   - shownOnly: whether figures of private and shared databases are left out that `answer(to:)` leaves out.
    ///     Without that nobody may be shown the sums of a part of the server.
    func sums(of filter: TelemetryFilter, from: Timestamp, to: Timestamp, shownOnly: Bool = false) async throws -> TelemetrySums {
        let span = from.millisecondsSince1970..<max(from, to).millisecondsSince1970
        return try await transaction { table in
            var all = TelemetrySums()
            try table.eachRow(in: [span], admitting: filter, shownOnly: shownOnly) { _, _, sums in all.merge(sums) }
            return all
        }
    }

    /// Answers a question. Figures of private and shared databases that are sums over fewer than five users are left
    /// out.
    func answer(to question: TelemetryQuestion) async throws -> AdminMessages.Telemetry {
        try await transaction { table in
            var (total, lines, totals) = (TelemetryLine(), TelemetryLines(question.grouping), TelemetryTotals())
            try table.eachRow(in: [question.span], admitting: question.filter) { _, series, sums in
                total.add(series, sums)
                lines.add(series, sums)
                totals.add(series, sums)
            }
            var bars = question.bars.map { AdminMessages.TelemetryBar(start: $0.lowerBound, requests: 0, errors: 0) }
            try table.eachRow(in: question.bars, admitting: question.filter) { index, _, sums in
                bars[index].requests += sums.requests
                bars[index].errors += sums.errors
            }
            var answer = AdminMessages.Telemetry(
                from: question.span.lowerBound, to: question.span.upperBound, hasHidden: question.filter.mayHide, total: total.message(),
                lines: lines.messages, bars: bars)
            if question.compares {
                var (before, totalsBefore) = (TelemetryLine(), TelemetryTotals())
                try table.eachRow(in: [question.before], admitting: question.filter) { _, series, sums in
                    before.add(series, sums)
                    totalsBefore.add(series, sums)
                }
                answer.before = before.message()
                answer.changes = TelemetryChange.between(totalsBefore, totals).map(AdminMessages.TelemetryChange.init)
            }
            return answer
        }
    }
}

/// The sums of a line, with its users.
private struct TelemetryLine {
    private var sums = TelemetrySums()
    private var users = TelemetryUsers()
    /// The last bytes of each series that says what is stored.
    private var stored: [TelemetrySeries: TelemetrySums.Stored] = [:]

    mutating func add(_ series: TelemetrySeries, _ sums: TelemetrySums) {
        self.sums.merge(sums)
        if let new = sums.stored {
            if new.milliseconds >= stored[series]?.milliseconds ?? .min { stored[series] = new }
        } else {
            // The owners of stored records are no users who asked.
            users.add(sums)
        }
    }

    func message(_ series: TelemetrySeries? = nil, of grouping: TelemetryQuestion.Grouping? = nil) -> AdminMessages.TelemetryLine {
        let isWhole = grouping == nil
        func milliseconds(_ part: Double) -> Double? { sums.latency.percentile(part).map { $0.rounded() / 1000 } }
        var line = AdminMessages.TelemetryLine(requests: sums.requests, errors: sums.errors + sums.itemErrors)
        if let series {
            if isWhole || grouping == .operation { line.operation = series.operation }
            if isWhole || grouping == .database { line.database = series.databases.rawValue }
            if isWhole || grouping == .container { (line.container, line.environment) = (series.container, series.environment) }
        }
        (line.clientErrors, line.serverErrors, line.itemErrors) = (sums.clientErrors, sums.serverErrors, sums.itemErrors)
        (line.p50, line.p95, line.p99) = (milliseconds(0.5), milliseconds(0.95), milliseconds(0.99))
        (line.bytesIn, line.bytesOut, line.asked, line.answered) = (sums.bytesIn, sums.bytesOut, sums.asked, sums.answered)
        line.users = users.count.map(String.init) ?? "fewer than \(UserSketch.fewest)"
        line.storedBytes = stored.isEmpty ? nil : stored.values.reduce(0) { $0 &+ $1.bytes }
        return line
    }
}

/// The lines of an answer, by series or by a property.
private struct TelemetryLines {
    private let grouping: TelemetryQuestion.Grouping?
    private var series: [TelemetrySeries: TelemetryLine] = [:]
    private var parts: [String: TelemetrySums.PartSums] = [:]

    /// Lines of an answer, at most; those with the most requests come first.
    private static let most = 500

    init(_ grouping: TelemetryQuestion.Grouping?) { self.grouping = grouping }

    mutating func add(_ series: TelemetrySeries, _ sums: TelemetrySums) {
        let kind: TelemetryPart.Kind
        switch grouping {
        case nil: return self.series[series, default: TelemetryLine()].add(series, sums)
        case .operation: return self.series[TelemetrySeries(operation: series.operation), default: TelemetryLine()].add(series, sums)
        case .database: return self.series[TelemetrySeries(operation: "", databases: series.databases), default: TelemetryLine()].add(series, sums)
        case .container:
            let place = TelemetrySeries(operation: "", container: series.container, environment: series.environment)
            return self.series[place, default: TelemetryLine()].add(series, sums)
        case .code: kind = .code
        case .client: kind = .client
        case .index: kind = .index
        }
        for (part, sums) in sums.parts where part.kind == kind { parts[part.name, default: TelemetrySums.PartSums()].merge(sums) }
    }

    var messages: [AdminMessages.TelemetryLine] {
        let ofSeries = series.sorted { $0.key.text < $1.key.text }.map { $0.value.message($0.key, of: grouping) }
        let ofParts = parts.sorted { $0.key < $1.key }.map { name, sums in
            var line = AdminMessages.TelemetryLine(requests: sums.requests, errors: sums.errors)
            switch grouping {
            case .code: line.code = name
            case .client: line.client = name
            default: line.index = name
            }
            return line
        }
        return Array((ofSeries + ofParts).sorted { $0.requests > $1.requests }.prefix(Self.most))
    }
}
