import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire
import NacreHTTPServer

/// Alert rules, their silences, and a try of their ways of telling. No answer has a secret but that of a new webhook.
extension AdminAPI {
    func addAlertRoutes(to router: inout Router) {
        router.get("/admin/1/alerts", listAlerts)
        router.post("/admin/1/alerts", bodyBytesMax: Limits.accountBodyBytes, addAlert)
        router.post("/admin/1/alerts/remove", bodyBytesMax: Limits.accountBodyBytes, removeAlert)
        router.post("/admin/1/alerts/test", bodyBytesMax: Limits.accountBodyBytes, testAlert)
        router.post("/admin/1/alerts/silence", bodyBytesMax: Limits.accountBodyBytes, silenceAlert)
        addMailRoutes(to: &router)
    }

    /// `GET /admin/1/alerts`
    @Sendable private func listAlerts(_: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        let kinds = AlertMeasure.allCases.filter(alerts.readings.measures.contains).map(\.rawValue)
        var list = try await alerts.list().map(AdminMessages.Alert.init)
        if ConsoleCaller.current?.role == .viewer {
            // The URL of a chat's webhook is its credential.
            for index in list.indices {
                list[index].mail = []
                list[index].webhook = list[index].webhook.map { Server.host(of: $0) ?? "" }
            }
        }
        return try answer(AdminMessages.Alerts(alerts: list, kinds: kinds))
    }

    /// `POST /admin/1/alerts`
    @Sendable private func addAlert(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        let asked = try await body(AdminMessages.NewAlert.self, of: request)
        var rule = try asked.rule()
        if let fault = rule.fault(reading: alerts.readings.measures) { throw fault }
        if let container = rule.scope.container { try await cloud.registry.requireContainer(container) }
        guard rule.mail.isEmpty || alerts.teller.postman != nil else {
            throw ServerError.badValue("mail", "this server sends no mail", remedy: "Start it with --smtp, --mail-from and --public-url.")
        }
        var secret: String?
        if let url = asked.webhook {
            let made = try alerts.teller.webhook(url)
            // A rule that is changed goes on with the secret that its receiver knows.
            let before = try await cloud.registry.alertRules().first { $0.name == rule.name }?.webhook
            rule.webhook = before?.url == url ? before : made.webhook
            secret = before?.url == url ? nil : made.secret
        }
        let isNew = try await cloud.registry.set(rule)
        return try answer(AdminMessages.AddedAlert(name: rule.name, isNew: isNew, secret: secret), isNew ? .created : .ok)
    }

    /// `POST /admin/1/alerts/remove`
    @Sendable private func removeAlert(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        let name = try await body(AdminMessages.NewAlertRemoval.self, of: request).name
        guard try await cloud.registry.removeAlertRule(name) != nil else {
            guard alerts.isDefault(name) else { throw ServerError.noAlertRule(name) }
            throw ServerError.badValue(
                "name", "this rule is the server's own", remedy: "Silence it (nacre alert silence), or add another rule of its name.")
        }
        return try answer(AdminMessages.RemovedAlert(name: name, hasDefault: alerts.isDefault(name)))
    }

    /// `POST /admin/1/alerts/test`
    @Sendable private func testAlert(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        let name = try await body(AdminMessages.NewAlertTest.self, of: request).name
        let ways = try await alerts.test(name).map { AdminMessages.AlertWay(way: $0.way, isTaken: $0.report.isTaken, said: $0.report.said) }
        return try answer(AdminMessages.AlertTest(name: name, ways: ways))
    }

    /// `POST /admin/1/alerts/silence`
    @Sendable private func silenceAlert(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        let asked = try await body(AdminMessages.NewAlertSilence.self, of: request)
        let silence = try asked.silence(at: cloud.now)
        _ = try await alerts.rule(asked.name)
        try await cloud.registry.setAlertSilence(silence, of: asked.name)
        return try answer(AdminMessages.SilencedAlert(name: asked.name, silence: silence.map(AdminMessages.AlertSilence.init)))
    }
}

extension AdminMessages.NewAlert {
    fileprivate func rule() throws -> AlertRule {
        guard let measure = AlertMeasure(rawValue: kind) else {
            throw ServerError.badValue("kind", "unknown kind", remedy: "Take one of \(AdminMessages.alertKinds.joined(separator: ", ")).")
        }
        let databases = try database.map { text in
            guard let databases = AlertScope.Databases(rawValue: text) else {
                throw ServerError.badValue("database", "unknown databases", remedy: "Take public or private.")
            }
            return databases
        }
        var rule = AlertRule(name: name, measure: measure, limit: limit)
        rule.scope = AlertScope(
            container: container, environment: try environment.map(AdminAPI.environment), databases: databases, operation: operation)
        if let holdSeconds { rule.holdSeconds = holdSeconds }
        if let repeatSeconds { rule.repeatSeconds = repeatSeconds }
        rule.spanSeconds = spanSeconds ?? (measure.isOfTraffic ? measure == .unlike ? 3600 : 300 : nil)
        rule.least = least ?? (measure.isOfTraffic ? AlertRule.usualLeast : nil)
        (rule.errors, rule.percentile, rule.mail) = (errors, percentile, mail ?? [])
        return rule
    }
}

extension AdminMessages.NewAlertSilence {
    private static let secondsMax = 30 * 86_400
    private static let characters = 1...200

    /// The silence that is asked for; nil: that there is none.
    fileprivate func silence(at now: Timestamp) throws(ServerError) -> AlertSilence? {
        guard let seconds else { return nil }
        guard (60...Self.secondsMax).contains(seconds) else {
            throw .badValue("seconds", "invalid time", remedy: "Give seconds from 60 to \(Self.secondsMax), which are 30 days.")
        }
        guard let by, Self.characters.contains(by.count) else { throw .badValue("by", "who is missing", remedy: "Name the person who silences it.") }
        guard let why, Self.characters.contains(why.count) else { throw .badValue("why", "why is missing", remedy: "Say in a few words why.") }
        return AlertSilence(until: now + Double(seconds), by: by, why: why)
    }
}

extension AdminMessages.AlertSilence {
    fileprivate init(_ silence: AlertSilence) {
        self.init(until: Timestamp(secondsSince2001: silence.until).millisecondsSince1970, by: silence.by, why: silence.why)
    }
}

extension AdminMessages.Alert {
    fileprivate init(_ listed: AlertWatch.Listed) {
        let (rule, scope, state) = (listed.rule, listed.rule.scope, listed.state)
        var figure: Double?
        if case .figure(let read) = listed.reading { figure = read }
        self.init(
            name: rule.name, kind: rule.measure.rawValue, limit: rule.limit, unit: rule.measure.unit.rawValue, holdSeconds: rule.holdSeconds,
            repeatSeconds: rule.repeatSeconds, spanSeconds: rule.spanSeconds, least: rule.least, container: scope.container,
            environment: scope.environment?.rawValue, database: scope.databases?.rawValue, operation: scope.operation, errors: rule.errors,
            percentile: rule.percentile, mail: rule.mail, webhook: rule.webhook?.url, isDefault: listed.isDefault, state: state.phase.rawValue,
            since: state.since.map { Timestamp(secondsSince2001: $0).millisecondsSince1970 }, figure: figure,
            silence: listed.silence.map(AdminMessages.AlertSilence.init))
    }
}
