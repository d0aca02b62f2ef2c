import NacreCloudServer
import NacreCloudWire

/// Tools about records. A look into a private database is a request that the server's audit log has.
enum RecordTools {
    static let all = [query, lookup]

    private static let recordType = ToolParameter.text("record_type", "The record type.", isRequired: true)
    private static let filters = ToolParameter.texts(
        "filters",
        "Conditions that must all hold, each as FIELD OPERATOR VALUE: stars >= 3, title BEGINS_WITH 'Br'. Operators are = != < <= > >= or CloudKit's "
            + "comparators; NEAR takes LATITUDE,LONGITUDE,METRES.",
        count: 10, characters: 500)
    private static let sorts = ToolParameter.texts("sorts", "Keys of the order, such as title or stars DESC.", count: 5)
    private static let fields = ToolParameter.texts("fields", "Show these fields alone.", count: 50)
    private static let limit = ToolParameter.limit(1...50, fallback: 10)

    static let query = Tool(
        "query_records", "Query with its plan",
        "Reads records of a type that pass all filters, and says how: the index that was used, the rows that were looked at. Call it for a query that "
            + "is slow, refused or finds too little. Reads the public database as an administrator, past all roles.",
        [.container, .environment, .database, .user, .zone, recordType, filters, sorts, fields, limit, .after]
    ) { arguments, context in
        try requireReader(arguments, context)
        let page = try context.page(arguments)
        let limit = arguments.integer(limit) ?? 10
        let query = Query(
            recordType: try arguments.require(recordType),
            filters: try read(filters, of: arguments, "FIELD OPERATOR VALUE, such as stars >= 3", QueryText.filter),
            sorts: try read(sorts, of: arguments, "FIELD, FIELD ASC or FIELD DESC", QueryText.sort))
        let fields = arguments.texts(fields)
        // Rows of the page that were shown already are read again: they stand before those that are wanted.
        let request = RecordsQueryRequest(
            query: query, zoneID: arguments.text(.zone).map { ZoneID(zoneName: $0) }, resultsLimit: min(page.skipped + limit, Limits.resultsPerPage),
            continuationMarker: page.cursor, desiredKeys: fields.isEmpty ? nil : fields)
        let found = try await context.connect().explain(
            AdminMessages.NewExplanation(
                container: try arguments.require(.container), environment: try arguments.require(.environment),
                database: try arguments.require(.database), user: arguments.text(.user), request: String(decoding: request.json(), as: UTF8.self),
                showsRecords: true))
        let answer = try JSONValue(Array((found.answer ?? "{}").utf8))
        return page.answer(
            "records", records(of: answer), next: answer["continuationMarker"]?.string, limit: limit,
            ["plan": .texts(Array(found.lines.prefix(planLines)))])
    }

    /// Lines of a plan that are shown. Ours: a plan has two, one for each filter, and some for each zone.
    private static let planLines = 40

    private static let names = ToolParameter.texts("record_names", "The names of the records.", count: 20, isRequired: true)

    static let lookup = Tool(
        "lookup_records", "Records by name",
        "Reads records by their names. A record that is missing or damaged has serverErrorCode in its place. Reads the public database as an "
            + "administrator, past all roles.",
        [.container, .environment, .database, .user, .zone, names, fields, .after]
    ) { arguments, context in
        try requireReader(arguments, context)
        let page = try context.page(arguments)
        let fields = arguments.texts(fields)
        let request = RecordsLookupRequest(
            records: arguments.texts(names).map { RecordsLookupRequest.Item(recordName: $0) },
            zoneID: arguments.text(.zone).map { ZoneID(zoneName: $0) } ?? .defaultZone, desiredKeys: fields.isEmpty ? nil : fields)
        let found = try await context.connect().ask(
            .lookup,
            AdminMessages.NewDatabaseRequest(
                container: try arguments.require(.container), environment: try arguments.require(.environment),
                database: try arguments.require(.database), user: arguments.text(.user), request: String(decoding: request.json(), as: UTF8.self)))
        return page.answer("records", records(of: try JSONValue(Array(found.answer.utf8))), next: nil, limit: 20)
    }

    private static func requireReader(_ arguments: ToolArguments, _ context: ToolContext) throws(ToolFault) {
        if arguments.text(.database) == "public" {
            guard arguments.text(.user) == nil else {
                throw ToolFault("the public database is nobody's", field: "user", remedy: "Leave user out, or give database as private.")
            }
            return
        }
        try context.requirePrivate("a private database", field: ToolParameter.database.name)
        guard arguments.text(.user) != nil else {
            throw ToolFault("user is missing", field: "user", remedy: "Say whose private database: a user record name or an e-mail address.")
        }
    }

    private static func read<Part>(
        _ parameter: ToolParameter, of arguments: ToolArguments, _ expected: String, _ read: (String) -> Part?
    ) throws(ToolFault) -> [Part] {
        var parts: [Part] = []
        for text in arguments.texts(parameter) {
            guard let part = read(text) else {
                throw ToolFault("\(parameter.name) has a text of another form", field: parameter.name, remedy: "Write each as \(expected).")
            }
            parts.append(part)
        }
        return parts
    }

    /// Members of a file's value that are credentials or keys.
    private static let secrets: Set = ["downloadURL", "receipt", "wrappingKey"]

    /// Returns the records of an answer, without the URLs of their files: a URL opens the file to whoever has it.
    private static func records(of answer: JSONValue) -> [JSONValue] {
        (answer["records"]?.items ?? []).map { $0.without(secrets) }
    }
}

extension JSONValue {
    /// Returns the value without members of these names, at any depth.
    fileprivate func without(_ names: Set<String>) -> JSONValue {
        switch self {
        case .object(let members): .object(members.filter { !names.contains($0.key) }.mapValues { $0.without(names) })
        case .array(let items): .array(items.map { $0.without(names) })
        default: self
        }
    }
}
