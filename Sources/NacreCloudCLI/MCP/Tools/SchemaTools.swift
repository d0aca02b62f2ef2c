import NacreCloudServer

/// Tools about schemas: shown, compared, checked, and imported into development.
enum SchemaTools {
    static let all = [show, compare, validate, write]

    private static let recordType = ToolParameter.text("record_type", "This record type alone.")

    /// Characters of a piece of a schema's text. Ours.
    private static let pieceCharacters = 30_000

    static let show = Tool(
        "show_schema", "Schema",
        "Shows the schema of an environment in CloudKit's schema language: record types, fields with types and indexes, and which role may READ, "
            + "CREATE and WRITE. In production a save cannot add types or fields. A missing type is an error that names those that there are.",
        [.container, .environment, recordType, .after]
    ) { arguments, context in
        let page = try context.page(arguments)
        let schema = try await context.connect().schema(of: try arguments.require(.container), try arguments.require(.environment))
        let document = SchemaDocument(schema.text)
        let text = try arguments.text(recordType).map { name throws(ToolFault) in try document.text(ofType: name) } ?? schema.text
        let piece = text.dropFirst(page.skipped).prefix(pieceCharacters)
        func own(_ fields: [String]) -> JSONValue {
            .texts(fields.filter { field in arguments.text(recordType).map { field.hasPrefix("\($0).") } ?? true })
        }
        let answer = ToolAnswer(
            document: piece, ["version": .integer(schema.version), "indexed": own(schema.indexed), "indexes_being_built": own(schema.building)])
        return answer.goingOn(after: piece.endIndex < text.endIndex ? page.after(page.skipped + piece.count) : nil)
    }

    private static let limit = ToolParameter.limit(1...200, fallback: 100)

    static let compare = Tool(
        "compare_schemas", "Development against production",
        "Lists what differs between the schemas of development and production, type by type and field by field. A save that works in development "
            + "and fails in production mostly needs what is listed here: nacre schema deploy brings it there.",
        [.container, recordType, limit, .after]
    ) { arguments, context in
        let page = try context.page(arguments)
        let (admin, container) = (try await context.connect(), try arguments.require(.container))
        let development = try await admin.schema(of: container, "development")
        let found = try await admin.differences(AdminMessages.NewDiff(container: container, environment: "production", text: development.text))
        let rows = found.differences.filter { difference in arguments.text(recordType).map { difference.recordType == $0 } ?? true }.map {
            $0.row("production", "development")
        }
        return page.answer("differences", rows, next: nil, limit: arguments.integer(limit) ?? 100)
    }

    private static let text = ToolParameter.text(
        "text", "A whole schema in CloudKit's schema language, as show_schema shows it. What it leaves out goes.", characters: 500_000,
        isRequired: true)

    static let validate = Tool(
        "validate_schema", "Check of a schema",
        "Says what an import of a schema into development would change, which queries it would break, or why it is refused. Changes nothing.",
        [.container, text, limit, .after]
    ) { arguments, context in try await imported(arguments, context, isDryRun: true) }

    static let write = Tool(
        "import_schema", "Import of a schema",
        "Makes the development schema what the text says. Types, fields and indexes that it leaves out go. Call validate_schema first.",
        [.container, text, limit], access: .writes
    ) { arguments, context in try await imported(arguments, context, isDryRun: false) }

    private static func imported(_ arguments: ToolArguments, _ context: ToolContext, isDryRun: Bool) async throws -> ToolAnswer {
        let page = try context.page(arguments)
        let found = try await context.connect().importSchema(
            AdminMessages.NewImport(container: try arguments.require(.container), text: try arguments.require(text), isDryRun: isDryRun))
        let broken = (found.broken ?? []).map { query in
            JSONValue.members(["query": .string(query.query), "reason": .string(query.reason), "remedy": .text(query.remedy)])
        }
        let answer = page.answer(
            "differences", found.differences.map { $0.row("before", "after") }, next: nil, limit: arguments.integer(limit) ?? 100,
            [
                "is_changed": .boolean(!isDryRun && !found.differences.isEmpty), "differences_in_all": .number(found.differences.count),
                "broken_queries": .array(Array(broken.prefix(20))), "broken_queries_in_all": .number(broken.count),
            ])
        // An import is not repeated for the rest of its list.
        return isDryRun ? answer : answer.goingOn(after: nil)
    }
}

extension AdminMessages.Difference {
    /// The difference as an agent sees it, with the names of its two sides. A side that is absent has nothing there.
    fileprivate func row(_ one: String, _ other: String) -> JSONValue {
        .members(["record_type": .text(recordType), "field": .text(field), "role": .text(role), one: .text(before), other: .text(after)])
    }
}

/// The text of a schema, cut into its record types.
struct SchemaDocument {
    /// The types in the order of the text, each with its lines.
    private let types: [(name: String, text: String)]

    /// Reads a text laid out as the server exports it.
    init(_ text: String) {
        let mark = "\n    RECORD TYPE "
        types = text.split(separator: mark).dropFirst().compactMap { block in
            guard let head = block.split(separator: " (\n", maxSplits: 1).first else { return nil }
            return (head.filter { $0 != "\"" }, "    RECORD TYPE \(block)")
        }
    }

    /// Returns the lines of a record type.
    /// - Throws: A fault that names the types that there are.
    func text(ofType name: String) throws(ToolFault) -> String {
        if let type = types.first(where: { $0.name == name }) { return type.text }
        let near = Nearest.match(name, among: types.map(\.name)).map { "Did you mean \($0)? " } ?? ""
        throw ToolFault(
            "the schema has no such record type", field: "record_type",
            remedy: "\(near)It has \(types.prefix(50).map(\.name).joined(separator: ", "))\(types.count > 50 ? " and others" : "").")
    }
}
