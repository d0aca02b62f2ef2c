import Foundation
import Glibc
import NacreCloudServer

/// `nacre logs`
enum Logs {
    private static let follow = Option.flag("follow", short: "f", "Go on with new ones until it is interrupted.")
    private static let since = Option.value(
        "since", "time", "Requests of the last 90s, 15m, 1h or 7d, or from a time such as 2026-01-31T18:30:00Z on.")
    private static let until = Option.value("until", "time", "Requests before this time, written likewise.")
    static let status = Option.value("status", "status", "Requests that were answered so: 404, or 4xx.")
    static let code = Option.value("code", "code", "Refusals with this serverErrorCode, of a whole request or of its first refused item.")
    private static let refused = Option.flag("refused", "Requests that were refused, or had a refused item.")
    static let container = Option.value("container", "name", "Requests to this container.")
    static let environment = Option.value("environment", "env", oneOf: ["development", "production"], "Requests to this environment.")
    static let database = Option.value("database", "db", oneOf: ["public", "private", "shared"], "Requests to databases of this kind.")
    static let zone = Option.value("zone", "name", "Requests about zones of this name, or with the stand-in that a line shows.")
    static let user = Option.value("user", "id", "Requests of this user: a user record name, or the stand-in that a line shows.")
    static let operation = Option.value("operation", "name", "Requests to this endpoint, such as records/modify.")
    private static let client = Option.value(
        "client", "kind", "Requests of this kind of client: framework, web, serverKey, command or none; also with a version, 'framework 0.1.0'.")
    private static let slower = Option.value("slower-than", "time", "Requests that took longer: 200ms, or 2s.")
    static let request = Option.value("request", "id", "The request whose answer has this UUID.")
    private static let limit = Option.value("limit", "count", fallback: "100", "The most requests to begin with: the newest that the filters admit.")
    private static let serverLines = Option.flag(
        "server-lines", "The server's own lines instead: the last thousand, wherever the server writes them, and with -f those that come.")
    static let level = Option.value(
        "level", "level", oneOf: ServerConfiguration.logLevels, fallback: "info",
        "With --server-lines: lines of this level and above. While it follows, the server makes those that it does not write itself.")

    /// The time between two requests of a command that follows.
    static let pause: Duration = .milliseconds(500)
    private static let limitMax = 100_000
    private static let pageMax = 1000

    /// Options that only one form of the command has.
    private static let ofRequests = [since, until, refused, client, slower, limit]

    static let command = Command(
        "logs", "Show the requests that the running server answered.",
        discussion: """
            A line for each, the newest last: when, how it ended, the endpoint, how long it took, where, which client, which user, and the request's UUID, about \
            which nacre why says more. Of several filters all must hold. In private and shared databases users and zones are stand-ins (u-…, z-…); a filter \
            takes the name or the stand-in. The server keeps requests for seven days, see docs/logs.md.

              nacre logs -f --status 4xx --container iCloud.com.example.Notes
              nacre logs --since 1h --slower-than 200ms
            """,
        options: [
            follow, since, until, status, code, refused, container, environment, database, zone, user, operation, client, slower, request, limit,
            serverLines, level, RowOutput.format,
        ] + AdminServer.options
    ) { call in
        let isForPeople = call.value(RowOutput.format).map { $0 == "table" } ?? (isatty(STDOUT_FILENO) == 1)
        guard !call.has(serverLines) else {
            for option in ofRequests where call.isGiven(option) {
                throw UsageError(.exclusive("--\(option.name)", "--\(serverLines.name)"), path: call.path)
            }
            return try await ServerLines(call, isForPeople: isForPeople, by: try await AdminClient.connect(call))
                .print(following: call.has(follow) ? try call.require(level) : nil)
        }
        let query = try query(call)
        guard let most = Int(try call.require(limit)), (1...limitMax).contains(most) else {
            throw UsageError(.invalid("--\(limit.name)", "give a number from 1 to \(limitMax)"), path: call.path)
        }
        let admin = try await AdminClient.connect(call)
        var last = try await printNewest(most, query, isForPeople, admin)
        while call.has(follow) {
            try await Task.sleep(for: pause)
            last = try await printNew(after: last, query, isForPeople, admin)
        }
    }

    /// Prints the newest requests, the newest last.
    /// - Returns: the position from which on later ones are new.
    private static func printNewest(
        _ most: Int, _ query: [(name: String, value: String?)], _ isForPeople: Bool, _ admin: AdminClient
    ) async throws -> String {
        var (found, next, last) = ([AdminMessages.RequestLine](), String?.none, String?.none)
        repeat {
            let page = try await admin.requests(query + [("limit", String(min(most - found.count, pageMax))), ("after", next)])
            found += page.requests
            last = last ?? page.last
            next = page.next
        } while next != nil && found.count < most
        for line in found.reversed() { try print(line, isForPeople) }
        return last ?? "0"
    }

    private static func printNew(
        after last: String, _ query: [(name: String, value: String?)], _ isForPeople: Bool, _ admin: AdminClient
    ) async throws -> String {
        var (last, hasMore) = (last, true)
        while hasMore {
            let page = try await admin.requests(query + [("limit", String(pageMax)), ("following", last)])
            for line in page.requests { try print(line, isForPeople) }
            hasMore = page.next != nil
            last = page.next ?? page.last
        }
        return last
    }

    private static func print(_ line: AdminMessages.RequestLine, _ isForPeople: Bool) throws {
        try Output.data(isForPeople ? RequestText.line(line, colours: RequestText.wantsColours) : Output.line(of: line))
    }

    private static func query(_ call: Call) throws -> [(name: String, value: String?)] {
        if let text = call.value(status) { _ = try statuses(text, call) }
        if call.isSet(level), call.value(level) != level.fallback {
            throw UsageError(.invalid("--\(level.name)", "give --\(serverLines.name) with it"), path: call.path)
        }
        let slowest = try call.value(slower).map { text in
            guard let milliseconds = Quantity.milliseconds(text) else {
                throw UsageError(.invalid("--\(slower.name)", "give a time such as 200ms or 2s"), path: call.path)
            }
            return String(milliseconds)
        }
        return [
            ("since", try time(since, call)), ("until", try time(until, call)), ("slowerThan", slowest), ("status", call.value(status)),
            ("code", call.value(code)), ("refused", call.has(refused) ? "true" : nil), ("container", call.value(container)),
            ("environment", call.value(environment)), ("database", call.value(database)), ("zone", call.value(zone)), ("user", call.value(user)),
            ("operation", call.value(operation)), ("client", call.value(client)), ("request", call.value(request)),
        ]
    }

    static func statuses(_ text: String, _ call: Call) throws -> ClosedRange<Int> {
        guard let range = AdminAPI.statuses(text) else {
            throw UsageError(.invalid("--\(status.name)", "give a status such as 404, or 4xx"), path: call.path)
        }
        return range
    }

    /// Returns milliseconds since 1970.
    private static func time(_ option: Option, _ call: Call) throws -> String? {
        guard let text = call.value(option) else { return nil }
        guard let time = Quantity.time(text) else {
            throw UsageError(.invalid("--\(option.name)", "give 15m, 1h or 7d, or a time such as 2026-01-31T18:30:00Z"), path: call.path)
        }
        return String(time)
    }
}
