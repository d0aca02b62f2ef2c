import FoundationEssentials
import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire
import NacreLocks
import NacreTelemetry

/// Reads the alert rules' figures every half minute while the server runs, and tells the operator of alerts.
///
/// One server at a time has a data folder, so one watch evaluates its rules. The states are held in memory and kept in
/// the registry. A full disk therefore keeps no alert back: the states are written once they can be.
final class AlertWatch: Sendable {
    /// Time between two looks.
    static let rest: Duration = .seconds(30)
    /// Tries of one message by one way, one at each look.
    static let attempts = 4
    /// Messages that wait for another try; further ones are given up.
    private static let waitingMax = 200
    /// Messages that are sent at the same time.
    private static let sentTogether = 8

    private struct Known: Sendable {
        /// states[rule]; nil: not read yet.
        var states: [String: AlertState]?
        /// Rules whose states are not kept as they are now.
        var unkept: Set<String> = []
        /// The messages that are still to be sent, and whether they are kept.
        var untold = UntoldAlerts()
        var isUntoldKept = true
        /// Whether the log says that they could not be kept.
        var isFailureTold = false
        var rules: [AlertRule] = []
        var silences: [String: AlertSilence] = [:]
        /// readings[rule]: the figures of the last look.
        var readings: [String: AlertReading] = [:]
    }

    /// A message that is to be sent by one way.
    private struct Delivery: Sendable {
        var message: AlertMessage
        var way: AlertWay
        var attempts = 0

        init(message: AlertMessage, way: AlertWay) {
            (self.message, self.way) = (message, way)
        }

        /// Returns nil for a message of a rule that is gone, or has the way no longer.
        init?(_ kept: UntoldAlerts.Delivery, _ rules: [AlertRule]) {
            guard let rule = rules.first(where: { $0.name == kept.rule }),
                let message = try? JSONDecoder().decode(AlertMessage.self, from: Data(kept.message.utf8)),
                let way = kept.mail.map(AlertWay.mail) ?? rule.webhook.map(AlertWay.webhook), AlertTeller.ways(of: rule).contains(way)
            else { return nil }
            self.init(message: message, way: way)
        }

        var kept: UntoldAlerts.Delivery? {
            guard let message = try? AdminProblem.encoder.encode(message) else { return nil }
            let mail: String? = if case .mail(let address) = way { address } else { nil }
            return UntoldAlerts.Delivery(rule: self.message.alert, message: String(decoding: message, as: UTF8.self), mail: mail)
        }
    }

    let registry: Registry
    let readings: any AlertReadings
    let teller: AlertTeller
    private let clock: ServerClock
    private let logger: Logger
    private let defaults: [AlertRule]
    private let known = Locked(Known())
    private let work = BackgroundWork()

    /// - Parameter backupSeconds: the interval of scheduled backups; nil: there are none.
    init(_ registry: Registry, _ readings: any AlertReadings, _ teller: AlertTeller, backupSeconds: Int?, clock: ServerClock, logger: Logger) {
        (self.registry, self.readings, self.teller, self.clock, self.logger) = (registry, readings, teller, clock, logger)
        defaults = AlertRule.defaults(reading: readings.measures, backupSeconds: backupSeconds)
    }

    func start() {
        work.start { [self] in
            var waiting: [Delivery] = []
            while !Task.isCancelled {
                waiting = await send(await look(waiting))
                // The next server sends what this one leaves.
                if Task.isCancelled { break }
                note(untold: waiting)
                await keep()
                try? await clock.sleep(Self.rest)
            }
        }
    }

    /// Stops the watch, and returns when the look under way has ended. Messages that wait are sent by the next server.
    func stop() async { await work.stop() }

    // MARK: Looking

    /// Reads every rule's figure and moves its state on.
    /// - Parameter waiting: the messages that are still to be sent.
    /// - Returns: these, the new ones, and at a start those of the server before. The log has them already.
    private func look(_ waiting: [Delivery]) async -> [Delivery] {
        guard let (states, left) = await statesNow() else { return waiting }
        let (rules, silences) = await rulesNow()
        let now = clock.now()
        var (after, seen): ([String: AlertState], [String: AlertReading]) = ([:], [:])
        var told: [(message: AlertMessage, rule: AlertRule)] = []
        for rule in rules {
            let reading = await Self.reading(of: rule, from: readings, at: now)
            let before = states[rule.name] ?? AlertState()
            let (state, news) = before.next(reading, of: rule, isSilenced: silences[rule.name]?.isHeld(at: now) ?? false, at: now)
            (after[rule.name], seen[rule.name]) = (state.phase == .fine ? nil : state, reading)
            guard let news else { continue }
            let since = (news == .ended ? before : state).since
            told.append((AlertMessage(.init(news), of: rule, reading: reading, since: since, at: now, server: teller.server), rule))
        }
        let changed = Set(states.keys).union(after.keys).filter { states[$0] != after[$0] }
        let (all, figures) = (after, seen)
        known.withLock { known in
            (known.states, known.readings) = (all, figures)
            known.unkept.formUnion(changed)
        }
        let untold =
            left.deliveries.compactMap { delivery($0, rules) } + waiting
            + told.flatMap { message, rule in AlertTeller.ways(of: rule).map { Delivery(message: message, way: $0) } }
        note(untold: untold)
        // Kept before it is told: the next server sends what this one has not sent when it dies, and may send it twice.
        await keep()
        for (message, rule) in told { teller.log(message, of: rule) }
        return untold
    }

    /// Returns a message that the server before has left; nil, with a line in the log: its rule has the way no longer.
    private func delivery(_ left: UntoldAlerts.Delivery, _ rules: [AlertRule]) -> Delivery? {
        if let delivery = Delivery(left, rules) { return delivery }
        logger.log(
            .error, "An alert could not be told",
            [.name: .string(left.rule), .reason: "the server ended before it was sent, and the rule or its way is gone since"])
        return nil
    }

