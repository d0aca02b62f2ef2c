import NacreCloudServer

/// `nacre schema deploy`
enum SchemaDeploy {
    private static let dryRun = Option.flag("dry-run", "Say what production would gain, and change nothing.")

    static let command = Command(
        "deploy", "Bring the development schema of a container into production.",
        discussion: """
            Production gains the roles, types, fields and index options that it lacks, one a line, and makes the indexes that queries of development \
            needed, each with what it costs a save; records stay where they are. What is deployed stays: a \
            field keeps its type. What roles may do with a type becomes what development says: such a line begins with ~. Doing it again changes \
            nothing. Nothing comes in halves: with one thing refused nothing is deployed. --dry-run names each, in a line that begins with !, and \
            ends with 2 where there is any. A query that production has answered within a month, and would not any more or not as before, stands in a \
            line that begins with ?, with what it is answered then.
            """,
        options: [SharedOptions.container, dryRun] + AdminServer.options + [SharedOptions.json]
    ) { call in
        let admin = try await AdminClient.connect(call)
        let deployment = try await admin.deploy(
            AdminMessages.NewDeployment(container: try call.require(SharedOptions.container), isDryRun: call.has(dryRun)))
        if call.has(SharedOptions.json) {
            try Output.json(deployment)
            return try refuse(deployment.refusals)
        }
        for gain in deployment.gains { try Output.data(line(gain)) }
        for broken in deployment.broken { try Output.data(broken.line) }
        for refusal in deployment.refusals { try Output.data("! \(refusal.field ?? "schema"): \(refusal.reason)") }
        try refuse(deployment.refusals)
        Output.message(deployment.summary)
    }

    private static func refuse(_ refusals: [AdminMessages.Refusal]) throws {
        guard let first = refusals.first else { return }
        let what = refusals.count == 1 ? "one thing" : "\(refusals.count) things"
        throw CommandFailure(.damaged, "\(what) of development cannot come to production, so nothing would", remedy: first.remedy)
    }

    private static func line(_ gain: AdminMessages.Gain) -> String {
        if let role = gain.role { return "+ ROLE \(role)" }
        let name = [gain.recordType, gain.field].compactMap(\.self).joined(separator: ".")
        if gain.isOfSubscriptions { return "+ \(name) subscriptions on \(gain.declaration)" }
        if gain.isMadeIndex { return "+ \(name) index of \(gain.declaration)" }
        if gain.isReplacement { return "~ \(name) \(gain.declaration)" }
        return gain.declaration.isEmpty ? "+ \(name)" : "+ \(name) \(gain.declaration)"
    }
}

extension AdminMessages.Deployment {
    fileprivate var summary: String {
        if gains.isEmpty { return "Production has all that development has." }
        return isDryRun ? "This was a dry run: production is as it was." : "The schema is deployed."
    }
}
