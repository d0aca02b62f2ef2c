import Foundation
import NacreCloudServer

/// `nacre alert`
enum AlertCommands {
    static let command = Command(
        "alert", "Say when the server tells you that something is wrong.",
        discussion: """
            A rule compares a figure with a limit, every half minute. The log has each alert, when it begins, every four hours while it goes on, and when \
            it ends; a rule may also send mail and signed requests. A few rules are there from the start: little room on the disk, backups that fail or \
            grow old, parked tasks, errors of the server. See docs/alerts.md.
            """,
        subcommands: [AlertList.command, AlertAdd.command, AlertShow.command, AlertRemove.command, AlertTest.command, AlertSilence.command])

    fileprivate static let name = Argument("name", "The rule, as nacre alert list prints it.")
}

/// `nacre alert list`
enum AlertList {
    static let command = Command(
        "list", "List the rules, and which of them are firing.",
        discussion: "Each line has the rule's name, its state (fine, pending or firing, or silenced), its kind, the last figure and the limit.",
        options: AdminServer.options + [SharedOptions.json]
    ) { call in
        let found = try await AdminClient.connect(call).alerts()
        if call.has(SharedOptions.json) { return try Output.json(found) }
        for alert in found.alerts { try Output.data(alert.line) }
    }
}

/// `nacre alert show`
enum AlertShow {
    static let command = Command(
        "show", "Show all of a rule.", discussion: "A line for each of its parts, its state and its silence.",
        arguments: [AlertCommands.name], options: AdminServer.options + [SharedOptions.json]
    ) { call in
        let name = try call.require(AlertCommands.name)
        guard let alert = try await AdminClient.connect(call).alerts().alerts.first(where: { $0.name == name }) else {
            throw CommandFailure(.failure, "there is no alert rule \(name)", remedy: "See the names: nacre alert list.")
        }
        if call.has(SharedOptions.json) { return try Output.json(alert) }
        for (part, value) in alert.parts { try Output.data("\(part): \(value)") }
    }
}

/// `nacre alert add`
enum AlertAdd {
    private static let name = Argument("name", "A name of your choice: letters, digits and hyphens.")
    private static let kind = Option.required("kind", "kind", oneOf: AdminMessages.alertKinds, "The figure that is looked at.")
    private static let limit = Option.required(
        "limit", "figure", "From which figure on it is wrong, or below which for room on the disk: 10%, 5G, 48h, 250ms or a number.")
    private static let hold = Option.value("for", "time", fallback: "5m", "How long it must be wrong before it is told; 0s for at once.")
    private static let again = Option.value("repeat", "time", fallback: "4h", "How often it is told again while it goes on.")
    private static let container = Option.value("container", "name", "Traffic or a quota of this container alone.")
    private static let environment = Option.value(
        "environment", "env", oneOf: ["development", "production"], "The environment of the container.")
    private static let database = Option.value(
        "database", "databases", oneOf: ["public", "private"], "Traffic of these databases alone, of all users together.")
    private static let operation = Option.value("operation", "path", "Requests of this kind alone, such as records/modify.")
    private static let span = Option.value("span", "time", oneOf: ["5m", "1h"], "How much traffic is looked at. By default 5m, of unlike 1h.")
    private static let least = Option.value("least", "count", "Requests below which no traffic is judged. By default 20.")
    private static let errors = Option.value("errors", "which", "For errors: client, server, or a code such as ZONE_BUSY.")
    private static let percentile = Option.value("percentile", "number", oneOf: ["50", "95", "99"], "For latency: which part of the requests.")
    private static let mail = Option.repeated("mail", "address", "Tell this address by mail too; may be given several times.")
    private static let webhook = Option.value(
        "webhook", "url", "Tell this URL too: on this machine, or https at a host of nacre serve --alert-host.")

    static let command = Command(
        "add", "Add a rule, or change the one of its name.",
        discussion: """
            What is not given is as the defaults say, also where a rule of the name is there. For a new webhook the secret of its signatures is printed, this \
            once. Try the rule's ways: nacre alert test.
            """,
        arguments: [name],
        options: [
            kind, limit, hold, again, container, environment, database, operation, span, least, errors, percentile, mail, webhook,
        ] + AdminServer.options + [SharedOptions.json]
    ) { call in
        guard let figure = figure(try call.require(limit)), figure.isFinite else {
            throw UsageError(.invalid("--\(limit.name)", "give a figure, such as 10%, 5G, 48h, 250ms or 100"), path: call.path)
        }
        var asked = AdminMessages.NewAlert(name: try call.require(name), kind: try call.require(kind), limit: figure)
        asked.holdSeconds = try call.require(hold) == "0s" ? 0 : Double(try Quantity.seconds(try call.require(hold), of: hold, call))
        asked.repeatSeconds = Double(try Quantity.seconds(try call.require(again), of: again, call))
        asked.spanSeconds = try call.value(span).map { Double(try Quantity.seconds($0, of: span, call)) }
        asked.least = try call.value(least).map { text in
            guard let count = Int(text) else { throw UsageError(.invalid("--\(least.name)", "give a number of requests"), path: call.path) }
            return count
        }
        (asked.container, asked.environment) = (call.value(container), call.value(environment))
        (asked.database, asked.operation) = (call.value(database), call.value(operation))
        (asked.errors, asked.percentile) = (call.value(errors), call.value(percentile).flatMap { Int($0) })
        (asked.mail, asked.webhook) = (call.all(mail), call.value(webhook))
        let added = try await AdminClient.connect(call).add(asked)
        if call.has(SharedOptions.json) { return try Output.json(added) }
        if let secret = added.secret {
            try Output.data(secret)
            Output.hint("It is not shown again. It signs each request to the webhook: see docs/alerts.md.")
        }
        Output.message(added.isNew ? "added \(added.name)" : "changed \(added.name)")
    }

