import NacreCloudServer
import NacreCloudWire

/// Tools over the request log: which requests were answered, and what came of one. Users, and zones of private and
/// shared databases, are stand-ins there, so an answer names none of them with any flag.
enum RequestTools {
    static let all = [search, why]

    private static let refused = ToolParameter.flag("only_refused", "Requests that were refused, or had a refused item, and no others.")
    private static let since = ToolParameter.text("since", "Requests of the last 15m, 1h or 7d, or from a time such as 2026-01-31T18:30:00Z on.")
    private static let until = ToolParameter.text("until", "Requests before this time, written likewise.")
    private static let database = ToolParameter.text(
        "database", "Requests to databases of this kind.", oneOf: ["public", "private", "shared"])
    private static let zone = ToolParameter.text(
        "zone", "Requests about this zone: with database public a name, otherwise _defaultZone or the stand-in (z-…) that a row shows.")
    private static let user = ToolParameter.text("user", "Requests of this user: a user record name, or the stand-in (u-…) that a row shows.")
    private static let client = ToolParameter.text(
        "client", "Requests of this kind of client: framework, web, serverKey, command or none; also with a version, framework 0.1.0.")
    private static let slower = ToolParameter.integer("slower_than_ms", "Requests that took more milliseconds than this.", 0...(1 << 40))
    private static let limit = ToolParameter.limit(1...200, fallback: 20)

    static let search = Tool(
        "search_requests", "Requests that were answered",
        "Searches the requests that apps sent in the last days, the newest first: place, client, times, items, and code, field and reason of a refusal. "
            + "Begin here with a save or another request that failed, then ask why_request with its request UUID. Of several filters all must hold. "
            + "Users, and zones of private and shared databases, are stand-ins: the same name always has the same one.",
        [
            refused, since, until, .status, .code, .onlyContainer, .onlyEnvironment, database, zone, user, .onlyOperation, client, slower, limit,
            .after,
        ]
    ) { arguments, context in
        _ = try arguments.statuses()
        let after = try arguments.place()
        let most = arguments.integer(limit) ?? 20
        let found = try await context.connect().requests([
            ("refused", arguments.has(refused) ? "true" : nil), ("since", try arguments.time(since)), ("until", try arguments.time(until)),
            ("status", arguments.text(.status)), ("code", arguments.text(.code)), ("container", arguments.text(.onlyContainer)),
            ("environment", arguments.text(.onlyEnvironment)), ("database", arguments.text(database)), ("zone", try zone(arguments, context)),
            ("user", arguments.text(user)), ("operation", arguments.text(.onlyOperation)), ("client", arguments.text(client)),
            ("slowerThan", arguments.integer(slower).map(String.init)), ("limit", String(most)), ("after", after.map(String.init)),
        ])
        let answer = ToolAnswer(
            "requests", found.requests.map(row), limit: most, ["rows_lost": found.lost == 0 ? nil : .number(found.lost)])
        let isLast = answer.shown == found.requests.count && found.next == nil
        return answer.goingOn(after: isLast ? nil : found.requests.prefix(answer.shown).last?.position)
    }

    /// Returns the zone that a call asks for. A private zone's name would be a guess that the answer confirms.
    private static func zone(_ arguments: ToolArguments, _ context: ToolContext) throws(ToolFault) -> String? {
        guard let name = arguments.text(zone), arguments.text(database) != "public", name != ZoneID.defaultZone.zoneName,
            !Pseudonyms.isStandIn(name, .zone)
        else { return arguments.text(zone) }
        try context.requirePrivate("the name of a zone outside public databases", field: zone.name)
        return name
    }

    private static let request = ToolParameter.text(
        "request", "The request's UUID: of a row of search_requests, uuid of an error, or X-Apple-Request-UUID of an answer.", isRequired: true)

    static let why = Tool(
        "why_request", "What came of a request",
        "Tells one request in sentences: what was asked, what came of it, which rule refused it and what to do, how its time was split, which index a "
            + "query used, and of each notification that it led to whether a device got it, and if not, why.",
        [request, limit, .after]
    ) { arguments, context in
        let page = try context.page(arguments)
        let line = try await Why.line(of: try arguments.require(request), by: try await context.connect())
        return page.answer(
            "story", (line.story ?? []).map(JSONValue.string), next: nil, limit: arguments.integer(limit) ?? 20, ["request": row(line)])
    }

    private static func row(_ line: AdminMessages.RequestLine) -> JSONValue {
        .members([
            "request": .string(line.request), "time": .string(RequestStory.time(line.time)), "status": .number(line.status),
            "operation": .string(line.operation), "milliseconds": .double(line.milliseconds), "container": .text(line.container),
            "environment": .text(line.environment), "database": .text(line.database), "zone": .text(line.zone), "user": .text(line.user),
            "client": .string(line.client), "items_asked": .number(line.asked), "items_answered": .number(line.answered),
            "items_refused": .number(line.refused), "code": .text(line.code), "field": .text(line.field), "reason": .text(line.reason),
            "remedy": .text(line.remedy), "index": .text(line.index),
        ])
    }
}

extension ToolParameter {
    // MARK: Filters of several tools

    static let status = text("status", "Requests that were answered so: 404, or 4xx.", characters: 3)
    static let code = text("code", "Refusals with this serverErrorCode, such as BAD_REQUEST.")
    static let onlyContainer = text("container", "This container alone.")
    static let onlyEnvironment = text("environment", "This environment alone.", oneOf: ["development", "production"])
    static let onlyOperation = text("operation", "This operation alone, such as records/modify.")
}

extension ToolArguments {
    /// Returns the statuses that `status` means.
    func statuses() throws(ToolFault) -> ClosedRange<Int>? {
        guard let text = text(.status) else { return nil }
        guard let statuses = AdminAPI.statuses(text) else {
            throw ToolFault("status is none of HTTP", field: ToolParameter.status.name, remedy: "Give a status such as 404, or 4xx.")
        }
        return statuses
    }

    /// Returns the row or line of a log that `after` names.
    func place() throws(ToolFault) -> Int? {
        guard let text = text(.after) else { return nil }
        guard let number = Int(text), number >= 0 else {
            throw ToolFault(
                "after is no place in the log", field: ToolParameter.after.name, remedy: "Send next as it was given, or leave it out to begin.")
        }
        return number
    }

    /// Returns a time in milliseconds since 1970, as the admin API takes it.
    func time(_ parameter: ToolParameter) throws(ToolFault) -> String? {
        guard let text = text(parameter) else { return nil }
        guard let time = Quantity.time(text) else {
            throw ToolFault(
                "\(parameter.name) is not a time", field: parameter.name, remedy: "Give 15m, 1h or 7d, or a time such as 2026-01-31T18:30:00Z.")
        }
        return String(time)
    }
}
