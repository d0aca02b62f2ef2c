package import NacreCloudWire

/// A schema in CloudKit's schema language, laid out as CloudKit exports it. All names are in the order of their bytes,
/// and field names are padded.
package struct SchemaText {
    private let schema: Schema

    package init(_ schema: Schema) {
        self.schema = schema
    }

    package var text: String {
        var definitions = schema.types
        definitions[UserRecord.type] = schema.definition(of: UserRecord.type)
        var types = definitions.values.map { type in
            block(type.name, Self.lines(of: type), type.grants)
        }
        types.sort { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
        let roles = schema.rolesInOrder.map { "    \(Self.declaration(ofRole: $0));\n" }
        return "DEFINE SCHEMA\n" + (roles.isEmpty ? "" : "\n") + roles.joined() + types.map { "\n" + $0.text }.joined()
    }

    /// Returns a field's type and options.
    package static func declaration(of field: FieldDefinition) -> String {
        ([typeName(field.shape)] + field.options.names).joined(separator: " ")
    }

    package static func declaration(ofRole name: String) -> String {
        "CREATE ROLE \(quoted(name))"
    }

    /// Returns the grants of each role, in the order of the roles' bytes.
    static func declarations(of grants: Grants) -> [String] {
        grants.roles.map { "GRANT \(grants[$0].words.joined(separator: ", ")) TO \(quoted($0))" }
    }

    /// Returns a plain type by its name in the language, or by the tag that values carry.
    package static func fieldType(named name: String) -> FieldType? {
        FieldType.allCases.first { $0 != .unknownList && (self.name(of: $0) == name || $0.rawValue == name) }
    }

    package static func name(of type: FieldType) -> String {
        typeName(FieldShape(type))
    }

    // MARK: Types

    private typealias Line = (name: String, declaration: String)

    /// CloudKit: every type has these fields, even if a schema does not declare them.
    package static let systemFields: [String: FieldType] = [
        "___createTime": .timestamp, "___createdBy": .reference, "___etag": .string, "___modTime": .timestamp, "___modifiedBy": .reference,
        "___recordID": .reference,
    ]

    private static func lines(of type: RecordTypeDefinition) -> [Line] {
        var lines = systemFields.mapValues(name(of:))
        for (name, field) in type.fields { lines[name] = declaration(of: field) }
        return lines.map { ($0.key, $0.value) }
    }

    private func block(_ name: String, _ lines: [Line], _ grants: Grants) -> (name: String, text: String) {
        let sorted = lines.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
        let width = sorted.map { Self.quoted($0.name).count }.max() ?? 0
        let fields = sorted.map { line in
            let label = Self.quoted(line.name)
            return label + String(repeating: " ", count: width - label.count + 1) + line.declaration
        }
        let items = (fields + Self.declarations(of: grants)).map { "        \($0)" }.joined(separator: ",\n")
        return (name, "    RECORD TYPE \(Self.quoted(name)) (\n\(items)\n    );\n")
    }

    // MARK: Words

    /// The words of the language. A name that equals one is written in quotes.
    private static let keywords: Set = [
        "AS", "ASSET", "BYTES", "CREATE", "DEFINE", "DOUBLE", "ENCRYPTED", "GRANT", "INT64", "LIST", "LOCATION", "NUMBER", "PREFERRED", "QUERYABLE",
        "READ", "RECORD", "REFERENCE", "ROLE", "SCHEMA", "SEARCHABLE", "SORTABLE", "STRING", "TIMESTAMP", "TO", "TYPE", "WRITE",
    ]

    private static func quoted(_ name: String) -> String {
        let isBare = Names.isIdentifier(name) && !keywords.contains(name.uppercased())
        return isBare ? name : "\"\(name)\""
    }

    private static func typeName(_ shape: FieldShape) -> String {
        let (name, isList) = elementName(shape.type)
        let element = shape.isEncrypted ? "ENCRYPTED \(name)" : name
        return isList ? "LIST<\(element)>" : element
    }

    private static func elementName(_ type: FieldType) -> (name: String, isList: Bool) {
        switch type {
        case .string: ("STRING", false)
        case .int64: ("INT64", false)
        case .double: ("DOUBLE", false)
        case .timestamp: ("TIMESTAMP", false)
        case .bytes: ("BYTES", false)
        case .location: ("LOCATION", false)
        case .reference: ("REFERENCE", false)
        case .asset: ("ASSET", false)
        case .stringList: ("STRING", true)
        case .int64List: ("INT64", true)
        case .doubleList: ("DOUBLE", true)
        case .timestampList: ("TIMESTAMP", true)
        case .bytesList, .unknownList: ("BYTES", true)
        case .locationList: ("LOCATION", true)
        case .referenceList: ("REFERENCE", true)
        case .assetList: ("ASSET", true)
        }
    }
}
