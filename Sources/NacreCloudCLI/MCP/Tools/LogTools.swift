import NacreCloudServer
import NacreCloudWire

/// Tools about failures: the server's own lines, and what a code means.
enum LogTools {
    static let all = [serverLines, explainError]

    private static let level = ToolParameter.text(
        "level", "Lines of this level and above.", oneOf: ServerConfiguration.logLevels, fallback: "info")
    private static let zone = ToolParameter.text("zone", "Lines about this zone of a public database.")
    private static let user = ToolParameter.text("user", "Lines about this user, by the user record name.")
    private static let request = ToolParameter.text("request", "Lines about this request: the uuid of its answer.")
    private static let refusals = ToolParameter.flag("only_refusals", "Lines that say why a request was refused, and no others.")
    private static let limit = ToolParameter.limit(1...200, fallback: 20)

    static let serverLines = Tool(
        "search_server_lines", "The server's own lines",
        "Searches the last thousand lines that the server wrote about itself and about refused requests, the newest first. Requests and their refusals "
            + "are found better by search_requests; call this for the server's troubles, and for the user record name of a refusal's user. Of several "
            + "filters all must hold. Refusals in production are there only if the server runs with --log-level info. Names of private zones and "
            + "records, and client addresses, are left out.",
        [refusals, level, .status, .code, .onlyContainer, .onlyEnvironment, zone, user, .onlyOperation, request, limit, .after]
    ) { arguments, context in
        let filter = try filter(arguments)
        let before = try arguments.place()
        let page = try await context.connect().logs(after: nil, level: nil)
        let first = page.last - page.lines.count + 1
        let found = page.lines.enumerated().reversed().compactMap { index, line -> (number: Int, row: JSONValue)? in
            guard before.map({ first + index < $0 }) ?? true, let line = (try? JSONValue(Array(line.utf8))).map(shown) else { return nil }
            if arguments.has(refusals), line["code"] == nil { return nil }
            let status = line["status"]?.integer.flatMap { Int(exactly: $0) }
            // The filters see what the agent sees: otherwise they would confirm a guess.
            return filter.admits(status: status) { line[$0]?.string } ? (first + index, line) : nil
        }
        let answer = ToolAnswer("lines", found.map(\.row), limit: arguments.integer(limit) ?? 20, ["lines_kept": .number(page.lines.count)])
        return answer.goingOn(after: answer.shown < found.count && answer.shown > 0 ? String(found[answer.shown - 1].number) : nil)
    }

    private static func filter(_ arguments: ToolArguments) throws(ToolFault) -> ServerLines.LineFilter {
        let keys: [(String, ToolParameter)] = [
            ("container", .onlyContainer), ("environment", .onlyEnvironment), ("zone", zone), ("user", user), ("operation", .onlyOperation),
            ("request_id", request),
        ]
        var values = keys.compactMap { key, parameter in arguments.text(parameter).map { (key: key, value: $0) } }
        if let code = arguments.text(.code) { values.append((key: "code", value: code.uppercased())) }
        return ServerLines.LineFilter(level: arguments.text(level) ?? "info", statuses: try arguments.statuses(), values: values)
    }

    /// Keys of a line that name no person, no device and no record. A key that is not here is not shown.
    private static let keys: Set = [
        "ts", "level", "msg", "request_id", "code", "reason", "remedy", "name", "count", "route", "operation", "container", "environment", "database",
        "user", "status", "method", "duration_ms", "bytes", "answer_bytes", "cost", "kind", "limit", "task", "version", "component", "attempt",
    ]
    /// Keys that are shown of a public database too.
    private static let keysOfPublic: Set = ["zone", "record"]

    /// Returns the part of a line that an agent may see, whatever is allowed: the audit log has no reads of the log.
    private static func shown(_ line: JSONValue) -> JSONValue {
        guard case .object(var members) = line else { return line }
        let isPublic = line["database"]?.string?.isOfPublicDatabase == true
        // The reason of this code names a record.
        let namesRecord = !isPublic && line["code"]?.string == "VALIDATING_REFERENCE_ERROR"
        members = members.filter { key, value in
            if namesRecord, key == "reason" || key == "remedy" { return false }
            return value != .string("") && (keys.contains(key) || isPublic && keysOfPublic.contains(key))
        }
        return .object(members)
    }

    private static let errorCode = ToolParameter.text(
        "code", "A serverErrorCode such as BAD_REQUEST, or a case of CKError.Code by its name or number.", isRequired: true)

    static let explainError = Tool(
        "explain_error", "Meaning of an error code", "Says when an error of CloudKit comes on this server, and what to do about it.", [errorCode]
    ) { arguments, _ in
        let code = try arguments.require(errorCode)
        guard let guide = ErrorGuide.find(code) else {
            let near = Nearest.match(code.uppercased(), among: ErrorGuide.all.map(\.name)).map { "Did you mean \($0)? " } ?? ""
            throw ToolFault(
                "there is no code of this name", field: errorCode.name, remedy: "\(near)Rows of search_requests have the code of a refusal.")
        }
        return ToolAnswer([
            "code": .string(guide.name), "status": guide.status.map { .number($0) }, "ck_error": .string("\(guide.native)"),
            "ck_error_code": .number(guide.native.rawValue), "cause": .string(guide.cause), "fix": .string(guide.fix),
        ])
    }
}
