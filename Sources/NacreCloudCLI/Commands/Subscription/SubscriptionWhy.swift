import Foundation
import NacreCloudServer

/// `nacre subscription`
enum SubscriptionCommands {
    static let command = Command(
        "subscription", "See what users subscribe to, and why they were told or not.",
        discussion: "What became of notifications is kept for seven days.", subcommands: [SubscriptionList.command, SubscriptionWhy.command])

    fileprivate static let database = Option.value(
        "database", "name", oneOf: ["public", "private", "shared"], fallback: "private", "The database that they subscribe in.")
    fileprivate static let user = Option.required("user", "who", "Whose they are: an e-mail address, or a user record name.")
}

/// `nacre subscription list`
enum SubscriptionList {
    static let command = Command(
        "list", "List a user's subscriptions in a database.",
        discussion: "A line for each: ID, kind, what it is to, and what fires it. --json also tells its predicate and the form of its notifications.",
        options: [SharedOptions.container, SharedOptions.environment, SubscriptionCommands.database, SubscriptionCommands.user]
            + AdminServer.options + [SharedOptions.json]
    ) { call in
        let found = try await AdminClient.connect(call).subscriptions(
            of: try call.require(SubscriptionCommands.user), in: try call.require(SharedOptions.container),
            try call.require(SharedOptions.environment), try call.require(SubscriptionCommands.database))
        if call.has(SharedOptions.json) { return try Output.json(found) }
        for line in found.subscriptions {
            try Output.data([line.id, line.kind, line.of.isEmpty ? "-" : line.of, line.firesOn ?? "-"].joined(separator: "\t"))
        }
    }
}

/// `nacre subscription why`
enum SubscriptionWhy {
    private static let record = Argument("record", "The record, by its name.")
    private static let subscription = Option.required("subscription", "id", "The subscription's ID.")
    private static let zone = Option.value("zone", "name", "The record's zone. By default the default zone.")
    private static let owner = Option.value(
        "owner", "who", "Whose the zone is, in a shared database: an e-mail address, or a user record name.")

    static let command = Command(
        "why", "Say why a subscription told of a record, or did not.",
        discussion: """
            Goes through every step: what the subscription is to, the record as it is now, each part of the predicate with both values, who may read it, and \
            on each device of the user what became of the notification. Encrypted values are not shown. It ends with 2 where something stands in the way.
            """,
        arguments: [record],
        options: [
            SharedOptions.container, SharedOptions.environment, SubscriptionCommands.database, SubscriptionCommands.user, subscription, zone, owner,
        ] + AdminServer.options + [SharedOptions.json]
    ) { call in
        var asked = AdminMessages.NewNotificationQuestion(
            container: try call.require(SharedOptions.container), environment: try call.require(SharedOptions.environment),
            database: try call.require(SubscriptionCommands.database), user: try call.require(SubscriptionCommands.user),
            zone: call.value(zone), record: try call.require(record, at: 0), subscription: try call.require(subscription))
        asked.owner = call.value(owner)
        let found = try await AdminClient.connect(call).explain(asked)
        if call.has(SharedOptions.json) {
            try Output.json(found)
        } else {
            for line in found.lines { try Output.data(line) }
        }
        if !found.fires { throw CommandFailure(.damaged, "the subscription does not fire for the record as it is now") }
    }
}

extension AdminMessages.NotificationAnswer {
    fileprivate var lines: [String] {
        var lines = steps.map { "\($0.isPassed ? "yes" : "NO ") \($0.name): \($0.text)" }
        if fires, devices.isEmpty { lines.append("NO  devices: the user has none that asks to be told") }
        for device in devices {
            lines.append("device \(device.name), \(device.way)\(device.isAuthor ? ": made the change, and is not told of it" : "")")
            func text(_ time: Int64) -> String { Date(timeIntervalSince1970: Double(time) / 1000).formatted(.iso8601) }
            // 999 ms more: the time is rounded up to whole seconds.
            if let begins = device.logBegins {
                lines.append("  the log is full: notifications that went before \(text(begins + 999)) may be gone from it")
            }
            lines += device.log.map { line in
                let time = text(line.time)
                let what = line.subscription.isEmpty ? "to fetch everything" : line.record.isEmpty ? line.subscription : line.record
                return "  \(time) \(line.event) \(line.number) \(what)\(line.said.isEmpty ? "" : ": \(line.said)")"
            }
        }
        return lines
    }
}