    private func note(untold deliveries: [Delivery]) {
        let untold = UntoldAlerts(deliveries.prefix(Self.waitingMax).compactMap(\.kept))
        known.withLock { known in
            if known.untold != untold { (known.untold, known.isUntoldKept) = (untold, false) }
        }
    }

    private static func reading(of rule: AlertRule, from readings: any AlertReadings, at now: Timestamp) async -> AlertReading {
        (try? await rule.reading(from: readings, at: now)) ?? .unknown
    }

    /// The states of rules, and the first time the messages that another server left; nil: they were never read, and
    /// cannot be.
    private func statesNow() async -> (states: [String: AlertState], left: UntoldAlerts)? {
        if let states = known.withLock({ $0.states }) { return (states, UntoldAlerts()) }
        guard let states = try? await registry.alertStates() else { return nil }
        let left: UntoldAlerts
        do {
            left = try await registry.untoldAlerts()
        } catch let error as StoreError where error.code != .corrupt {
            return nil
        } catch {
            // Messages that are damaged keep no alert back.
            left = UntoldAlerts()
        }
        known.withLock { $0.untold = left }
        return (states, left)
    }

    /// The rules and silences, or those of the last look if the store cannot be read.
    private func rulesNow() async -> (rules: [AlertRule], silences: [String: AlertSilence]) {
        if let found = try? await rules() { known.withLock { ($0.rules, $0.silences) = found } }
        return known.withLock { ($0.rules, $0.silences) }
    }

    private func rules() async throws -> (rules: [AlertRule], silences: [String: AlertSilence]) {
        (AlertRule.all(try await registry.alertRules(), defaults: defaults), try await registry.alertSilences())
    }

    private func keep() async {
        let (unkept, untold) = known.withLock { known in
            let unkept = Dictionary(known.unkept.map { ($0, known.states?[$0]) }, uniquingKeysWith: { first, _ in first })
            return (unkept, known.isUntoldKept ? nil : known.untold)
        }
        guard !unkept.isEmpty || untold != nil else { return }
        do {
            try await registry.keepAlertStates(unkept, untold: untold)
            known.withLock { ($0.unkept, $0.isUntoldKept, $0.isFailureTold) = ([], true, false) }
        } catch {
            let isNew = known.withLock { known in
                defer { known.isFailureTold = true }
                return !known.isFailureTold
            }
            guard isNew else { return }
            logger.log(.warning, "The states of alerts could not be kept, and will be", [.error: .string(String(describing: error))])
        }
    }

    // MARK: Sending

    /// Sends messages, and returns those that are tried again.
    private func send(_ deliveries: [Delivery]) async -> [Delivery] {
        var again: [Delivery] = []
        for start in stride(from: 0, to: deliveries.count, by: Self.sentTogether) {
            let part = deliveries[start..<min(start + Self.sentTogether, deliveries.count)]
            await withTaskGroup(of: (Delivery, AlertReport).self) { group in
                for delivery in part { group.addTask { [teller] in (delivery, await teller.send(delivery.message, by: delivery.way)) } }
                for await (delivery, report) in group where !report.isTaken && !Task.isCancelled {
                    var next = delivery
                    next.attempts += 1
                    if next.attempts < Self.attempts, again.count < Self.waitingMax { again.append(next) } else { giveUp(next, report) }
                }
            }
        }
        return again
    }

    private func giveUp(_ delivery: Delivery, _ report: AlertReport) {
        logger.log(
            .error, "An alert could not be told",
            [
                .name: .string(delivery.message.alert), .kind: .string(delivery.way.name), .reason: .string(report.said),
                .attempt: .int(delivery.attempts), .remedy: .string("Try its ways: nacre alert test \(delivery.message.alert)"),
            ])
    }

    // MARK: For administrators

    /// A rule with what is known of it.
    struct Listed: Sendable {
        var rule: AlertRule
        /// Whether the server has it without being told.
        var isDefault: Bool
        var state: AlertState
        var reading: AlertReading?
        var silence: AlertSilence?
    }

    func list() async throws -> [Listed] {
        let given = Set(try await registry.alertRules().map(\.name))
        let (rules, silences) = try await rules()
        let (states, figures) = known.withLock { ($0.states ?? [:], $0.readings) }
        return rules.map { rule in
            Listed(
                rule: rule, isDefault: !given.contains(rule.name), state: states[rule.name] ?? AlertState(), reading: figures[rule.name],
                silence: silences[rule.name])
        }
    }

    /// - Throws: `NOT_FOUND` if there is no rule of that name.
    func rule(_ name: String) async throws -> AlertRule {
        guard let rule = try await rules().rules.first(where: { $0.name == name }) else { throw ServerError.noAlertRule(name) }
        return rule
    }

    /// Whether the server has a rule of that name without being told.
    func isDefault(_ name: String) -> Bool { defaults.contains { $0.name == name } }

    /// Tells by all ways of a rule at once, with a message that is marked as a test.
    func test(_ name: String) async throws -> [(way: String, report: AlertReport)] {
        let rule = try await rule(name)
        let now = clock.now()
        let reading = await Self.reading(of: rule, from: readings, at: now)
        let message = AlertMessage(.test, of: rule, reading: reading, since: nil, at: now, server: teller.server)
        teller.log(message, of: rule)
        var reports: [(String, AlertReport)] = [("log", AlertReport(isTaken: true, said: "written"))]
        for way in AlertTeller.ways(of: rule) { reports.append((way.name, await teller.send(message, by: way))) }
        return reports
    }
}
