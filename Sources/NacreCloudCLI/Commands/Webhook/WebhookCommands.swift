import Foundation
import NacreCloudServer
import NacreCloudWire

/// `nacre webhook`
enum WebhookCommands {
    static let command = Command(
        "webhook", "Have a server of yours told of changes, and see how that goes.",
        discussion: "A webhook gets a signed POST for changes, in order, each at least once. docs/webhooks.md has the contract and a receiver.",
        subcommands: [
            WebhookCreate.command, WebhookList.command, WebhookShow.command, WebhookDelete.command, WebhookTest.command, WebhookResume.command,
        ])

    fileprivate static let id = Argument("id", "The webhook, as nacre webhook list prints it.")

    /// The options of each verb.
    fileprivate static let options = [SharedOptions.container, SharedOptions.environment] + AdminServer.options + [SharedOptions.json]

    fileprivate static func name(_ call: Call) throws -> AdminMessages.WebhookName {
        AdminMessages.WebhookName(
            container: try call.require(SharedOptions.container), environment: try call.require(SharedOptions.environment),
            id: try call.require(id, at: 0))
    }
}

/// `nacre webhook create`
enum WebhookCreate {
    private static let url = Option.required("url", "url", "Where deliveries go: an https URL, or http to this machine.")
    private static let type = Option.value("type", "type", "Only records of this type.")
    private static let filter = Option.value("filter", "filter", "A condition, such as 'stars >= 3'; several must all hold.")
    private static let zone = Option.value("zone", "name", "Only this zone. By default every zone.")
    private static let fields = Option.value("fields", "names", "Fields whose values are sent, with commas between them. By default none.")
    private static let isPrivate = Option.flag("private", "Send changes of all users' private databases too. The audit log keeps that you said so.")

    static let command = Command(
        "create", "Make a webhook, and show its secret.",
        discussion: """
            Prints the ID and the secret, a line each. The secret signs the deliveries, and lets the receiver pull changes by itself; it is shown this \
            once. By default the webhook is told of the public database's changes: names, types and change tags, and no values. A filter is written as \
            for nacre query explain, and needs --type.
            """,
        options: [SharedOptions.container, SharedOptions.environment, url, type, filter, zone, fields, isPrivate] + AdminServer.options
            + [SharedOptions.json]
    ) { call in
        let made = try await AdminClient.connect(call).create(
            AdminMessages.NewWebhook(
                container: try call.require(SharedOptions.container), environment: try call.require(SharedOptions.environment),
                url: try call.require(url), zone: call.value(zone), query: try query(call),
                fields: call.value(fields)?.split(separator: ",").map(String.init), isPrivate: call.has(isPrivate) ? true : nil))
        if call.has(SharedOptions.json) { return try Output.json(made) }
        try Output.data(made.id)
        try Output.data(made.secret)
        Output.hint("The secret is not shown again. Try the receiver: nacre webhook test \(made.id)")
    }

    /// Returns the body of the query that the options write; nil: they choose nothing.
    private static func query(_ call: Call) throws -> String? {
        let filters = try QueryText.filters(of: call, filter)
        if filters.isEmpty, !call.isGiven(type) { return nil }
        let query = Query(recordType: try call.require(type), filters: filters)
        return String(decoding: RecordsQueryRequest(query: query).json(), as: UTF8.self)
    }
}

/// `nacre webhook list`
enum WebhookList {
    static let command = Command(
        "list", "List the webhooks of a container's environment, and how they fare.",
        discussion: """
            A line for each: ID, state, what its receiver said last and when, the time of the oldest \
            change that it has not acknowledged, and the URL. It is active, retrying (the receiver is asked again by \
            itself, after growing pauses), behind (it has missed changes, which the next delivery says) or parked: it did not acknowledge for over an \
            hour, and nothing is sent until nacre webhook resume.
            """,
        options: WebhookCommands.options
    ) { call in
        let found = try await AdminClient.connect(call).webhooks(
            in: try call.require(SharedOptions.container), try call.require(SharedOptions.environment))
        if call.has(SharedOptions.json) { return try Output.json(found) }
        for webhook in found.webhooks { try Output.data(webhook.line) }
    }
}

