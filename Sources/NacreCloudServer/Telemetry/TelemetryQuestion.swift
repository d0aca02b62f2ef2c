import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire
import NacreHTTPServer

/// A question about telemetry, as the admin API takes it.
struct TelemetryQuestion: Sendable {
    enum Last: String, CaseIterable, Sendable {
        case hour, day, week, month, year
    }

    /// The property by which an answer has its lines.
    enum Grouping: String, CaseIterable, Sendable {
        case operation, database, container, code, client, index
    }

    /// The period, whose ends are ends of slots that are kept.
    var span: TelemetrySpan
    /// The length of a bar in milliseconds.
    var bar: Int64
    var filter = TelemetryFilter()
    var grouping: Grouping?
    /// Whether the period of the same length before is compared.
    var compares = false

    /// The period before.
    var before: TelemetrySpan { span.lowerBound - (span.upperBound - span.lowerBound)..<span.lowerBound }

    var bars: [TelemetrySpan] {
        stride(from: span.lowerBound, to: span.upperBound, by: Int64.Stride(bar)).map { $0..<min($0 + bar, span.upperBound) }
    }

    /// The last period of a length. It ends with the slot of now, in the tier that is also kept of the period before.
    init(_ last: Last, at now: Timestamp) {
        let day = TelemetryTier.days.milliseconds
        let (length, tier): (Int64, TelemetryTier) =
            switch last {
            case .hour: (TelemetryTier.hours.milliseconds, .minutes)
            case .day: (day, .hours)
            case .week: (7 * day, .hours)
            case .month: (30 * day, .days)
            case .year: (365 * day, .days)
            }
        let end = (tier.slot(of: now) + 1) * tier.milliseconds
        self.init(span: end - length..<end)
    }

    private init(span: TelemetrySpan) {
        self.span = span
        let length = span.upperBound - span.lowerBound
        let widths: [Int64] = [10_000, 60_000, 300_000, 3_600_000, 6 * 3_600_000, 86_400_000, 7 * 86_400_000]
        bar = widths.first { width in length / width <= Self.barsMax } ?? length / Self.barsMax + 1
    }

    private static let barsMax: Int64 = 60

    /// The period between two times, extended to whole slots of the tier that is kept of its beginning.
    private init(from: Int64, to: Int64, at now: Timestamp) {
        let age = now.millisecondsSince1970 - from
        let tier = TelemetryTier.allCases.first { age <= Int64($0.slotsKept) * $0.milliseconds } ?? .days
        let end = tier.slot(milliseconds: to - 1) + 1
        self.init(span: tier.slot(milliseconds: from) * tier.milliseconds..<end * tier.milliseconds)
    }

    /// - Throws: `BAD_REQUEST` that names the parameter.
    init(_ request: HTTPRequest, at now: Timestamp) throws {
        let (from, to) = (try Self.time("from", request), try Self.time("to", request))
        if let from {
            let to = to ?? now.millisecondsSince1970
            guard request.query("last") == nil else { throw Self.fault("last", "both last and from", "Give one of them.") }
            guard from < to else { throw Self.fault("to", "the period ends before it begins", "Give milliseconds since 1970 after from.") }
            self.init(from: from, to: to, at: now)
        } else {
            guard to == nil else { throw Self.fault("from", "to without from", "Give both, or last.") }
            self.init(try Self.word("last", request) ?? .hour, at: now)
        }
        let databases = try request.query("database").map { name in
            // The two names of a user's databases mean the same row.
            guard let scope = DatabaseKey.Scope(rawValue: name), scope != .registry else {
                guard let databases = TelemetrySeries.Databases(rawValue: name), databases != .none else {
                    throw Self.fault("database", "unknown database", "It is public, private or shared; the last two are one.")
                }
                return databases
            }
            return TelemetrySeries.Databases(scope)
        }
        filter = TelemetryFilter(
            operation: request.query("operation"), databases: databases, container: request.query("container"),
            environment: try request.query("environment").map { try AdminAPI.environment($0).rawValue })
        grouping = try Self.word("by", request)
        if let compare = request.query("compare") {
            guard compare == "previous" else { throw Self.fault("compare", "unknown period", "It is previous.") }
            compares = true
        }
    }

    private static func word<Word: RawRepresentable & CaseIterable>(_ name: String, _ request: HTTPRequest) throws -> Word?
    where Word.RawValue == String {
        try request.query(name).map { text in
            guard let word = Word(rawValue: text) else {
                throw fault(name, "unknown value", "It is one of \(Word.allCases.map(\.rawValue).joined(separator: ", ")).")
            }
            return word
        }
    }

    /// A time in milliseconds since 1970, within the years that a `Timestamp` holds.
    private static func time(_ name: String, _ request: HTTPRequest) throws -> Int64? {
        try request.query(name).map { text in
            guard let time = Int64(text), (0...Timestamp.maximumMillisecondsSince1970).contains(time) else {
                throw fault(name, "not a time", "Give milliseconds since 1970.")
            }
            return time
        }
    }

    private static func fault(_ field: String, _ reason: String, _ remedy: String) -> ServerError {
        ServerError(.badRequest, reason, field: field, remedy: remedy)
    }
}
