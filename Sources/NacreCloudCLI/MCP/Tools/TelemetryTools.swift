import NacreCloudServer

/// The tool over the sums of what the cloud did.
enum TelemetryTools {
    static let all = [show]

    private static let last = ToolParameter.text("last", "The period up to now; by default the last day.", oneOf: TelemetryCommand.periods)
    private static let from = ToolParameter.text(
        "from", "In place of last: the beginning of the period, 15m, 1h or 7d ago, or a time such as 2026-01-31T18:30:00Z.")
    private static let to = ToolParameter.text("to", "With from: the end of the period, written likewise; by default now.")
    private static let database = ToolParameter.text(
        "database", "These databases alone; private and shared ones are summed up together.", oneOf: ["public", "private", "shared"])
    private static let by = ToolParameter.text(
        "by", "A row for each value of this property. By default one for each operation on each kind of database.",
        oneOf: TelemetryCommand.properties)
    private static let compare = ToolParameter.flag(
        "compare", "Also the period of the same length before, and what makes most of each difference.")
    private static let limit = ToolParameter.limit(1...200, fallback: 20)

    static let show = Tool(
        "show_telemetry", "What the cloud did",
        "Sums of a period: requests, errors, latency (p50, p95, p99 in milliseconds), bytes and users, in all and in rows, the most requests first. "
            + "Call it to see whether errors or latency rose, and since when (bars), and for which operation, code or client; then search_requests. "
            + "Figures of private and shared databases are there only as sums over at least five users.",
        [last, from, to, .onlyOperation, database, .onlyContainer, .onlyEnvironment, by, compare, limit, .after]
    ) { arguments, context in
        let page = try context.page(arguments)
        let from = try arguments.time(from)
        let found = try await context.connect().telemetry([
            ("last", arguments.text(last) ?? (from == nil ? "day" : nil)), ("from", from), ("to", try arguments.time(to)),
            ("operation", arguments.text(.onlyOperation)), ("database", arguments.text(database)), ("container", arguments.text(.onlyContainer)),
            ("environment", arguments.text(.onlyEnvironment)), ("by", arguments.text(by)), ("compare", arguments.has(compare) ? "previous" : nil),
        ])
        return page.answer(
            "rows", try found.lines.map(JSONValue.init(encoding:)), next: nil, limit: arguments.integer(limit) ?? 20,
            [
                "from": .time(found.from), "to": .time(found.to), "has_hidden": .boolean(found.hasHidden),
                "total": try JSONValue(encoding: found.total),
                "bars": .array(
                    found.bars.filter { $0.requests > 0 }.map { bar in
                        .members(["start": .time(bar.start), "requests": .integer(bar.requests), "errors": .integer(bar.errors)])
                    }),
                "before": try found.before.map(JSONValue.init(encoding:)),
                "changes": try found.changes.map { .array(try $0.map(JSONValue.init(encoding:))) },
            ])
    }
}

extension JSONValue {
    /// Makes the value that a message of the admin API is.
    fileprivate init(encoding message: some Encodable) throws {
        try self.init(Array(Output.line(of: message).utf8))
    }
}