    /// Returns the number of a figure with its unit: `10%`, `5G` in bytes, `48h` in seconds, `250ms`; nil for other
    /// text.
    private static func figure(_ text: String) -> Double? {
        for suffix in ["%", "ms"] where text.hasSuffix(suffix) { return Double(text.dropLast(suffix.count)) }
        return Double(text) ?? (Quantity.bytes(text) ?? Quantity.seconds(text)).map { Double($0) }
    }
}

/// `nacre alert remove`
enum AlertRemove {
    static let command = Command(
        "remove", "Remove a rule that was added.",
        discussion: "A rule that is there from the start comes back as it was; it cannot be removed, but silenced or changed.",
        arguments: [AlertCommands.name], options: AdminServer.options + [SharedOptions.json]
    ) { call in
        let removed = try await AdminClient.connect(call).remove(AdminMessages.NewAlertRemoval(name: try call.require(AlertCommands.name)))
        if call.has(SharedOptions.json) { return try Output.json(removed) }
        Output.message(removed.hasDefault ? "removed; the server's own \(removed.name) is back" : "removed \(removed.name)")
    }
}

/// `nacre alert test`
enum AlertTest {
    static let command = Command(
        "test", "Tell by all ways of a rule at once, with a message that is marked as a test.",
        discussion: "Prints a line for each way: log, mail or webhook, whether it was taken, and the answer. Ends with 1 if one was not taken.",
        arguments: [AlertCommands.name], options: AdminServer.options + [SharedOptions.json]
    ) { call in
        let test = try await AdminClient.connect(call).test(AdminMessages.NewAlertTest(name: try call.require(AlertCommands.name)))
        if call.has(SharedOptions.json) {
            try Output.json(test)
        } else {
            for way in test.ways { try Output.data("\(way.way) \(way.isTaken ? "ok" : "FAILED"): \(Output.withoutControls(way.said))") }
        }
        guard test.ways.allSatisfy(\.isTaken) else {
            throw CommandFailure(.failure, "a way did not take the message", remedy: "Mend what its line names, and try again.")
        }
    }
}

/// `nacre alert silence`
enum AlertSilence {
    private static let time = Option.value("for", "time", "How long nothing is told: a number with s, m, h or d, at most 30d.")
    private static let why = Option.value("why", "text", "Why, for others who look.")
    private static let by = Option.value("by", "name", "Who silences it. By default the user of this machine.")
    private static let end = Option.flag("end", "End the silence now.")

    static let command = Command(
        "silence", "Tell nothing of a rule for a time.",
        discussion: """
            Who silenced what and why is in nacre alert show and in nacre audit list. An alert that still goes on when the silence is over is told then; the \
            end of one whose beginning was told is told in a silence too.
            """,
        arguments: [AlertCommands.name], options: [time, why, by, end] + AdminServer.options + [SharedOptions.json]
    ) { call in
        let name = try call.require(AlertCommands.name)
        var asked = AdminMessages.NewAlertSilence(name: name, seconds: nil, by: nil, why: nil)
        if call.has(end) {
            for option in [time, why, by] where call.isGiven(option) {
                throw UsageError(.exclusive("--\(end.name)", "--\(option.name)"), path: call.path)
            }
        } else {
            for option in [time, why] where !call.isGiven(option) { throw UsageError(.missingOption(option.spelling), path: call.path) }
            asked.seconds = try Quantity.seconds(call.value(time) ?? "", of: time, call)
            asked.why = call.value(why)
            asked.by = call.value(by) ?? NSUserName()
        }
        let silenced = try await AdminClient.connect(call).silence(asked)
        if call.has(SharedOptions.json) { return try Output.json(silenced) }
        Output.message(silenced.silence.map { "silent until \(UserTime.text($0.until))" } ?? "no longer silent")
    }
}

extension AdminMessages.Alert {
    fileprivate var line: String {
        "\(name) \(silence == nil ? state : "\(state),silenced") \(kind) \(figure.map { "\($0)" } ?? "-") limit \(limit) \(unit)"
    }

    fileprivate var parts: [(String, String)] {
        let given: [(String, String?)] = [
            ("name", isDefault ? "\(name) (the server's own)" : name), ("kind", kind), ("state", state), ("since", since.map(UserTime.text)),
            ("figure", figure.map { "\($0) \(unit)" }), ("limit", "\(limit) \(unit)"), ("for", "\(holdSeconds) s"), ("repeat", "\(repeatSeconds) s"),
            ("span", spanSeconds.map { "\($0) s" }), ("least", least.map(String.init)), ("container", container), ("environment", environment),
            ("database", database), ("operation", operation), ("errors", errors), ("percentile", percentile.map(String.init)),
            ("mail", mail.isEmpty ? nil : mail.joined(separator: ", ")), ("webhook", webhook),
            ("silence", silence.map { "until \(UserTime.text($0.until)) by \(Output.withoutControls($0.by)): \(Output.withoutControls($0.why))" }),
        ]
        return given.compactMap { part, value in value.map { (part, $0) } }
    }
}
