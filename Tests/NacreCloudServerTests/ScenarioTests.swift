import Testing

@Suite struct ScenarioTests {
    static let all =
        Scenario.records + Scenario.recordErrors + Scenario.zones + Scenario.changes + Scenario.credentials + Scenario.accounts + Scenario.http
        + Scenario.isolation + Scenario.values + Scenario.olderFeeds + Scenario.schemas + Scenario.queries
        + Scenario.queryErrors + Scenario.referenceRules + Scenario.opaqueValues + Scenario.answeredReferences + Scenario.deletions
        + Scenario.webSignIn + Scenario.codedBodies + Scenario.shares + Scenario.users + Scenario.roles + Scenario.sessions
        + Scenario.discovery + Scenario.subscriptions + Scenario.manifests + Scenario.enrolments

    @Test(arguments: all) func `a scenario comes true at the router`(_ scenario: Scenario) async throws {
        var run = try await ScenarioRun(scenario, overSocket: false)
        try await run.run()
    }

    /// Scenarios of all kinds. The router's answers are the same, so a few suffice to see the socket's part.
    private static let throughSocket = stride(from: 0, to: all.count, by: all.count / 20).map { all[$0] }

    @Test(arguments: throughSocket) func `a scenario comes true through a socket`(_ scenario: Scenario) async throws {
        var run = try await ScenarioRun(scenario, overSocket: true)
        try await run.run()
    }
}
