import NacreCloudWire

/// The records of a schema as types of TypeScript, for the declarations of CloudKit JS. All names are in the order of
/// their bytes: the same schema gives the same text.
package struct SchemaTypeScript {
    private let schema: Schema
    private let module: String

    /// - Parameter module: The module with the declarations of CloudKit JS, as an import names it.
    package init(_ schema: Schema, module: String) {
        (self.schema, self.module) = (schema, module)
    }

    package var text: String {
        var taken: Set = [Self.namespace]
        let types = schema.types.values.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
        let interfaces = types.map { type in
            let name = Self.free(Self.capitalized(type.name), among: taken)
            taken.formUnion([name, Self.toSave(name)])
            return Self.interfaces(of: type, name: name)
        }
        return """
            // Types of records, made by nacre schema types: make them again when the schema changes.

            import type * as \(Self.namespace) from \(Self.quoted(module));

            """ + interfaces.joined()
    }

    // MARK: Types

    private static func interfaces(of type: RecordTypeDefinition, name: String) -> String {
        let fields = type.fields.filter { SchemaText.systemFields[$0.key] == nil }
            .sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
        func lines(_ declaration: (FieldShape) -> String) -> String {
            let lines = fields.map { "        \(property($0.key))?: \(namespace).\(declaration($0.value.shape));\n" }
            return lines.isEmpty ? "{}" : "{\n\(lines.joined())    }"
        }
        return """

            /** A record of the type \(type.name). A field without a value is not there. */
            export interface \(name) extends \(namespace).RecordReceived {
                recordType: \(quoted(type.name));
                fields: \(lines(received));
            }

            /** A record of the type \(type.name) to save. */
            export interface \(toSave(name)) extends \(namespace).RecordToSave {
                recordType: \(quoted(type.name));
                fields?: \(lines(saved));
            }

            """
    }

    private static func received(_ shape: FieldShape) -> String {
        "\(shape.isEncrypted ? "SealedField" : "TypedField")<\(parameter(shape.type))>"
    }

    /// An encrypted value goes back as it came.
    private static func saved(_ shape: FieldShape) -> String {
        shape.isEncrypted ? received(shape) : "TypedFieldToSave<\(parameter(shape.type))>"
    }

    private static func parameter(_ type: FieldType) -> String {
        quoted((type == .unknownList ? .bytesList : type).rawValue)
    }

    // MARK: Names

    private static let namespace = "CloudKit"

    private static func toSave(_ name: String) -> String { "\(name)ToSave" }

    /// Returns a record type's name as one of TypeScript: letters, digits and underscores, with a capital in front, as
    /// no word of the language has it.
    private static func capitalized(_ name: String) -> String {
        name.split { !isWordCharacter($0) }.map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
    }

    /// Returns the name itself, or with the first number that makes it and the name of its records to save unique.
    private static func free(_ name: String, among taken: Set<String>) -> String {
        var (candidate, number) = (name, 2)
        while taken.contains(candidate) || taken.contains(toSave(candidate)) {
            candidate = "\(name)\(number)"
            number += 1
        }
        return candidate
    }

    private static func property(_ name: String) -> String { name.allSatisfy(isWordCharacter) ? name : quoted(name) }

    private static func isWordCharacter(_ character: Character) -> Bool {
        character.isASCII && (character.isLetter || character.isNumber || character == "_")
    }

    private static func quoted(_ text: String) -> String {
        var writer = JSONWriter()
        writer.string(text)
        return String(decoding: writer.finish(), as: UTF8.self)
    }
}
