import FoundationEssentials
import NacreCloudContainer
import NacreCloudWire

/// A message about an alert, as its webhook gets it. It is made of the rule, a figure and times: it has no user, no
/// address, no zone and no record.
struct AlertMessage: Codable, Hashable, Sendable {
    enum Event: String, Codable, Sendable {
        case began, goesOn, ended
        /// The operator tries the ways of telling; nothing is wrong.
        case test

        init(_ news: AlertNews) {
            self =
                switch news {
                case .began: .began
                case .goesOn: .goesOn
                case .ended: .ended
                }
        }

        fileprivate var words: String {
            switch self {
            case .began: "began"
            case .goesOn: "goes on"
            case .ended: "ended"
            case .test: "is a test, nothing is wrong"
            }
        }
    }

    /// The name of the rule.
    var alert: String
    var event: Event
    var kind: String
    /// The part of the server that the rule looks at, in words.
    var scope: String
    /// Times in milliseconds since 1970: since when the threshold is met, and now.
    var since: Int64?
    var time: Int64
    /// nil: there is no figure now.
    var figure: Double?
    var limit: Double
    var unit: String
    var remedy: String
    /// The name of this server.
    var server: String
    /// All of it in one line, for people.
    var text: String

    init(_ event: Event, of rule: AlertRule, reading: AlertReading, since: Double?, at now: Timestamp, server: String) {
        (self.event, alert, kind) = (event, rule.name, rule.measure.rawValue)
        (scope, self.server, limit) = (rule.scope.text, server, rule.limit)
        self.since = since.map { Timestamp(secondsSince2001: $0).millisecondsSince1970 }
        time = now.millisecondsSince1970
        if case .figure(let figure) = reading { self.figure = figure }
        unit = rule.measure.unit.rawValue
        remedy = event == .ended ? "none needed" : rule.measure.remedy
        let shown = figure.map(rule.measure.unit.text) ?? "no figure"
        text = "\(alert) \(event.words): \(shown), limit \(rule.measure.unit.text(limit)), of \(scope)"
    }

    /// The subject and the plain text of a mail.
    var mail: (subject: String, body: String) {
        let began = since.map { "Since:      \(Self.text($0))\n" } ?? ""
        return (
            "[\(server)] \(alert) \(event.words)",
            """
            \(text)

            \(began)Now:        \(Self.text(time))
            What to do: \(remedy)

            The rule:   nacre alert show \(alert)
            Be quiet:   nacre alert silence \(alert) --for 4h --why "…"
            """
        )
    }

    /// A time as `2026-05-09T06:13:20Z`.
    static func text(_ milliseconds: Int64) -> String {
        Date(timeIntervalSinceReferenceDate: Timestamp(millisecondsSince1970: milliseconds).secondsSince2001).formatted(.iso8601)
    }
}
