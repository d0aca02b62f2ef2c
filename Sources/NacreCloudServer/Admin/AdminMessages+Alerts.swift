import NacreCloudContainer

extension AdminMessages {
    package static let alertKinds = AlertMeasure.allCases.map(\.rawValue)

    /// `POST /admin/1/alerts`: a rule, which takes the place of the one of its name.
    package struct NewAlert: Codable, Hashable, Sendable {
        package var name: String
        /// One of the kinds that `GET /admin/1/alerts` names.
        package var kind: String
        /// The figure from which the threshold is met, in the unit of the kind.
        package var limit: Double
        /// Seconds that the threshold must be met before the alert begins; nil: 300.
        package var holdSeconds: Double?
        /// Seconds after which an alert that goes on is told again; nil: four hours.
        package var repeatSeconds: Double?
        /// Seconds of traffic that are looked at: 300, the default, or 3600.
        package var spanSeconds: Double?
        /// Requests below which no traffic is judged; nil: 20.
        package var least: Int?
        package var container: String?
        package var environment: String?
        /// `public` or `private`, all of them together; nil: both.
        package var database: String?
        /// The end of a path, such as `records/modify`.
        package var operation: String?
        /// `client`, `server` or an error code.
        package var errors: String?
        package var percentile: Int?
        package var mail: [String]?
        package var webhook: String?

        package init(name: String, kind: String, limit: Double) {
            (self.name, self.kind, self.limit) = (name, kind, limit)
        }
    }

    package struct Alert: Codable, Hashable, Sendable {
        package var name: String
        package var kind: String
        package var limit: Double
        package var unit: String
        package var holdSeconds: Double
        package var repeatSeconds: Double
        package var spanSeconds: Double?
        package var least: Int?
        package var container: String?
        package var environment: String?
        package var database: String?
        package var operation: String?
        package var errors: String?
        package var percentile: Int?
        package var mail: [String]
        package var webhook: String?
        /// Whether the server has the rule without being told.
        package var isDefault: Bool
        /// `fine`, `pending` or `firing`.
        package var state: String
        /// The time since which the threshold is met, in milliseconds since 1970.
        package var since: Int64?
        /// The figure of the last look.
        package var figure: Double?
        package var silence: AlertSilence?
    }

    package struct AlertSilence: Codable, Hashable, Sendable {
        /// Milliseconds since 1970.
        package var until: Int64
        package var by: String
        package var why: String
    }

    /// `GET /admin/1/alerts`
    package struct Alerts: Codable, Hashable, Sendable {
        package var alerts: [Alert]
        /// The kinds that this server can read.
        package var kinds: [String]

        package init(alerts: [Alert], kinds: [String]) {
            (self.alerts, self.kinds) = (alerts, kinds)
        }
    }

    package struct AddedAlert: Codable, Hashable, Sendable {
        package var name: String
        /// false: it took the place of another.
        package var isNew: Bool
        /// The secret of the webhook's signatures, which is shown this once; absent without a new webhook.
        package var secret: String?
    }

    /// `POST /admin/1/alerts/remove`
    package struct NewAlertRemoval: Codable, Hashable, Sendable {
        package var name: String
        package init(name: String) { self.name = name }
    }

    package struct RemovedAlert: Codable, Hashable, Sendable {
        package var name: String
        /// Whether the server's own rule of that name is back.
        package var hasDefault: Bool
    }

    /// `POST /admin/1/alerts/test`
    package struct NewAlertTest: Codable, Hashable, Sendable {
        package var name: String
        package init(name: String) { self.name = name }
    }

    package struct AlertTest: Codable, Hashable, Sendable {
        package var name: String
        package var ways: [AlertWay]
    }

    package struct AlertWay: Codable, Hashable, Sendable {
        /// `log`, `mail` or `webhook`.
        package var way: String
        package var isTaken: Bool
        /// The answer of the other side, in words.
        package var said: String
    }

    /// `POST /admin/1/alerts/silence`
    package struct NewAlertSilence: Codable, Hashable, Sendable {
        package var name: String
        /// Seconds from now; nil ends the silence.
        package var seconds: Int?
        package var by: String?
        package var why: String?

        package init(name: String, seconds: Int?, by: String?, why: String?) {
            (self.name, self.seconds, self.by, self.why) = (name, seconds, by, why)
        }
    }

    package struct SilencedAlert: Codable, Hashable, Sendable {
        package var name: String
        package var silence: AlertSilence?
    }
}
