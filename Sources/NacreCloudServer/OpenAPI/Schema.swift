import NacreCloudWire

/// The schema of a JSON value: the part of JSON Schema (2020-12) that this server's messages need.
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
    /// A string that is one of these texts.
    case word([String])
    /// This boolean value only.
    case constant(Bool)
    case list(Schema)
    /// An object with arbitrary keys.
    case map(Schema)
    case object([Member], isClosed: Bool)
    case either([Schema])
    /// A component of the document, by its title; each title stands for one schema.
    case titled(String, Schema)

    /// An object that a client sends: optional members, marked by `?`, may be null, and unknown members are ignored.
    static func request(_ members: KeyValuePairs<String, Schema>, _ more: [Member] = []) -> Schema {
        .object(
            (Self.members(members) + more).map { member in
                member.isRequired ? member : Member(name: member.name, schema: member.schema.orNull, isRequired: false)
            }, isClosed: false)
    }

    /// An object that the server sends: it has only these members; optional ones are marked by `?`.
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

    /// A list, or a single element in place of a list of one.
    static func listOrOne(_ element: Schema) -> Schema { .either([.list(element), element]) }

    /// The schema, with null allowed.
    private var orNull: Schema {
        if case .any = self { return self }
        return .either([self, .null])
    }

    /// Collects the titled schemas that this schema contains or refers to.
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
