import NacreCloudStorage
import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudContainer

/// Tests of the rules about alerts: their states, the comparison of hours, and what a rule may be.
@Suite struct AlertRuleTests {
    private static let disk = AlertRule(name: "disk", measure: .diskFree, limit: 10, holdSeconds: 60)
    private static let parked = AlertRule(name: "parked", measure: .tasksParked, limit: 10, holdSeconds: 0)

    private struct Step: Sendable {
        var seconds: Double
        var reading: AlertReading
        var isSilenced = false
        var phase: AlertState.Phase
        var news: AlertNews?

        init(_ seconds: Double, _ figure: Double?, silenced: Bool = false, _ phase: AlertState.Phase, _ news: AlertNews? = nil) {
            (self.seconds, reading, isSilenced) = (seconds, figure.map(AlertReading.figure) ?? .unknown, silenced)
            (self.phase, self.news) = (phase, news)
        }
    }

    private func follow(_ rule: AlertRule, _ steps: [Step], _ location: SourceLocation = #_sourceLocation) {
        var state = AlertState()
        for (index, step) in steps.enumerated() {
            let now = Timestamp(secondsSince2001: 1000 + step.seconds)
            let (next, news) = state.next(step.reading, of: rule, isSilenced: step.isSilenced, at: now)
            #expect(next.phase == step.phase && news == step.news, "step \(index): \(next), \(String(describing: news))", sourceLocation: location)
            state = next
        }
    }

    @Test func `an alert is pending until its threshold was met for long enough, is told once, and again after the repeat interval`() {
        let repeated = Self.disk.repeatSeconds
        follow(
            Self.disk,
            [
                Step(0, 10, .fine), Step(30, 9.9, .pending), Step(60, 9, .pending), Step(90, 9, .firing, .began), Step(120, 1, .firing),
                Step(90 + repeated - 1, 9, .firing), Step(90 + repeated, 9, .firing, .goesOn), Step(91 + 2 * repeated, nil, .firing, .goesOn),
                Step(92 + 2 * repeated, 12, .fine, .ended), Step(93 + 2 * repeated, 12, .fine),
            ])
        follow(Self.disk, [Step(0, 9, .pending), Step(30, 10, .fine), Step(60, 9, .pending), Step(90, 9, .pending)])
    }

    @Test func `an alert ends at once far from its threshold, and near it after five minutes without meeting it`() {
        follow(Self.parked, [Step(0, 10, .firing, .began), Step(30, 8, .fine, .ended)])
        follow(
            Self.parked,
            [
                Step(0, 10, .firing, .began), Step(30, 9.5, .firing), Step(300, 10, .firing), Step(330, 9, .firing), Step(629, 9, .firing),
                Step(630, 9, .fine, .ended),
            ])
        // 10 % of room is met by 9.9 %, and far from it is 11.2 %.
        follow(Self.disk, [Step(0, 9, .pending), Step(60, 9, .firing, .began), Step(90, 11, .firing), Step(120, 11.2, .fine, .ended)])
    }

    @Test func `a silence keeps a beginning back until it is over, and an end is told if the beginning was`() {
        follow(Self.parked, [Step(0, 10, silenced: true, .firing), Step(30, 10, .firing, .began), Step(60, 0, silenced: true, .fine, .ended)])
        follow(Self.parked, [Step(0, 10, silenced: true, .firing), Step(30, 0, silenced: true, .fine)])
        follow(
            Self.parked,
            [Step(0, 10, .firing, .began), Step(20_000, 10, silenced: true, .firing), Step(20_001, 10, .firing, .goesOn)])
    }

    @Test func `a figure that cannot be read changes nothing, and too little traffic counts as fine`() {
        follow(Self.parked, [Step(0, nil, .fine), Step(30, 10, .firing, .began), Step(900, nil, .firing)])
        let now = Timestamp(secondsSince2001: 1000)
        let fired = AlertState().next(.figure(10), of: Self.parked, isSilenced: false, at: now).state
        let calm = fired.next(.tooLittle, of: Self.parked, isSilenced: false, at: now + 1).state
        #expect(calm.phase == .firing && calm.next(.tooLittle, of: Self.parked, isSilenced: false, at: now + 301).news == .ended)
    }

    @Test(
        arguments: [
            // Three weeks are needed, and the least number of requests.
            (100, [100, 100, nil, nil], .tooLittle), (19, [19, 19, 19, 19], .tooLittle), (0, [0, 0, 0, 0], .tooLittle),
            // Half of the median is usual where the weeks are alike.
            (150, [100, 100, 100, 100], .figure(1)), (149, [100, 100, nil, 100], .figure(0.98)), (0, [100, 100, 100], .figure(2)),
            // Weeks that differ allow more: the median is 100, the deviations 40, 20, 20, 60, their median 30.
            (220, [60, 80, 120, 160], .figure(1)), (40, [60, 80, 120, 160], .figure(0.5)),
            // One odd week moves neither.
            (150, [100, 100, 100, 9000], .figure(1)), (20, [1, 1, 1, 1], .figure(38)),
        ] as [(Int64, [Int64?], AlertReading)])
    func `an hour is unlike those before beyond four times their median deviation, or half of their median`(
        requests: Int64, before: [Int64?], reading: AlertReading
    ) {
        #expect(HourComparison.reading(requests, before: before, least: 20) == reading)
    }

