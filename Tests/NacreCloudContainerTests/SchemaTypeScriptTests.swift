import Foundation
import NacreCloudWire
import Testing

@testable import NacreCloudContainer

/// Tests of the records of a schema as types of TypeScript. `Scripts/cloudkit-js/test` has the compiler read them.
struct SchemaTypeScriptTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Web/cloudkit/tests/types")

    @Test func `the types of records.ckdb are those of records.ts, which the compiler reads`() throws {
        let schema = try SchemaText.schema(from: try String(contentsOf: Self.folder.appending(path: "records.ckdb"), encoding: .utf8))
        let expected = try String(contentsOf: Self.folder.appending(path: "records.ts"), encoding: .utf8)
        #expect(SchemaTypeScript(schema, module: "../../cloudkit").text == expected)
    }

    @Test func `names that TypeScript could not have, or that are taken, get a capital or a number`() throws {
        let names = ["CloudKit", "Note", "NoteToSave", "note", "string"]
        let schema = Schema(types: Dictionary(uniqueKeysWithValues: names.map { ($0, RecordTypeDefinition(name: $0)) }))
        let lines = SchemaTypeScript(schema, module: "cloudkit").text.split(separator: "\n").filter { $0.hasPrefix("export interface ") }
        let interfaces = lines.map { String($0.dropFirst("export interface ".count).prefix { $0 != " " }) }
        #expect(
            interfaces == [
                "CloudKit2", "CloudKit2ToSave", "Note", "NoteToSave", "NoteToSave2", "NoteToSave2ToSave", "Note2", "Note2ToSave", "String",
                "StringToSave",
            ])
    }

    @Test func `system fields that are indexed, and a type without fields, add none`() throws {
        let indexed = FieldDefinition(type: .reference, isQueryable: true)
        let schema = Schema(types: ["Note": RecordTypeDefinition(name: "Note", fields: ["___recordID": indexed])])
        let text = SchemaTypeScript(schema, module: "./cloudkit.mjs").text
        #expect(text.contains("import type * as CloudKit from \"./cloudkit.mjs\";\n") && text.contains("    fields: {};\n"))
        #expect(!text.contains("___recordID"))
    }
}
