import Foundation
import NacreCloudTestSupport
import Testing

/// Tests of the alerts, the scrape configuration and the dashboard in `docs/monitoring`.
@Suite(.timeLimit(.minutes(2)), .enabled(if: mayRun(Promtool.path != nil), "promtool is missing: apt-get install prometheus"))
struct MonitoringTests {
    private static let folder = Repository.url.appending(path: "docs/monitoring")

    private func text(_ name: String) throws -> String { try String(contentsOf: Self.folder.appending(path: name), encoding: .utf8) }

    @Test(arguments: [["check", "config", "prometheus.yml"], ["check", "rules", "nacre.rules.yml"], ["test", "rules", "nacre.rules.test.yml"]])
    func `promtool takes the examples, and each alert fires for a server that does badly alone`(_ arguments: [String]) async throws {
        let place = Self.folder.appending(path: arguments[2]).path
        let (status, output) = try await Promtool.run(Array(arguments.dropLast()) + [place])
        #expect(status == 0, "\(output)")
    }

    @Test func `the tests of alerts name each alert`() throws {
        let alerts = try text("nacre.rules.yml").matches(of: /alert: (\w+)/).map { String($0.1) }
        let tests = try text("nacre.rules.test.yml")
        #expect(alerts.count > 10 && alerts.allSatisfy { tests.contains("alertname=\"\($0)\"") })
    }

    @Test func `each expression of the dashboard is one for Prometheus`() async throws {
        let expressions = Self.expressions(try JSON(Array(text("nacre-dashboard.json").utf8)))
        #expect(expressions.count > 20)
        var rules = "groups:\n- name: dashboard\n  rules:\n"
        for (index, expression) in expressions.enumerated() {
            let plain = expression.replacingOccurrences(of: "$__rate_interval", with: "5m")
            rules += "  - record: panel:\(index)\n    expr: '\(plain.replacingOccurrences(of: "'", with: "''"))'\n"
        }
        let folder = try TemporaryFolder()
        let file = folder.path + "/rules.yml"
        try Data(rules.utf8).write(to: URL(filePath: file))
        let (status, output) = try await Promtool.run(["check", "rules", file])
        #expect(status == 0 && output.contains("\(expressions.count) rules found"), "\(output)")
    }

    @Test(arguments: ["nacre-dashboard.json", "nacre.rules.yml", "nacre.rules.test.yml"])
    func `a file of monitoring names only metrics that the server has`(_ name: String) async throws {
        let known = Set(MetricText(try await BusyServer.metrics.value).metrics.map(\.name))
        let used = Set(try text(name).matches(of: /\b(?:nacre|process)_[a-z_]+/).map { String($0.0) })
        #expect(used.count > 10)
        for metric in used {
            let family = ["_bucket", "_sum", "_count"].first { metric.hasSuffix($0) }.map { String(metric.dropLast($0.count)) }
            #expect(known.contains(metric) || family.map(known.contains) == true, "\(metric)")
        }
    }

    private static func expressions(_ json: JSON) -> [String] {
        switch json {
        case .object(let members): members.flatMap { key, value in key == "expr" ? [value.text].compactMap(\.self) : expressions(value) }
        case .array(let items): items.flatMap(expressions)
        default: []
        }
    }
}