    @Test func `errors and latency are judged from the least number of requests on`() {
        var rule = AlertRule(name: "errors", measure: .errors, limit: 5)
        (rule.spanSeconds, rule.least, rule.errors) = (300, 20, "server")
        let traffic = AlertTraffic(requests: 40, clientErrors: 20, serverErrors: 2, errors: ["ZONE_BUSY": 4], milliseconds: [95: 250])
        #expect(traffic.reading(of: rule) == .figure(5) && AlertTraffic(requests: 19, serverErrors: 19).reading(of: rule) == .tooLittle)
        for (errors, figure) in [("client", 50), ("ZONE_BUSY", 10), ("CONFLICT", 0)] as [(String, Double)] {
            rule.errors = errors
            #expect(traffic.reading(of: rule) == .figure(figure))
        }
        (rule.measure, rule.errors, rule.percentile) = (.latency, nil, 95)
        #expect(traffic.reading(of: rule) == .figure(250))
        (rule.measure, rule.percentile) = (.requests, nil)
        #expect(traffic.reading(of: rule) == .figure(8))
    }

    @Test func `a rule that cannot be is refused by its field`() {
        let all = Set(AlertMeasure.allCases)
        func field(_ rule: AlertRule, _ measures: Set<AlertMeasure> = Set(AlertMeasure.allCases)) -> String? { rule.fault(reading: measures)?.field }
        func changed(_ change: (inout AlertRule) -> Void) -> AlertRule {
            var rule = Self.disk
            change(&rule)
            return rule
        }
        #expect(Self.disk.fault(reading: all) == nil && field(Self.disk, []) == "kind")
        for name in ["", "-x", "a b", "a\n", String(repeating: "x", count: 65)] { #expect(field(changed { $0.name = name }) == "name") }
        for limit in [0, -1, 101, Double.nan, .infinity] { #expect(field(changed { $0.limit = limit }) == "limit") }
        #expect(field(changed { $0.holdSeconds = -1 }) == "holdSeconds" && field(changed { $0.repeatSeconds = 59 }) == "repeatSeconds")
        #expect(field(changed { $0.mail = ["ada"] }) == "mail" && field(changed { $0.spanSeconds = 300 }) == "span")
        #expect(field(changed { $0.scope.container = "iCloud.com.example.Notes" }) == "container")
        #expect(field(changed { $0.measure = .quotaUsed }) == "container" && field(changed { $0.errors = "server" }) == "errors")
        let traffic = changed { ($0.measure, $0.spanSeconds, $0.least) = (.requests, 300, 20) }
        #expect(field(traffic) == nil)
        for span in [0, 60, 86_400] as [Double] {
            var rule = traffic
            rule.spanSeconds = span
            #expect(field(rule) == "span")
        }
        var rule = traffic
        rule.scope.operation = "a b"
        #expect(field(rule) == "operation")
        rule = traffic
        rule.measure = .latency
        #expect(field(rule) == "percentile")
    }

    @Test func `a server has rules without being told, of what it can read, until others take their names`() {
        let usual: Set<AlertMeasure> = [.diskFree, .tasksParked, .errors, .backupAge, .backupFailed]
        let defaults = AlertRule.defaults(reading: usual, backupSeconds: 3600)
        #expect(defaults.map(\.name) == ["disk-free", "backup-age", "backup-failed", "tasks-parked", "server-errors"])
        #expect(defaults.allSatisfy { $0.fault(reading: usual) == nil && $0.mail.isEmpty && $0.webhook == nil })
        #expect(defaults[1].limit == 7200)
        #expect(AlertRule.defaults(reading: [.tasksParked], backupSeconds: nil).map(\.name) == ["tasks-parked"])
        let given = AlertRule(name: "disk-free", measure: .diskFree, limit: 20)
        let all = AlertRule.all([given], defaults: defaults)
        #expect(all.map(\.name) == defaults.map(\.name).sorted() && all.contains(given))
    }

    @Test func `rules are bounded, and a state is kept unless it is fine`() async throws {
        let registry = TestCloud(try await Engine.memory.makeStore()).cloud.registry
        for number in 0..<Limits.alertRules {
            #expect(try await registry.set(AlertRule(name: "rule-\(number)", measure: .diskFree, limit: 10)))
        }
        await #expect(throws: ServerError.self) { try await registry.set(Self.parked) }
        #expect(try await !registry.set(AlertRule(name: "rule-1", measure: .diskFree, limit: 11)))
        var fired = AlertState()
        (fired.phase, fired.since) = (.firing, 1)
        try await registry.keepAlertStates(["a": fired, "b": AlertState()])
        #expect(try await registry.alertStates() == ["a": fired])
        try await registry.keepAlertStates(["a": nil])
        #expect(try await registry.alertStates().isEmpty)
    }
}
