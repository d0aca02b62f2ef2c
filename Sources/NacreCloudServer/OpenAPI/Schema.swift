import NacreCloudWire

/// What a JSON value must be: as much of JSON Schema (2020-12) as our messages need.
indirect enum Schema: Sendable {
    struct Member: Sendable {
        var name: String
        var schema: Schema
        var isRequired: Bool
    }

    case any
    case null
    case string
    case base64
    case integer
    case number
    case boolean
    /// One of these texts.
    case word([String])
    /// This boolean alone.
    case constant(Bool)
    case list(Schema)
    /// An object whose keys are data.
    case map(Schema)
    case object([Member], isClosed: Bool)
    case either([Schema])
    /// Stands among the document's components, by its title; one title is one schema.
    case titled(String, Schema)

    /// What a client sends: an optional member, marked by `?`, may be null, and others are ignored.
    static func request(_ members: KeyValuePairs<String, Schema>, _ more: [Member] = []) -> Schema {
        .object(
            (Self.members(members) + more).map { member in
                member.isRequired ? member : Member(name: member.name, schema: member.schema.orNull, isRequired: false)
            }, isClosed: false)
    }

    /// What the server sends: these members and no others, optional ones marked by `?`.
    static func answer(_ members: KeyValuePairs<String, Schema>, _ more: [Member] = []) -> Schema {
        .object(Self.members(members) + more, isClosed: true)
    }

    static func members(_ members: KeyValuePairs<String, Schema>) -> [Member] {
        members.map { name, schema in
            let isRequired = !name.hasSuffix("?")
            return Member(name: isRequired ? name : String(name.dropLast()), schema: schema, isRequired: isRequired)
        }
    }

    static func words<Word: CaseIterable & RawRepresentable<String>>(of _: Word.Type) -> Schema {
        .word(Word.allCases.map(\.rawValue))
    }

    /// One such value may stand in place of a list of one.
    static func listOrOne(_ element: Schema) -> Schema { .either([.list(element), element]) }

    /// The type `null` beside it.
    private var orNull: Schema {
        if case .any = self { return self }
        return .either([self, .null])
    }

    /// Those that it has and refers to, by their titles.
    func collectTitled(into titled: inout [String: Schema]) {
        switch self {
        case .titled(let title, let schema):
            guard titled[title] == nil else { return }
            titled[title] = schema
            schema.collectTitled(into: &titled)
        case .list(let schema), .map(let schema): schema.collectTitled(into: &titled)
        case .object(let members, _): for member in members { member.schema.collectTitled(into: &titled) }
        case .either(let schemas): for schema in schemas { schema.collectTitled(into: &titled) }
        case .any, .null, .string, .base64, .integer, .number, .boolean, .word, .constant: break
        }
    }
}

extension Schema {
    func write(to writer: inout JSONWriter) {
        writer.beginObject()
        switch self {
        case .any: break
        case .null: writer.write("type", "null")
        case .string: writer.write("type", "string")
        case .base64:
            writer.write("type", "string")
            writer.write("contentEncoding", "base64")
        case .integer:
            writer.write("type", "integer")
            writer.write("format", "int64")
        case .number: writer.write("type", "number")
        case .boolean: writer.write("type", "boolean")
        case .word(let words):
            writer.write("type", "string")
            writer.write("enum", words) { $0.string($1) }
        case .constant(let value): writer.write("const", value)
        case .list(let element):
            writer.write("type", "array")
            writer.key("items")
            element.write(to: &writer)
        case .map(let value):
            writer.write("type", "object")
            writer.key("additionalProperties")
            value.write(to: &writer)
        case .object(let members, let isClosed): Self.write(members, isClosed, to: &writer)
        case .either(let schemas): writer.write("anyOf", schemas) { $1.write(to: &$0) }
        case .titled(let title, _): writer.write("$ref", "#/components/schemas/\(title)")
        }
        writer.endObject()
    }

    private static func write(_ members: [Member], _ isClosed: Bool, to writer: inout JSONWriter) {
        writer.write("type", "object")
        writer.key("properties")
        writer.beginObject()
        for member in members {
            writer.key(member.name)
            member.schema.write(to: &writer)
        }
        writer.endObject()
        let required = members.filter(\.isRequired).map(\.name)
        if !required.isEmpty { writer.write("required", required) { $0.string($1) } }
        if isClosed { writer.write("additionalProperties", false) }
    }
}
