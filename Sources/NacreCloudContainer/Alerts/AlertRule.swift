import NacreCloudAccounts
package import NacreCloudStorage
package import NacreCloudWire

/// A rule that says when the operator is told that something is wrong. See `docs/alerts.md`.
package struct AlertRule: RegistryEntry {
    package static let kind = EntryKind.alertRule

    package var name: String
    package var measure: AlertMeasure
    /// The figure from which the threshold is met, in the unit of the measure. A figure that is bad when small must be
    /// below it.
    package var limit: Double
    /// Seconds that the threshold must be met before the alert begins.
    package var holdSeconds: Double
    /// Seconds after which an alert that goes on is told again.
    package var repeatSeconds: Double
    package var scope: AlertScope
    /// Traffic alone: seconds back from now that are looked at.
    package var spanSeconds: Double?
    /// Traffic alone: requests below which nothing is judged.
    package var least: Int?
    /// Errors alone: `client`, `server` or an error code.
    package var errors: String?
    /// Latency alone: 50, 95 or 99.
    package var percentile: Int?
    /// Mail addresses that the operator gave.
    package var mail: [String]
    package var webhook: AlertWebhook?

    package init(
        name: String, measure: AlertMeasure, limit: Double, holdSeconds: Double = 300, repeatSeconds: Double = Self.usualRepeat,
        scope: AlertScope = AlertScope()
    ) {
        (self.name, self.measure, self.limit, self.scope) = (name, measure, limit, scope)
        (self.holdSeconds, self.repeatSeconds, mail) = (holdSeconds, repeatSeconds, [])
    }

    package static let usualRepeat: Double = 4 * 3600
    /// The spans of traffic that a rule may look at.
    package static let spans: [Double] = [300, 3600]
    package static let percentiles = [50, 95, 99]
    package static let usualLeast = 20
}

/// The part of the traffic, or the container, that a rule looks at; nil: all.
package struct AlertScope: Codable, Hashable, Sendable {
    package var container: String?
    package var environment: DatabaseKey.Environment?
    package var databases: Databases?
    /// The path of requests, such as `records/modify`.
    package var operation: String?

    /// Databases of all users together, never one user's.
    package enum Databases: String, Codable, Hashable, Sendable {
        case `public`, `private`
    }

    package init(
        container: String? = nil, environment: DatabaseKey.Environment? = nil, databases: Databases? = nil, operation: String? = nil
    ) {
        (self.container, self.environment, self.databases, self.operation) = (container, environment, databases, operation)
    }

    /// The scope in words, for people.
    package var text: String { isServer ? "the server" : parts.joined(separator: ", ") }

    /// Whether it is the whole server. Only its figures are exact: figures of a part of the server are those that
    /// telemetry shows, because they could be of a few users' private databases.
    package var isServer: Bool { parts.isEmpty }

    private var parts: [String] {
        [container, environment?.rawValue, databases.map { "\($0.rawValue) databases" }, operation].compactMap { $0 }
    }
}

/// A receiver of alerts over HTTP.
package struct AlertWebhook: Codable, Hashable, Sendable {
    package var url: String
    /// The key of signatures, sealed by the server.
    package var sealedSecret: String

    package init(url: String, sealedSecret: String) {
        (self.url, self.sealedSecret) = (url, sealedSecret)
    }
}

// MARK: Rules without an operator's

extension AlertRule {
    /// The rules that a server has without being told, by log alone. A rule of the same name takes the place of one.
    /// - Parameters:
    ///   - measures: the measures that this server can read.
    ///   - backupSeconds: the interval of scheduled backups; nil: there are none.
    package static func defaults(reading measures: Set<AlertMeasure>, backupSeconds: Int?) -> [AlertRule] {
        var errors = AlertRule(name: "server-errors", measure: .errors, limit: 5, holdSeconds: 0)
        (errors.errors, errors.spanSeconds, errors.least) = ("server", 300, usualLeast)
        let backups = backupSeconds.map {
            [
                AlertRule(name: "backup-age", measure: .backupAge, limit: 2 * Double($0), holdSeconds: 0),
                AlertRule(name: "backup-failed", measure: .backupFailed, limit: 1, holdSeconds: 0),
            ]
        }
        let all =
            [AlertRule(name: "disk-free", measure: .diskFree, limit: 10, holdSeconds: 60)] + (backups ?? [])
            + [AlertRule(name: "tasks-parked", measure: .tasksParked, limit: 1, holdSeconds: 0), errors]
        return all.filter { measures.contains($0.measure) }
    }

    /// Returns these rules with the defaults that none of them replaces, in the order of names.
    package static func all(_ given: [AlertRule], defaults: [AlertRule]) -> [AlertRule] {
        let names = Set(given.map(\.name))
        return (given + defaults.filter { !names.contains($0.name) }).sorted { $0.name < $1.name }
    }
}

