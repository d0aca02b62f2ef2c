import Foundation
import NacreCloudServer

/// Tools about the server as a whole: where it is, what it keeps, and what waits.
enum StatusTools {
    static let all = [status, containers, usage, tasks, check]

    static let status = Tool(
        "server_status", "Server status", "Says which version runs, where apps reach it, and how many bytes files of assets take.", []
    ) { _, context in
        let server = try await context.connect().server()
        return ToolAnswer([
            "version": .string(server.version), "url": .string(server.publicURL), "local_url": .string(server.localURL),
            "asset_bytes": server.assets.map { .integer($0.bytes) }, "asset_chunks": server.assets.map { .number($0.chunks) },
        ])
    }

    private static let limit = ToolParameter.limit(1...100, fallback: 50)

    static let containers = Tool(
        "list_containers", "Containers", "Lists the containers (apps) of the server. Each has the environments development and production.",
        [limit, .after]
    ) { arguments, context in
        let page = try context.page(arguments)
        let found = try await context.connect().containers(after: page.cursor)
        let rows = found.containers.map { container in
            JSONValue.members([
                "name": .string(container.name), "created": .time(container.created), "environments": .texts(["development", "production"]),
            ])
        }
        return page.answer("containers", rows, next: found.next, limit: arguments.integer(limit) ?? 50)
    }

    static let usage = Tool(
        "show_usage", "Usage and quotas",
        "Says how many bytes a container's public database and its users' private databases hold, their quotas, and the rates of work that callers "
            + "may do. Call it for QUOTA_EXCEEDED and THROTTLED. Users are named by their user record names.",
        [.container, .environment, .user, limit, .after]
    ) { arguments, context in
        let (container, environment) = (try arguments.require(.container), try arguments.require(.environment))
        try context.require(user: arguments.text(.user))
        let page = try context.page(arguments)
        let admin = try await context.connect()
        let usage = try await admin.usage(of: container, environment, user: arguments.text(.user), after: page.cursor)
        let quotas = try await admin.quotas(of: container, environment)
        let rates = try await admin.rates(of: container)
        let rows = usage.users.map { user in
            JSONValue.members(["user": .string(user.user), "bytes": .integer(user.bytes), "limit": user.limit.map { .integer($0) }])
        }
        return page.answer(
            "users", rows, next: usage.next, limit: arguments.integer(limit) ?? 50,
            [
                "public_bytes": usage.public.map { .integer($0.bytes) }, "public_quota_bytes": .integer(quotas.publicBytes),
                "user_quota_bytes": .integer(quotas.userBytes), "user_rate": .number(rates.userRate), "container_rate": .number(rates.containerRate),
                "units": .string("Quotas are bytes, 0: no limit but the disk. Rates are units of work each second, 0: no limit."),
            ])
    }

    private static let state = ToolParameter.text(
        "state", "parked: tasks that failed 16 times and wait for an administrator. all: those that are still to be done, too.",
        oneOf: ["parked", "all"], fallback: "parked")

    static let tasks = Tool(
        "list_tasks", "Waiting tasks",
        "Lists background tasks that are parked after failures, or all: indexes being built, notifications, cascades, letters. An operator puts a "
            + "parked one back with nacre task retry.",
        [state, limit, .after]
    ) { arguments, context in
        let page = try context.page(arguments)
        let found = try await context.connect().tasks(after: page.cursor)
        let rows = found.tasks.filter { $0.isParked || arguments.text(state) == "all" }.map { task in
            JSONValue.members([
                // Names of some tasks are keys of devices or users; those of zones and indexes are numbers.
                "id": task.id.drop { $0 != ":" }.allSatisfy { $0.isWholeNumber || $0 == ":" || $0 == "-" } ? .string(task.id) : nil,
                "kind": .string(task.kind), "database": .text(task.database), "is_parked": .boolean(task.isParked), "due": .text(task.due),
                "attempts": .integer(task.attempts), "records_done": task.recordsDone.map { .number($0) },
            ])
        }
        return page.answer("tasks", rows, next: found.next, limit: arguments.integer(limit) ?? 50)
    }

    /// Seconds after which a check that has found nothing answers, so that an agent sees its progress. Ours.
    private static let checkPatience: Duration = .seconds(10)

    static let check = Tool(
        "check_store", "Check of the stored data",
        "Looks for damaged or missing rows in everything that the server keeps, a part in each call: go on with after until next is absent. Changes "
            + "nothing. Zones and records of private databases are named only if private data is allowed.",
        [limit, .after]
    ) { arguments, context in
        let admin = try await context.connect()
        let end = ContinuousClock.now + checkPatience
        var page = try context.page(arguments)
        var looked = 0
        while true {
            let part = try await admin.check(AdminMessages.NewCheck(repairs: false, removesLost: false, after: page.cursor))
            looked += part.rows
            guard part.findings.isEmpty, let next = part.next, ContinuousClock.now < end else {
                let rows = part.findings.map { $0.row(showsNames: context.allowsPrivate) }
                return page.answer("findings", rows, next: part.next, limit: arguments.integer(limit) ?? 50, ["rows_checked": .number(looked)])
            }
            page = ToolPage(cursor: next, context.cursors)
        }
    }
}

extension AdminMessages.CheckFinding {
    fileprivate func row(showsNames: Bool) -> JSONValue {
        let isShown = showsNames || database.isOfPublicDatabase
        return .members([
            "table": .string(table), "database": .string(database), "zone": isShown ? .string(zone) : nil, "record": isShown ? .string(record) : nil,
            "what": .string(what), "outcome": .string(outcome.rawValue),
        ])
    }
}

extension String {
    /// Whether it names a public database, as logs and checks do: `public`, or `container/environment/public`.
    var isOfPublicDatabase: Bool {
        let parts = split(separator: "/", omittingEmptySubsequences: false)
        return parts == ["public"] || parts.count >= 3 && parts[2] == "public"
    }
}

extension JSONValue {
    /// Makes a time in ISO 8601 of milliseconds since 1970.
    static func time(_ milliseconds: Int64) -> JSONValue {
        .string(Date(timeIntervalSince1970: Double(milliseconds) / 1000).formatted(.iso8601))
    }
}