/// `nacre webhook show`
enum WebhookShow {
    static let command = Command(
        "show", "Show what a webhook is told of.", arguments: [WebhookCommands.id], options: WebhookCommands.options
    ) { call in
        let name = try WebhookCommands.name(call)
        let found = try await AdminClient.connect(call).webhooks(in: name.container, name.environment)
        guard let webhook = found.webhooks.first(where: { $0.id == name.id }) else {
            throw CommandFailure(.failure, "no such webhook", remedy: "Take an ID that nacre webhook list prints.")
        }
        if call.has(SharedOptions.json) { return try Output.json(webhook) }
        for line in webhook.details { try Output.data(line) }
    }
}

/// `nacre webhook delete`
enum WebhookDelete {
    static let command = Command(
        "delete", "Delete a webhook.",
        discussion:
            "A delivery under way may still arrive. Changes that wait for it are dropped, and its secret opens nothing any more. At a terminal it asks first.",
        arguments: [WebhookCommands.id],
        options: [SharedOptions.container, SharedOptions.environment, SharedOptions.yes] + AdminServer.options + [SharedOptions.json]
    ) { call in
        try Confirmation.atTerminal("Delete the webhook, and the changes that wait for it?", else: "nothing was deleted", call)
        let gone = try await AdminClient.connect(call).delete(try WebhookCommands.name(call))
        if call.has(SharedOptions.json) { return try Output.json(gone) }
        try Output.data(gone.line)
        Output.message("It is deleted.")
    }
}

/// `nacre webhook test`
enum WebhookTest {
    static let command = Command(
        "test", "Send a delivery without changes, and print what the receiver says.",
        discussion: "It bears \"test\": true, and moves nothing. Ends with 1 where the receiver does not answer with a status from 200 to 299.",
        arguments: [WebhookCommands.id], options: WebhookCommands.options
    ) { call in
        let report = try await AdminClient.connect(call).test(try WebhookCommands.name(call))
        if call.has(SharedOptions.json) { try Output.json(report) } else { try Output.data(report.status) }
        if !report.isTaken {
            throw CommandFailure(
                .failure, "the receiver did not acknowledge", remedy: "It answers with a status from 200 to 299, within ten seconds.")
        }
    }
}

/// `nacre webhook resume`
enum WebhookResume {
    static let command = Command(
        "resume", "Put the parked deliveries of a webhook back.",
        discussion: "They go on behind what the receiver acknowledged last. Prints the number of zones whose deliveries were parked.",
        arguments: [WebhookCommands.id], options: WebhookCommands.options
    ) { call in
        let resumed = try await AdminClient.connect(call).resume(try WebhookCommands.name(call))
        if call.has(SharedOptions.json) { return try Output.json(resumed) }
        try Output.data(String(resumed.resumed))
    }
}

extension AdminMessages.WebhookLine {
    fileprivate var line: String {
        let last = lastStatus.map { "\($0) at \(lastTime.map(UserTime.text) ?? "-")" }
        return [id, state ?? "deleted", last ?? "-", waitingSince.map(UserTime.text) ?? "-", url].joined(separator: "\t")
    }

    fileprivate var details: [String] {
        let watched = isPrivate ? "the public database and all private ones" : "the public database"
        return [
            "url: \(url)", "watches: \(watched)", "zone: \(zone ?? "every zone")", "type: \(recordType ?? "every type")",
            "query: \(query ?? "no filters")", "fields: \(fields.isEmpty ? "none" : fields.joined(separator: ","))",
            "created: \(UserTime.text(created))", "state: \(state ?? "-")", "lost: \(lost ?? 0)",
            "waiting since: \(waitingSince.map(UserTime.text) ?? "-")",
            "last: \(lastStatus ?? "nothing was delivered yet")\(lastTime.map { " at \(UserTime.text($0))" } ?? "")",
        ]
    }
}
