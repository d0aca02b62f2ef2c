import Foundation
import NacreCloudServer
import NacreCloudWire

/// `nacre record`: a user's records without code. See `UserDatabase`.
enum RecordCommands {
    static let command = Command(
        "record", "Look at records and change them, as a user.",
        subcommands: [RecordQuery.command, RecordGet.command, RecordPut.command, RecordDelete.command, RecordExport.command, RecordImport.command])

    fileprivate static let fields = Option.value("fields", "name", "Show these fields alone; may be given several times.")
    fileprivate static let name = Argument("name", "The record's name.")
    static let type = Argument("type", "The record type.")
    static let filter = Option.value("filter", "filter", "A condition, such as 'stars >= 3'; several must all hold.")
    static let sort = Option.value("sort", "sort", "A key of the order, such as 'title DESC'; the first counts most.")

    /// Returns the query of `type`, `filter` and `sort`.
    static func query(of call: Call) throws -> Query {
        Query(recordType: try call.require(type), filters: try QueryText.filters(of: call, filter), sorts: try QueryText.sorts(of: call, sort))
    }

    /// Returns the table cells of a record of the web API.
    static func cells(of record: [String: Any]) -> [(column: String, text: String)] {
        var cells = [(column: "recordName", text: text(record["recordName"]))]
        if record["deleted"] as? Bool == true { return cells + [(column: "recordType", text: "(deleted)")] }
        cells.append((column: "recordType", text: text(record["recordType"])))
        for (name, field) in (record["fields"] as? [String: Any] ?? [:]).sorted(by: { $0.key < $1.key }) {
            let field = field as? [String: Any] ?? [:]
            cells.append((column: name, text: text(field["value"], type: field["type"] as? String)))
        }
        return cells
    }

    private static func text(_ value: Any?, type: String? = nil) -> String {
        switch value {
        case nil: return ""
        case let text as String: return text
        case let number as NSNumber:
            return type == "TIMESTAMP" ? UserTime.text(number.int64Value) : "\(number)"
        case let dictionary as [String: Any]:
            if let name = dictionary["recordName"] as? String { return "→ \(name)" }
            if let latitude = dictionary["latitude"], let longitude = dictionary["longitude"] { return "\(latitude), \(longitude)" }
            if let size = dictionary["size"] { return "\(size) bytes" }
        case let list as [Any]: return "[\(list.map { text($0) }.joined(separator: ", "))]"
        default: break
        }
        return (try? JSONSerialization.data(withJSONObject: value ?? "", options: [.sortedKeys])).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }

    /// Prints the records of an answer.
    /// - Throws: `CommandFailure` for the first record with an error, after the others are printed.
    fileprivate static func print(_ answer: [String: Any], _ call: Call) throws {
        let records = answer["records"] as? [[String: Any]] ?? []
        try RowOutput(call).print(records.filter { $0["serverErrorCode"] == nil }, cells: cells)
        for record in records { try UserDatabase.requireSuccess(record, of: record["recordName"] as? String) }
    }
}

/// `nacre record query`
private enum RecordQuery {
    private static let limit = Option.value("limit", "number", fallback: "100", "Records shown at most: 1 to 200.")

    static let command = Command(
        "query", "Show the records of a type that pass all filters.",
        discussion: "\(UserDatabase.credentials) A filter is FIELD OPERATOR VALUE, as for nacre query explain.", arguments: [RecordCommands.type],
        options: [RecordCommands.filter, RecordCommands.sort, limit, RecordCommands.fields] + UserDatabase.zoneOptions
    ) { call in
        guard let count = Int(try call.require(limit)), (1...Limits.resultsPerPage).contains(count) else {
            throw UsageError(.invalid("--\(limit.name)", "give a number from 1 to \(Limits.resultsPerPage)"), path: call.path)
        }
        let query = try RecordCommands.query(of: call)
        let database = try UserDatabase(call)
        let answer = try await database.ask(
            "records/query",
            RecordsQueryRequest(
                query: query, zoneID: database.zoneID, resultsLimit: count,
                desiredKeys: call.isGiven(RecordCommands.fields) ? call.all(RecordCommands.fields) : nil))
        try RecordCommands.print(answer, call)
        if answer["continuationMarker"] != nil { Output.message("There may be more: narrow the query, or raise --limit.") }
    }
}

/// `nacre record get`
private enum RecordGet {
    static let command = Command(
        "get", "Show a record.", discussion: UserDatabase.credentials, arguments: [RecordCommands.name],
        options: [RecordCommands.fields] + UserDatabase.zoneOptions
    ) { call in
        let database = try UserDatabase(call)
        let answer = try await database.ask(
            "records/lookup",
            RecordsLookupRequest(
                records: [RecordsLookupRequest.Item(recordName: try call.require(RecordCommands.name))], zoneID: database.zoneID,
                desiredKeys: call.isGiven(RecordCommands.fields) ? call.all(RecordCommands.fields) : nil))
        try RecordCommands.print(answer, call)
    }
}

/// `nacre record put`
private enum RecordPut {
    private static let type = Option.required("type", "type", "The record type.")
    private static let set = Option.value(
        "set", "field=value", "A field and its value; may be given several times. An empty value removes the field.")

    static let command = Command(
        "put", "Make a record, or set fields of the one that has the name, and show it.",
        discussion: """
            \(UserDatabase.credentials) A value is JSON or plain text; a value of a type that JSON does not tell is written as \
            {"value": 1700000000000, "type": "TIMESTAMP"}. Fields that are not named stay as they are, whoever changed them last.
            """,
        arguments: [RecordCommands.name], options: [type, set] + UserDatabase.zoneOptions
    ) { call in
        let (fields, cleared) = try parts(call)
        let database = try UserDatabase(call)
        let change = RecordChange(
            recordName: try call.require(RecordCommands.name), recordType: try call.require(type), set: RecordFields(fields), cleared: cleared)
        let request = RecordsModifyRequest(operations: [RecordOperation(.forceUpdate, change)], zoneID: database.zoneID)
        try RecordCommands.print(try await database.ask("records/modify", request), call)
    }

    private static func parts(_ call: Call) throws -> (set: [RecordFields.Field], clear: [String]) {
        var (fields, cleared) = ([RecordFields.Field](), [String]())
        for text in call.all(set) {
            let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard parts.count == 2, !parts[0].isEmpty else { throw UsageError(.invalid("--\(set.name)", "give FIELD=VALUE"), path: call.path) }
            if parts[1].isEmpty { cleared.append(parts[0]) } else { fields.append(RecordFields.Field(parts[0], QueryText.value(parts[1]))) }
        }
        return (fields, cleared)
    }
}

/// `nacre record delete`
private enum RecordDelete {
    static let command = Command(
        "delete", "Delete a record, whoever changed it last.", discussion: UserDatabase.credentials, arguments: [RecordCommands.name],
        options: UserDatabase.zoneOptions + [SharedOptions.yes]
    ) { call in
        let (name, database) = (try call.require(RecordCommands.name), try UserDatabase(call))
        try CktoolOptions.confirm("Delete the record \(name)?", call)
        let operation = RecordOperation(.forceDelete, RecordChange(recordName: name))
        let answer = try await database.ask("records/modify", RecordsModifyRequest(operations: [operation], zoneID: database.zoneID))
        try UserDatabase.requireSuccess((answer["records"] as? [[String: Any]])?.first ?? [:], of: name)
    }
}
