import NacreCloudWire
import Testing

@testable import NacreCloudContainer

/// Tests of a schema's text, as CloudKit would export it.
@Suite struct SchemaTextTests {
    private static let emptyContainer = """
        DEFINE SCHEMA

            RECORD TYPE Users (
                "___createTime" TIMESTAMP,
                "___createdBy"  REFERENCE,
                "___etag"       STRING,
                "___modTime"    TIMESTAMP,
                "___modifiedBy" REFERENCE,
                "___recordID"   REFERENCE,
                roles           LIST<INT64>,
                GRANT WRITE TO "_creator",
                GRANT READ TO "_world"
            );

        """

    @Test func `a container without types has its users`() {
        #expect(SchemaText(Schema()).text == Self.emptyContainer)
    }

    @Test func `types and fields stand in the order of their bytes, with their options, padded and quoted where they must be`() throws {
        var additions = SchemaAdditions()
        additions.add(
            [
                "title": FieldShape(.string), "URL": FieldShape(.string, isEncrypted: true), "apiURL": FieldShape(.asset),
                "grant": FieldShape(.referenceList), "secrets": FieldShape(.stringList, isEncrypted: true),
            ], to: "Note")
        additions.add([:], to: "album")
        var schema = Schema()
        schema.add(additions)
        _ = try schema.setIndexes(.queryable, of: "Note", field: "recordName")
        let text = SchemaText(schema).text
        let note = """
                RECORD TYPE Note (
                    URL             ENCRYPTED STRING,
                    "___createTime" TIMESTAMP,
                    "___createdBy"  REFERENCE,
                    "___etag"       STRING,
                    "___modTime"    TIMESTAMP,
                    "___modifiedBy" REFERENCE,
                    "___recordID"   REFERENCE QUERYABLE,
                    apiURL          ASSET,
                    "grant"         LIST<REFERENCE> QUERYABLE,
                    secrets         LIST<ENCRYPTED STRING>,
                    title           STRING QUERYABLE SEARCHABLE SORTABLE,
                    GRANT WRITE TO "_creator",
                    GRANT CREATE TO "_icloud",
                    GRANT READ TO "_world"
                );
            """
        #expect(text.hasPrefix("DEFINE SCHEMA\n\n\(note)\n\n    RECORD TYPE Users ("))
        #expect(text.hasSuffix("    );\n") && text.contains("\n\n    RECORD TYPE album ("))
    }

    @Test func `a field longer than the system's sets the width of its type`() {
        var additions = SchemaAdditions()
        additions.add(["aFieldWithALongName": FieldShape(.int64)], to: "Note")
        var schema = Schema()
        schema.add(additions)
        let text = SchemaText(schema).text
        #expect(text.contains("\n        aFieldWithALongName INT64 QUERYABLE SORTABLE,\n"))
        #expect(text.contains("\n        \"___etag\"           STRING,\n"))
    }
}