// MARK: Faults

extension AlertRule {
    /// The longest time of a hold or a repetition: 30 days.
    private static let secondsMax: Double = 30 * 86_400
    private static let nameCharacters = 64
    private static let addressesMax = 10

    /// The fault of the rule itself; nil: none.
    /// - Parameter measures: the measures that this server can read.
    package func fault(reading measures: Set<AlertMeasure>) -> ServerError? {
        guard Self.isName(name) else {
            return .badValue("name", "invalid name", remedy: "Take up to \(Self.nameCharacters) letters, digits and hyphens.")
        }
        guard measures.contains(measure) else { return unreadable }
        guard limit.isFinite, limit > 0, measure.unit != .percent || limit <= 100 else {
            return .badValue("limit", "invalid limit", remedy: "Give a number above 0\(measure.unit == .percent ? ", up to 100" : "").")
        }
        guard (0...Self.secondsMax).contains(holdSeconds) else {
            return .badValue("holdSeconds", "invalid time", remedy: "Give seconds from 0 to 2592000, which are 30 days.")
        }
        guard (60...Self.secondsMax).contains(repeatSeconds) else {
            return .badValue("repeatSeconds", "invalid time", remedy: "Give seconds from 60 to 2592000, which are 30 days.")
        }
        guard mail.count <= Self.addressesMax, mail.allSatisfy(Letter.isMailable) else {
            return .badValue("mail", "invalid addresses", remedy: "Give up to \(Self.addressesMax) plain mail addresses.")
        }
        return scopeFault ?? trafficFault
    }

    private var unreadable: ServerError {
        switch measure {
        case .backupAge, .backupFailed:
            .badValue("kind", "this server makes no backups by itself", remedy: "Start it with --backup-dir, then add the rule.")
        default:
            .badValue("kind", "this server does not read \(measure.rawValue)", remedy: "nacre alert list names what it watches; see docs/alerts.md.")
        }
    }

    private var scopeFault: ServerError? {
        if let container, let fault = Names.containerFault(container) { return fault }
        let isOfContainer = measure.isOfTraffic || measure == .quotaUsed
        guard isOfContainer || scope == AlertScope() else {
            return .badValue("container", "\(measure.rawValue) is one figure of the whole server", remedy: "Leave the scope out.")
        }
        guard measure.isOfTraffic || scope.databases == nil && scope.operation == nil else {
            return .badValue("database", "\(measure.rawValue) is of a container's public database", remedy: "Leave database and operation out.")
        }
        guard measure != .quotaUsed || scope.container != nil && scope.environment != nil else {
            return .badValue("container", "no container or environment", remedy: "Name both: a quota is theirs.")
        }
        guard scope.operation.map({ Self.isText($0) }) ?? true else {
            return .badValue("operation", "invalid operation", remedy: "Give the end of a path, such as records/modify.")
        }
        return nil
    }

    private var container: String? { scope.container }

    private var trafficFault: ServerError? {
        guard measure.isOfTraffic || spanSeconds == nil && least == nil else {
            return .badValue("span", "\(measure.rawValue) has no span", remedy: "Leave span and least out.")
        }
        guard (errors != nil) == (measure == .errors), errors.map({ Self.isText($0) }) ?? true else {
            return .badValue("errors", "which errors?", remedy: "For errors alone give client, server, or a code such as ZONE_BUSY.")
        }
        guard (percentile != nil) == (measure == .latency), percentile.map(Self.percentiles.contains) ?? true else {
            return .badValue("percentile", "which percentile?", remedy: "For latency alone give 50, 95 or 99.")
        }
        guard measure.isOfTraffic else { return nil }
        guard let spanSeconds, measure == .unlike ? spanSeconds == 3600 : Self.spans.contains(spanSeconds) else {
            return .badValue("span", "invalid span", remedy: measure == .unlike ? "unlike looks at an hour: 1h." : "Take 5m or 1h.")
        }
        guard let least, (1...1_000_000_000).contains(least) else {
            return .badValue("least", "invalid number of requests", remedy: "Give a number from 1 on.")
        }
        return nil
    }

    private static func isName(_ text: String) -> Bool {
        (1...nameCharacters).contains(text.utf8.count) && !text.hasPrefix("-")
            && text.utf8.allSatisfy { Names.isLetter($0) || Names.isDigit($0) || $0 == UInt8(ascii: "-") }
    }

    /// Whether a text may be compared with names of operations and errors, and shown.
    private static func isText(_ text: String) -> Bool {
        (1...nameCharacters).contains(text.utf8.count)
            && text.utf8.allSatisfy { Names.isLetter($0) || Names.isDigit($0) || "-_/:".utf8.contains($0) }
    }
}
